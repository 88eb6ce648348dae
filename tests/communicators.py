"""Communicators around others, which do one thing more: workers import them by name."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.spmd import Communicator, Rank


class Wrapped:
    """Does what another communicator does."""

    def __init__(self, communicator: Any) -> None:
        self._communicator = communicator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._communicator, name)


class Stricken(Wrapped):
    """Sends its own process a signal when so many rounds are reported, as many times as told; a file counts."""

    def __init__(self, communicator: Communicator, marker: Path, rounds: int, blow: int, times: int) -> None:
        super().__init__(communicator)
        self._marker, self._rounds, self._blow, self._times = marker, rounds, blow, times

    def report(self, rounds: int, detail: str) -> None:
        self._communicator.report(rounds, detail)
        blows = self._marker.read_text() if self._marker.exists() else ""
        if rounds == self._rounds and len(blows) < self._times:
            self._marker.write_text(blows + "x")
            os.kill(os.getpid(), self._blow)


def stricken(rank: Rank, marker: Path, index: int, rounds: int, blow: int = signal.SIGKILL, times: int = 1) -> Rank:
    """Return the rank, struck after so many rounds where it is the one of that index."""
    if rank.index != index:
        return rank
    return replace(rank, communicator=Stricken(rank.communicator, marker, rounds, blow, times))
