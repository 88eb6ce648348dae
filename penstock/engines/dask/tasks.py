"""The tasks of one call of the Dask engine: what they share is sent once, and nothing of them outlives the call."""

from __future__ import annotations

import functools
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ParamSpec, Self, TypeVar
from uuid import uuid4
from weakref import WeakSet

import cloudpickle
import dask
import distributed
from dask.delayed import Delayed
from distributed.protocol.pickle import dumps, loads
from distributed.scheduler import KilledWorker, NoWorkerError

from penstock.core.by_value import register_modules
from penstock.core.errors import ExecutionError, PenstockError
from penstock.core.recording.attempts import on_attempt
from penstock.core.scheduler import PartitionedWork
from penstock.dataset.task_errors import translate_errors, translated
from penstock.engines.base import Reduction
from penstock.engines.dask.losses import Losses
from penstock.engines.dask.speculation import Speculation
from penstock.engines.dask.watch import Watch
from penstock.engines.dask.workers import too_few
from penstock.engines.stragglers import Stragglers, median_of
from penstock.engines.task_items import long_ones
from penstock.io.fragments import Fragment

_AHEAD = 2
_TICK = 0.5

_given_up: WeakSet[distributed.Future] = WeakSet()
"""Tasks of this process whose result nobody waits for, each with a thread all the same until it is done."""


@dataclass(frozen=True)
class TaskOptions:
    """How the tasks of an engine run.

    Parameters
    ----------
    patience : float
        Seconds to wait while there is no worker.
    timeout : float
        Seconds without a sign of life after which a worker is taken for lost.
    priority : int
        Dask's: tasks of a higher one run first.
    speculation : bool
        Whether tasks of a scan that take far longer than the others are run on a second worker too.
    """

    patience: float
    timeout: float
    priority: int
    speculation: bool


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_ANSWER = 5.0

_latest: deque[tuple[str, float]] = deque(maxlen=1000)
"""On a worker: the name of each of the last tasks that are done, and its seconds."""


def timed(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function that does the same as a task on a worker, and is among the times there."""

    @functools.wraps(function, updated=())
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        started = time.monotonic()
        result = function(*args, **kwargs)
        _latest.append((distributed.get_worker().get_current_task()[0], time.monotonic() - started))
        return result

    return call


class WorkerTimes:
    """The times of tasks of one name; those that a worker took with it when it was lost are not known.

    Parameters
    ----------
    client : distributed.Client
    name : str
        With which the keys of all of them begin.
    """

    def __init__(self, client: distributed.Client, name: str) -> None:
        self._client, self._name = client, name
        self._seconds: list[float] = []

    def running(self) -> dict[Any, float]:
        """Ask all workers at once; return the seconds since each task that runs was started."""
        ask = self._client.run
        answers = self._client.sync(ask, _times, self._name, on_error="ignore", callback_timeout=_ANSWER).values()
        self._seconds = [seconds for _, done in answers for seconds in done]
        return {key: seconds for running, _ in answers for key, seconds in running.items()}

    def done(self) -> tuple[int, float]:
        """Return how many tasks were done when the workers were asked, and the median of their seconds."""
        return median_of(self._seconds)


def _times(name: str, dask_worker: Any) -> tuple[dict[Any, float], list[float]]:
    """Return the seconds of each task of a name that runs on this worker, by its key, and of the last that are done."""
    now = time.time()
    tasks = [task for task in dask_worker.state.executing if task.key[0] == name and task.start_time]
    done = [seconds for other, seconds in list(_latest) if other == name]
    return {task.key: now - task.start_time for task in tasks}, done


@timed
@translate_errors
def apply(task: Callable[[Any], Any], item: Any, attempt: int = 0) -> Any:
    """Call the task of a map or of a reduction with one item, on a worker."""
    with on_attempt(attempt):
        return task(item)


@translate_errors
def merge_states(work: Reduction[Any, Any] | PartitionedWork[Any, Any], states: Sequence[Any]) -> Any:
    """Merge what some tasks of a reduction gave, or one part of it, on a worker."""
    return work.merge(list(states))


@translate_errors
def prune_state(work: PartitionedWork[Any, Any], state: Any) -> Any:
    """Prune a merged part to what is asked for, on the worker that has it."""
    return work.prune(state)


def _home(item: Any, workers: Sequence[str]) -> list[str]:
    """Return the worker that a fragment always goes to as long as the workers are the same; none if it is of no use."""
    persisted = isinstance(item, Fragment) and item.persisted
    return [workers[item.index % len(workers)]] if persisted and workers else []


class Tasks:
    """Submits tasks that share one object; when it is left, those that have not started never do.

    Parameters
    ----------
    client : distributed.Client
    label : str
        What Dask's dashboard and errors call them.
    shared : object
        What `Tasks.shared` gives to each of them: pickled into the graph once, however large, and unpickled by a task
        of its own. Unlike scattered data it can be made again when its worker is lost.
    options : TaskOptions
        Its timeout counts while this is entered.
    tell : callable
        Is given lines about tasks that take far longer than the others, while this is entered.
    """

    def __init__(
        self,
        client: distributed.Client,
        label: str,
        shared: object,
        options: TaskOptions,
        tell: Callable[[str], object],
    ) -> None:
        self.client, self.label = client, label
        self._shared, self._options, self._tell = shared, options, tell
        self._call, self._count = uuid4().hex, itertools.count()
        self._futures: WeakSet[distributed.Future] = WeakSet()
        self._items: dict[Any, Any] = {}
        self._speculation = Speculation(client, self._start_again)
        self.losses = Losses(client, label)
        self._watch = Watch(client, label, options.timeout)

    def __enter__(self) -> Self:
        self._watch.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.__exit__()
        self.release()
        self._shared = None  # the thread that watches may still have this, and with it files that are to go

    def release(self) -> None:
        """Give up all futures, whoever holds them: what has not started is cancelled, results are forgotten."""
        for future in list(self._futures):
            future.release()

    @cached_property
    def shared(self) -> distributed.Future:
        """The future of the object that tasks share; the first use sends it."""
        # Dask's own looks no deeper than the module of the object itself.
        by_value = register_modules(cloudpickle)
        return self.submit(loads, cloudpickle.dumps(self._shared) if by_value else dumps(self._shared))

    def submit(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        workers: Sequence[str] = (),
        elsewhere: bool = False,
        spread: bool = False,
    ) -> distributed.Future:
        """Start a task.

        Parameters
        ----------
        function : callable
        *arguments : object or distributed.Future
        workers : sequence of str
            On one of these, where any are named.
        elsewhere : bool
            Or on others, where they are gone.
        spread : bool
            On the first worker that has a free thread, where none are named: not on one that has what the task needs.
            So is each while there are tasks that were given up: Dask expects them to end soon, and lets others wait.
        """
        key = (self._group(function), next(self._count))
        # Dask has what produces data wait at the scheduler until a thread is free.
        queued = {"_data_producer": True} if spread or _given_up else {}
        # Tables in memory and vocabularies travel in the graph on purpose.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            future = self.client.submit(
                function,
                *arguments,
                key=key,
                pure=False,
                workers=list(workers) or None,
                allow_other_workers=elsewhere,
                priority=self._options.priority,
                **queued,
            )
        self._futures.add(future)
        return future

    def _group(self, function: Callable[..., Any]) -> str:
        """Return the name of all tasks of a function.

        Tasks that share no name with what they depend on, as the shared object, are spread over all workers by the
        scheduler; it puts others where that lies, while workers without it have nothing to do.
        """
        return f"{self.label}-{function.__name__}-{self._call}"

    def compute(self, collection: Any) -> distributed.Future:
        """Start what Dask has planned."""
        future: distributed.Future = self.client.compute(collection, priority=self._options.priority)
        self._futures.add(future)
        return future

    def start(self, planned: Sequence[Delayed | distributed.Future]) -> list[distributed.Future]:
        """Start what Dask has planned, results left where they are; what is started already goes on."""
        waiting = [each for each in planned if isinstance(each, Delayed)]
        begun = self.client.persist(waiting, priority=self._options.priority) if waiting else ()
        started = (distributed.futures_of(each)[0] for each in begun)
        futures = [next(started) if isinstance(each, Delayed) else each for each in planned]
        self._futures.update(futures)
        return futures

    def size(self, futures: Sequence[distributed.Future]) -> int:
        """Return the bytes of memory that results take, as their workers tell, once all are there."""
        for future in futures:
            self.complete(future)
        sizes = self.client.nbytes([future.key for future in futures], summary=False)
        return sum(max(0, size) for size in sizes.values())

    def each(self, items: Sequence[Any]) -> Iterator[distributed.Future]:
        """Call the shared object with each item; yield complete futures, in order, few held.

        Of two attempts at an item it is the one that is done first.
        """
        times = WorkerTimes(self.client, self._group(apply))
        if self._options.speculation:
            self._watch.looks.append(self._speculation.look)
        self._watch.looks.append(Stragglers(self.label, self._items, len(items), times, self._tell).look)
        threads = self.client.nthreads()
        workers, self._watch.threads = sorted(threads), sum(threads.values())
        waiting: deque[distributed.Future] = deque()
        for future in self._started(items, workers):
            waiting.append(future)
            while len(waiting) >= _AHEAD * self._watch.threads + 2:
                yield self._first(waiting.popleft())
        while waiting:
            yield self._first(waiting.popleft())

    def _started(self, items: Sequence[Any], workers: Sequence[str]) -> Iterator[distributed.Future]:
        """Start a task for each item when its future is asked for; the longest of all at once, so that none is last."""
        early = {place: self._start(items[place], workers) for place in long_ones(items, self._watch.threads)}
        for place, item in enumerate(items):
            future = early.pop(place, None)
            yield self._start(item, workers) if future is None else future

    def _start(self, item: Any, workers: Sequence[str]) -> distributed.Future:
        future = self._send(item, _home(item, workers))
        self._speculation.add(future)
        return future

    def _start_again(self, key: Any, worker: str) -> distributed.Future:
        return self._send(self._items[key], [worker], attempt=1)

    def _send(self, item: Any, workers: Sequence[str], attempt: int = 0) -> distributed.Future:
        future = self.submit(apply, self.shared, item, attempt, workers=workers, elsewhere=bool(workers), spread=True)
        self._items[future.key] = item
        return future

    def _first(self, future: distributed.Future) -> distributed.Future:
        """Wait for a task or for the second attempt at it; return the one that is done, and give up the other."""
        with self._told():
            done = self._wait(future)
        for attempt in self._speculation.take(future):
            if attempt is not done:
                self._futures.discard(attempt)
                _given_up.add(attempt)
                # No thread can be stopped. Released before, the scheduler would send others there to wait for it.
                attempt.add_done_callback(distributed.Future.release)
        return done

    def complete(self, future: distributed.Future) -> distributed.Future:
        """Wait until a task is done, its result left where it is, and raise what it raised.

        Raises
        ------
        WorkerLostError
            The workers that ran it died, one after the other; names the files of its fragment. MemoryLimitError: they
            had too much memory.
        StageTimeoutError
            There was no worker for too long.
        ExecutionError
            The scheduler went away, or the task was cancelled from outside.
        """
        with self._told():
            self._wait(future)
        return future

    def result(self, future: distributed.Future) -> Any:
        """Wait for a task and return its result; raises as `complete` does."""
        return self.complete(future).result()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except KilledWorker as error:
            raise self.losses.error_of(error, self._items.get(error.task)) from error
        except NoWorkerError as error:
            raise too_few(self.client, 1, 0, error.timeout) from error
        except distributed.CancelledError as error:
            raise ExecutionError(
                f"{self.label} was cancelled: {error}",
                hint="Either the scheduler went away, or somebody cancelled its tasks.",
                engine="dask",
            ) from error
        except (PenstockError, KeyboardInterrupt):
            raise
        except BaseException as error:  # of Dask's own, or of a graph that is not ours
            raise translated(error, self.label, engine="dask") from error

    def _wait(self, future: distributed.Future) -> distributed.Future:
        """Wait for a task, or for a second attempt at it that succeeds; return the one that is done."""
        alone_since: float | None = None
        while (done := self._done(future)) is None:
            alone_since = None if self.client.nthreads() else alone_since or time.monotonic()
            if alone_since is not None and time.monotonic() - alone_since > self._options.patience:
                raise too_few(self.client, 1, 0, self._options.patience)
        # Not by future.result(): what is no Exception would end the loop that raises it, and be waited for forever.
        if (error := done.exception()) is not None:
            raise error.with_traceback(done.traceback())
        if done.cancelled():
            done.result()  # which raises
        return done

    def _done(self, future: distributed.Future) -> distributed.Future | None:
        """Return the attempt at a task that is done, waiting a moment for one."""
        second = self._speculation.second(future)
        with suppress(TimeoutError):
            future.exception(timeout=_TICK if second is None else _TICK / 4)
            return future
        return second if second is not None and second.status == "finished" else None
