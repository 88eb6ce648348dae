"""Ranks started together, watched until all are done, and started again from a checkpoint when one is lost.

Neither Spark nor Dask retries a gang. When a rank is lost, the attempt ends on all ranks.
"""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from penstock.core.errors import StageTimeoutError, WorkerLostError
from penstock.core.progress import Track
from penstock.spmd import messages as m
from penstock.spmd.assignment import Assignment, Body, RankAssignment
from penstock.spmd.checkpoints import Checkpoint, CheckpointStore
from penstock.spmd.collectives import Collectives
from penstock.spmd.fingerprint import checkpoint_store
from penstock.spmd.growth import Grown, Growth
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
        """Return why the engine has given up on them, if it has."""

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
    with checkpoint_store(options, body, datasets, None if options.elastic else size) as store:
        while len(losses) <= options.max_restarts:
            assignment = Assignment.of(body, datasets, size, engine.kind, threads)
            growth = None if room is None else Growth(size, rounds, lambda: options.ranks_within(room()))
            with engine.progress.track(label, rounds) as track:
                try:
                    attempt = _Attempt(next(started), size, host, options, store, track, growth)
                    result = attempt.run(launch, assignment)
                except RankLost as loss:
                    losses.append(str(loss))
                    size = size if room is None else options.ranks_within(room())
                    engine.progress.note(f"{label}: {loss}; attempt {len(losses)} of {options.max_restarts + 1} ended")
                    continue
                except Grown as more:
                    size = more.size
                    engine.progress.note(f"{label}: workers came, so it begins again on {size} ranks from a checkpoint")
                    continue
            store.clear()
            return result
    raise WorkerLostError(
        f"{label} lost a rank in each of {len(losses)} attempt(s). Last: {losses[-1]}",
        hint="Look at that worker's log; raise max_restarts if workers are expected to go away.",
        stage=label,
        engine=engine.name,
        attempt=len(losses),
    )


class _Attempt:
    """One start of all ranks, and the conversation with them."""

    def __init__(
        self,
        number: int,
        size: int,
        host: str,
        options: SpmdOptions,
        store: CheckpointStore,
        track: Track,
        growth: Growth | None,
    ) -> None:
        self._number, self._growth = number, growth
        self._size, self._host, self._options, self._store, self._track = size, host, options, store, track
        self._peers = Peers(options.timeout)
        self._rendezvous = Rendezvous(size, host, options)
        self._collectives = Collectives(size, self._rendezvous.arguments)
        self._results: dict[int, Any] = {}

    def run(self, launch: Launcher, assignment: Assignment) -> Any:
        key = secrets.token_bytes(32)
        with Listener(self._host, key, self._options.timeout, backlog=self._size + 8) as listener:
            ranks = launch(self._places(listener.address, key), assignment)
            try:
                self._await_ranks(ranks, listener)
                self._start()
                self._converse()
                return self._results[0]
            finally:
                listener.close()
                self._peers.close()
                ranks.stop()
                self._rendezvous.close()

    def _places(self, address: tuple[str, int], key: bytes) -> list[RankAssignment]:
        o = self._options
        return [
            RankAssignment(
                index, self._size, address, key, o.timeout, o.start_timeout, o.checkpoint_interval, self._number
            )
            for index in range(self._size)
        ]

    def _await_ranks(self, ranks: Launch, listener: Listener) -> None:
        deadline = time.monotonic() + self._options.start_timeout
        while missing := self._peers.missing(self._size):
            if time.monotonic() > deadline:
                raise StageTimeoutError(
                    f"{len(missing)} of {self._size} rank(s) did not start within {self._options.start_timeout:g} s:"
                    f" {', '.join(f'rank {index}' for index in missing)}",
                    hint="Free slots of the cluster, ask for fewer ranks (world_size), or raise start_timeout.",
                )
            self._peers.admit(listener.arrivals(_TICK / 10))
            if (problem := ranks.problem()) is not None:
                raise RankLost(f"the ranks did not start: {problem}")

    def _start(self) -> None:
        checkpoint = self._store.load()
        self._peers.rounds = checkpoint.rounds if checkpoint else 0
        self._track.advance(self._peers.rounds)
        self._peers.broadcast(m.Start(checkpoint))

    def _converse(self) -> None:
        while len(self._results) < self._size:
            for index, message in self._peers.receive(_TICK):
                self._handle(index, message)
            self._peers.check()

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
        self._store.save(checkpoint)
        size = None if self._growth is None else self._growth.size_from(checkpoint.rounds)
        if size is not None:
            raise Grown(size)

    def _advance(self, index: int, message: m.Round) -> None:
        new = message.rounds - self._peers.rounds
        if self._growth is not None:
            self._growth.advanced(message.rounds)
        if index == 0 and new > 0:
            self._track.advance(new, message.detail)
            self._peers.rounds = message.rounds
