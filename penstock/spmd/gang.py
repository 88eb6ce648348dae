"""Ranks started together, watched until all are done, and started again from a checkpoint when one is lost.

Neither Spark nor Dask retries a gang. When a rank is lost, the attempt ends on all ranks.
"""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from penstock.core.errors import StageTimeoutError, WorkerLostError
from penstock.core.progress import Track
from penstock.core.recording import note_event
from penstock.spmd import messages as m
from penstock.spmd.assignment import Assignment, Body, RankAssignment
from penstock.spmd.checkpoints import Checkpoint, CheckpointStore, checkpoint_store
from penstock.spmd.collectives import Collectives
from penstock.spmd.listener import Listener
from penstock.spmd.options import SpmdOptions
from penstock.spmd.peers import Peers, RankLost
from penstock.spmd.xgboost_ports import Rendezvous, refuse_ports

if TYPE_CHECKING:
    from penstock.core.scheduler import Scheduler
    from penstock.dataset.dataset import Dataset

_TICK = 0.2


class Launch(Protocol):
    """Ranks that an engine has been asked to start."""

    def problem(self) -> str | None:
        """Return why the engine has given up on one of them, if it has; asked once a second, until all are done."""

    def stop(self) -> None:
        """End those that still run, and wait (not for ever) until their slots are free."""


Launcher = Callable[[Sequence[RankAssignment], Assignment], Launch]


def run_gang(
    launch: Launcher,
    body: Body,
    datasets: Mapping[str, Dataset],
    options: SpmdOptions,
    engine: Scheduler,
    *,
    size: int,
    threads: int,
    host: str,
    label: str,
    room: Callable[[], int] | None = None,
) -> Any:
    """Run `body` on `size` ranks and return what rank 0 returned.

    Parameters
    ----------
    launch : callable
        Asks the engine to start ``run_rank`` for each rank with its assignment, all at the same time.
    threads : int
        Threads of each rank.
    host : str
        The address of this process that workers can reach; loopback for a cluster on this machine.
    room : callable, optional
        Returns how many ranks there could be now: with it the training begins again, from a checkpoint, on more of them
        as soon as that is sooner than to go on, see `Growth`; and after a loss on those that are left.

    Raises
    ------
    InsecureClusterError
        The body says that it opens ports (``opens_ports``), and the options do not allow it.
    WorkerLostError
        A rank was lost more often than `max_restarts`; names the rank, its process and what happened.
    StageTimeoutError
        The ranks did not all start in time.
    PenstockError, UserCodeError
        What the body raised; that is not tried again.
    """
    if getattr(body, "opens_ports", False):
        refuse_ports(size if room is None else max(size, 2), options)
    rounds, started = int(getattr(body, "rounds", 0)), itertools.count()
    losses: list[str] = []
    more: int | None = None

    def tell(text: str) -> None:
        engine.progress.note(f"{label}: {text}")
        note_event(f"{label}: {text}")

    with checkpoint_store(options, body, datasets, None if options.elastic else size) as store:
        while len(losses) <= options.max_restarts:
            assignment = Assignment.of(body, datasets, size, engine.kind, threads)
            growth = None if room is None else Growth(size, rounds, lambda: options.ranks_within(room()))
            resumed = tell if losses and more is None else lambda text: None
            with (
                engine.progress.track(label, rounds) as track,
                _Attempt(next(started), size, host, options, store, track, growth, resumed) as attempt,
            ):
                more = None
                try:
                    result = attempt.run(launch, assignment)
                    store.clear()
                    return result
                except RankLost as loss:
                    losses.append(str(loss))
                    tell(f"{loss}; attempt {len(losses)} of {options.max_restarts + 1} ended")
                except Grown as grown:
                    more = grown.size
                    tell(f"workers came, so it begins again on {more} ranks from a checkpoint")
            size = more or (size if room is None else options.ranks_within(room()))
    raise WorkerLostError(
        f"{label} lost a rank in each of {len(losses)} attempt(s). Last: {losses[-1]}",
        hint="Look at that worker's log; raise max_restarts if workers are expected to go away.",
        stage=label,
        engine=engine.name,
        attempt=len(losses),
    )


@dataclass(eq=False)
class _Attempt(ExitStack):
    """One start of all ranks, and the conversation with them; they are ended when it is left."""

    number: int
    size: int
    host: str
    options: SpmdOptions
    store: CheckpointStore
    track: Track
    growth: Growth | None
    resumed: Callable[[str], None]

    def __post_init__(self) -> None:
        super().__init__()
        self._peers = Peers(self.options.timeout)
        self._rendezvous = Rendezvous(self.size, self.host, self.options)
        self._collectives = Collectives(self.size, self._rendezvous.arguments)
        self._results: dict[int, Any] = {}

    def run(self, launch: Launcher, assignment: Assignment) -> Any:
        key = secrets.token_bytes(32)
        listener = self.enter_context(Listener(self.host, key, self.options.timeout, backlog=self.size + 8))
        self.callback(self._rendezvous.close)
        ranks = launch(self._places(listener.address, key), assignment)
        for close in (ranks.stop, self._peers.close, listener.close):  # the last one first
            self.callback(close)
        news = News(ranks.problem)
        self._await_ranks(news, listener)
        self._start()
        self._converse(news)
        return self._results[0]

    def _places(self, address: tuple[str, int], key: bytes) -> list[RankAssignment]:
        o = self.options
        return [
            RankAssignment(
                index, self.size, address, key, o.timeout, o.start_timeout, o.checkpoint_interval, self.number
            )
            for index in range(self.size)
        ]

    def _await_ranks(self, news: News, listener: Listener) -> None:
        deadline = time.monotonic() + self.options.start_timeout
        while missing := self._peers.missing(self.size):
            if time.monotonic() > deadline:
                raise StageTimeoutError(
                    f"{len(missing)} of {self.size} rank(s) did not start within {self.options.start_timeout:g} s:"
                    f" {', '.join(f'rank {index}' for index in missing)}",
                    hint="Free slots of the cluster, ask for fewer ranks (world_size), or raise start_timeout.",
                )
            self._peers.admit(listener.arrivals(_TICK / 10))
            if (problem := news.bad(grace=0.0)) is not None:
                raise RankLost(f"the ranks did not start: {problem}")

    def _start(self) -> None:
        checkpoint = self.store.load()
        self._peers.rounds = checkpoint.rounds if checkpoint else 0
        self.track.advance(self._peers.rounds)
        self.resumed(f"begins again after round {self._peers.rounds}, on {self.size} rank(s)")
        self._peers.broadcast(m.Start(checkpoint))

    def _converse(self, news: News) -> None:
        while len(self._results) < self.size:
            for index, message in self._peers.receive(_TICK):
                self._handle(index, message)
            self._peers.check()
            if (problem := news.bad()) is not None:
                raise RankLost(f"a rank was lost after round {self._peers.rounds}: {problem}")

    def _handle(self, index: int, message: object) -> None:
        match message:
            case m.Ready() | m.Gather() | m.Reduce():
                if (answer := self._collectives.add(index, message)) is not None:
                    self._peers.broadcast(answer)
            case m.Round():
                self._advance(index, message)
            case m.Saved():
                self._save(message.checkpoint)
            case m.Done():
                self._results[index] = message.result
                self._peers.finish(index)
            case m.Failed(lost_peer=True):
                self._peers.cut_off(index, message)
            case m.Failed():
                raise message.error

    def _save(self, checkpoint: Checkpoint) -> None:
        self.store.save(checkpoint)
        size = None if self.growth is None else self.growth.size_from(checkpoint.rounds)
        if size is not None:
            raise Grown(size)

    def _advance(self, index: int, message: m.Round) -> None:
        new = message.rounds - self._peers.rounds
        if self.growth is not None:
            self.growth.advanced(message.rounds)
        if index == 0 and new > 0:
            self.track.advance(new, message.detail)
            self._peers.rounds = message.rounds


_PAUSE = 1.0
"""Seconds between two questions, which cost an engine a call or two."""
_GRACE = 1.0
"""Seconds in which messages of the ranks may still arrive: they name the cause better."""


class News:
    """Failure reports of one attempt.

    Parameters
    ----------
    ask : callable
        Returns why the engine has given up on a rank, if it has; `Launch.problem`.
    clock : callable
        Returns seconds.

    Examples
    --------
    >>> seconds = iter([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])  # before and after each question, and between them
    >>> answers = iter([None, "an executor is gone"])
    >>> news = News(lambda: next(answers), lambda: next(seconds))
    >>> [news.bad() for _ in range(4)]
    [None, None, None, 'an executor is gone']
    """

    def __init__(self, ask: Callable[[], str | None], clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._clock = ask, clock
        self._next = float("-inf")
        self._problem: str | None = None

    def bad(self, grace: float = _GRACE) -> str | None:
        """Return the problem, once the engine has known of it for so many seconds."""
        now = self._clock()
        if self._problem is None and now >= self._next:
            self._problem, now = self._ask(), self._clock()  # which may have taken its time
            self._next = now + (_PAUSE if self._problem is None else grace)
        return self._problem if now >= self._next else None


class Grown(Exception):
    """A training that goes on, from its last checkpoint, on more ranks than it began with.

    Attributes
    ----------
    size : int
        How many ranks.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Growth:
    """Tells at a checkpoint whether it is sooner to begin again on more ranks than to go on.

    To begin takes as long as it took until the first round was over: ranks are started, and read and prepare their
    rows. Rounds are expected to take so much less time as there are more ranks; what these exchange is not counted.

    Parameters
    ----------
    size : int
        How many ranks there are.
    rounds : int
        Of the whole training; 0 where it cannot be told, and then there is no growth.
    room : callable
        Returns how many ranks there could be now.
    clock : callable
        Returns seconds; it is called when the ranks are asked for, which is now.
    """

    def __init__(
        self, size: int, rounds: int, room: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._size, self._rounds, self._room, self._clock = size, rounds, room, clock
        self._began = clock()
        self._first: tuple[float, int] | None = None

    def advanced(self, rounds: int) -> None:
        """Note that this many rounds of the training are over; of the first time it is kept when that was."""
        if self._first is None:
            self._first = self._clock(), rounds

    def size_from(self, rounds: int) -> int | None:
        """Return on how many ranks to begin again from a checkpoint of so many rounds, or None to go on.

        Examples
        --------
        >>> seconds = iter([0.0, 5.0, 15.0])  # asked for ranks; after the first round; after round 11
        >>> growth = Growth(1, 100, lambda: 2, lambda: next(seconds))
        >>> growth.advanced(1)
        >>> growth.size_from(11)  # 89 rounds take 89 s here, and 5 and 44.5 s on two ranks
        2
        """
        if self._first is None or rounds <= self._first[1]:
            return None
        moment, first = self._first
        left = (self._rounds - rounds) * (self._clock() - moment) / (rounds - first)
        size = self._room()
        sooner = size > self._size and (moment - self._began) + left * self._size / size < left
        return size if sooner else None
