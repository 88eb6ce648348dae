"""Ranks started together, watched until all are done, and started again from a checkpoint when one is lost.

Neither Spark nor Dask retries a gang. A rank is lost when its connection closes (its process ended) or when it has
given no sign of life for too long (it is frozen, or cut off); then the attempt ends on all ranks.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from penstock.errors import StageTimeoutError, WorkerLostError
from penstock.progress import Track
from penstock.spmd import messages as m
from penstock.spmd.checkpoints import CheckpointStore
from penstock.spmd.door import Door
from penstock.spmd.options import SpmdOptions
from penstock.spmd.rank import Body, Work, checkpoints
from penstock.spmd.xgboost_ports import Rendezvous, refuse_ports

if TYPE_CHECKING:
    from penstock.dataset import Dataset
    from penstock.engines.base import Engine

_TICK = 0.2
_GRACE = 3.0


class Launch(Protocol):
    """Ranks that an engine has been asked to start."""

    def problem(self) -> str | None:
        """Return why the engine has given up on them, if it has."""
        ...

    def stop(self) -> None:
        """End those that still run, and wait (not for ever) until their slots are free."""
        ...


Launcher = Callable[[Sequence[m.Ticket], Work], Launch]


class RankLost(Exception):
    """A rank went away; all ranks can be started again."""


def run_gang(
    launch: Launcher,
    body: Body,
    datasets: Mapping[str, Dataset],
    options: SpmdOptions,
    engine: Engine,
    *,
    size: int,
    threads: int,
    host: str,
    label: str,
) -> Any:
    """Run `body` on `size` ranks and return what rank 0 returned.

    Parameters
    ----------
    launch : callable
        Asks the engine to start ``run_rank`` with each ticket, all at the same time.
    threads : int
        Threads of each rank.
    host : str
        The address of this process that workers can reach; loopback for a cluster on this machine.

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
        refuse_ports(size, options)
    work = Work.of(body, datasets, size, engine.kind, threads)
    losses: list[str] = []
    with checkpoints(options, body, datasets, size) as store:
        while len(losses) <= options.max_restarts:
            with engine.progress.track(label, getattr(body, "rounds", 0)) as track:
                try:
                    result = _Attempt(launch, work, options, store, track, size, host).run()
                except RankLost as loss:
                    losses.append(str(loss))
                    engine.progress.note(f"{label}: {loss}; attempt {len(losses)} of {options.max_restarts + 1} ended")
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
        launch: Launcher,
        work: Work,
        options: SpmdOptions,
        store: CheckpointStore,
        track: Track,
        size: int,
        host: str,
    ) -> None:
        self.launch, self.work, self.options, self.store, self.track = launch, work, options, store, track
        self.size, self.host, self.key = size, host, secrets.token_bytes(32)
        self.ranks: dict[int, Connection] = {}
        self.names: dict[int, str] = {}
        self.heard: dict[int, float] = {}
        self.ready: set[int] = set()
        self.given: dict[int, Any] = {}
        self.terms: dict[int, np.ndarray] = {}
        self.done: dict[int, Any] = {}
        self.rounds = 0
        self.cut_off: dict[int, m.Failed] = {}
        self.rendezvous = Rendezvous(size, host, options)
        self.arrived: list[Connection] = []

    def run(self) -> Any:
        with Door(self.host, self.key, self.options.timeout, backlog=self.size + 8) as door:
            launched = self.launch(self._tickets(door.address), self.work)
            try:
                self._gather_ranks(launched, door)
                self._converse(launched)
                return self.done[0]
            finally:
                door.close()
                self._hang_up()
                launched.stop()
                self.rendezvous.close()

    def _tickets(self, address: Any) -> list[m.Ticket]:
        o = self.options
        return [
            m.Ticket(index, self.size, address, self.key, o.timeout, o.start_timeout, o.checkpoint_interval)
            for index in range(self.size)
        ]

    def _gather_ranks(self, launched: Launch, door: Door) -> None:
        deadline = time.monotonic() + self.options.start_timeout
        while len(self.ranks) < self.size:
            self.arrived += door.arrivals(_TICK / 10)
            for connection in list(self.arrived):
                if connection.poll(0):
                    self.arrived.remove(connection)
                    self._admit(connection)
            if (problem := launched.problem()) is not None:
                raise RankLost(f"the ranks did not start: {problem}")
            if time.monotonic() > deadline:
                missing = sorted(set(range(self.size)) - self.ranks.keys())
                raise StageTimeoutError(
                    f"{len(missing)} of {self.size} rank(s) did not start within {self.options.start_timeout:g} s:"
                    f" {', '.join(f'rank {index}' for index in missing)}",
                    hint="Free slots of the cluster, ask for fewer ranks (world_size), or raise start_timeout.",
                )
        checkpoint = self.store.load()
        self.rounds = checkpoint.rounds if checkpoint else 0
        self.track.advance(self.rounds)
        self._tell(m.Start(checkpoint))

    def _admit(self, connection: Connection) -> None:
        try:
            joined = connection.recv()
        except (EOFError, OSError):
            return
        self.ranks[joined.index], self.names[joined.index] = connection, joined.name
        self.heard[joined.index] = time.monotonic()

    def _tell(self, message: object) -> None:
        for index, connection in self.ranks.items():
            try:
                connection.send(message)
            except OSError as error:
                raise self._lost(index, f"its connection closed ({error.strerror or error})") from error

    def _converse(self, launched: Launch) -> None:
        while len(self.done) < self.size:
            talking = {c: index for index, c in self.ranks.items() if index not in {*self.done, *self.cut_off}}
            for connection in wait(list(talking), timeout=_TICK):
                self._hear(talking[connection], connection)  # type: ignore[index, arg-type]
            self._check_silence()
            self._check_cut_off(talking.values())

    def _hear(self, index: int, connection: Connection) -> None:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            raise self._lost(index, "its process ended (the connection closed)") from None
        self.heard[index] = time.monotonic()
        match message:
            case m.Ready():
                self._meet(index)
            case m.Gather():
                self._gather(message)
            case m.Reduce():
                self._reduce(message)
            case m.Round():
                self._advance(message)
            case m.Saved():
                self.store.save(message.checkpoint)
            case m.Done():
                self.done[index] = message.result
            case m.Failed(lost_peer=True):
                self.cut_off[index] = message
            case m.Failed():
                raise message.error

    def _check_cut_off(self, talking: Collection[int]) -> None:
        """Blame the peer that a rank whose collective call failed has lost; wait a little for it to be found."""
        if not self.cut_off:
            return
        now = time.monotonic()
        first = min(self.cut_off, key=self.heard.__getitem__)
        if talking and now - self.heard[first] <= _GRACE:
            return
        silent = [index for index in talking if now - self.heard[index] > _GRACE]
        if silent:
            raise self._lost(min(silent, key=self.heard.__getitem__), f"it fell silent, and rank {first} was cut off")
        raise self._lost(first, self.cut_off[first].error.message)

    def _meet(self, index: int) -> None:
        self.ready.add(index)
        if len(self.ready) == self.size:
            self._tell(m.Meet(self.rendezvous.arguments()))

    def _gather(self, message: m.Gather) -> None:
        self.given[message.index] = message.value
        if len(self.given) == self.size:
            values = [self.given.pop(index) for index in range(self.size)]
            self._tell(m.Gathered(values))

    def _reduce(self, message: m.Reduce) -> None:
        self.terms[message.index] = message.values
        if len(self.terms) == self.size:
            total = self.terms.pop(0).copy()
            for index in range(1, self.size):
                total += self.terms.pop(index)
            self._tell(m.Reduced(total))

    def _advance(self, message: m.Round) -> None:
        if message.index == 0 and message.rounds > self.rounds:
            self.track.advance(message.rounds - self.rounds, message.detail)
            self.rounds = message.rounds

    def _check_silence(self) -> None:
        """Blame the longest silent rank; one whose message waits, as this process was busy itself, is not silent."""
        now = time.monotonic()
        for index, heard in sorted(self.heard.items(), key=itemgetter(1)):
            late = index not in {*self.done, *self.cut_off} and now - heard > self.options.timeout
            if late and not self.ranks[index].poll():
                raise self._lost(index, f"it gave no sign of life for {now - heard:.0f} s (frozen, or cut off)")

    def _who(self, index: int) -> str:
        return f"rank {index} ({self.names.get(index, 'never seen')})"

    def _lost(self, index: int, cause: str) -> RankLost:
        return RankLost(f"{self._who(index)} was lost after round {self.rounds}: {cause}")

    def _hang_up(self) -> None:
        for connection in [*self.ranks.values(), *self.arrived]:
            connection.close()
