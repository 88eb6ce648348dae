"""How long the tasks of a scan by the Dask engine take, as its workers know it."""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import distributed

from penstock.engines.stragglers import median_of

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
