"""The ranks as their coordinator knows them: who has joined, when each was last heard, and who is lost.

A rank is lost when its connection closes (its process ended) or when it has given no sign of life for too long (it is
frozen, or cut off).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from penstock.spmd.messages import Failed

_GRACE = 3.0
"""Seconds without a sign of life after which a rank is blamed for the failed collective call of another."""


class RankLost(Exception):
    """A rank went away; all ranks can be started again."""


class Peers:
    """The ranks of one attempt.

    Parameters
    ----------
    timeout : float
        Seconds without a sign of life after which a rank is lost.
    clock : callable
        Gives the time in seconds.

    Attributes
    ----------
    rounds : int
        How many are complete, as far as is known; a lost rank is named with it.
    """

    def __init__(self, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rounds = 0
        self._timeout, self._clock = timeout, clock
        self._arrivals: list[Connection] = []
        self._connections: dict[int, Connection] = {}
        self._names: dict[int, str] = {}
        self._last_heard: dict[int, float] = {}
        self._finished: set[int] = set()
        self._cut_off: dict[int, Failed] = {}

    def admit(self, arrivals: Sequence[Connection]) -> None:
        """Take in arrivals, each once it has said which rank it is."""
        self._arrivals += arrivals
        for connection in list(self._arrivals):
            if connection.poll(0):
                self._arrivals.remove(connection)
                self._join(connection)

    def _join(self, connection: Connection) -> None:
        try:
            joined = connection.recv()
        except (EOFError, OSError):
            return
        self._connections[joined.index], self._names[joined.index] = connection, joined.name
        self._last_heard[joined.index] = self._clock()

    def missing(self, size: int) -> list[int]:
        """Return which of `size` ranks have not joined."""
        return sorted(set(range(size)) - self._connections.keys())

    def broadcast(self, message: object) -> None:
        """Send a message to every rank."""
        for index, connection in self._connections.items():
            try:
                connection.send(message)
            except OSError as error:
                raise self._lost(index, f"its connection closed ({error.strerror or error})") from error

    def receive(self, seconds: float) -> Iterator[tuple[int, Any]]:
        """Yield the messages that come within so many seconds, each with the rank that sent it."""
        talking = {index: self._connections[index] for index in self._talking()}
        ready = wait(list(talking.values()), timeout=seconds)
        for index, connection in talking.items():
            if connection in ready:
                yield index, self._receive(index, connection)

    def _receive(self, index: int, connection: Connection) -> Any:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            raise self._lost(index, "its process ended (the connection closed)") from None
        self._last_heard[index] = self._clock()
        return message

    def finish(self, index: int) -> None:
        """Listen no more to a rank: it is done."""
        self._finished.add(index)

    def cut_off(self, index: int, failure: Failed) -> None:
        """Listen no more to a rank whose collective call failed, as it does where another rank is lost."""
        self._cut_off[index] = failure

    def check(self) -> None:
        """Raise RankLost where a rank is silent for too long, or has cut off another."""
        self._check_silence()
        if self._cut_off:
            self._check_cut_off()

    def _check_silence(self) -> None:
        """Blame the longest silent rank; one whose message waits, as this process was busy itself, is not silent."""
        now = self._clock()
        for index in sorted(self._talking(), key=self._last_heard.__getitem__):
            silence = now - self._last_heard[index]
            if silence > self._timeout and not self._connections[index].poll():
                raise self._lost(index, f"it gave no sign of life for {silence:.0f} s (frozen, or cut off)")

    def _check_cut_off(self) -> None:
        """Blame the peer that a rank whose collective call failed has lost; wait a little for it to fall silent."""
        now, talking = self._clock(), self._talking()
        first = min(self._cut_off, key=self._last_heard.__getitem__)
        if talking and now - self._last_heard[first] <= _GRACE:
            return
        silent = [index for index in talking if now - self._last_heard[index] > _GRACE]
        if silent:
            longest = min(silent, key=self._last_heard.__getitem__)
            raise self._lost(longest, f"it fell silent, and rank {first} was cut off")
        raise self._lost(first, self._cut_off[first].error.message)

    def _talking(self) -> list[int]:
        return sorted(self._connections.keys() - self._finished - self._cut_off.keys())

    def _lost(self, index: int, cause: str) -> RankLost:
        return RankLost(f"rank {index} ({self._names[index]}) was lost after round {self.rounds}: {cause}")

    def close(self) -> None:
        """Hang up on all of them."""
        for connection in [*self._connections.values(), *self._arrivals]:
            connection.close()
