"""What the tests of the Dask engine run on its workers, which import it by name."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from penstock.errors import DataValueError
from penstock.io.fragments import Fragment
from penstock.spmd import Rank


def name_of(fragment: Fragment) -> str:
    return f"{fragment.index:x}"


def in_brackets(parts: Sequence[str]) -> str:
    return f"({''.join(parts)})"


def tenth(fragment: Fragment) -> float:
    return 10.0 ** (fragment.index % 7) / 3.0


def left_to_right(parts: Sequence[float]) -> float:
    total = 0.0
    for part in parts:
        total += part
    return total


def fail_on_three(item: int) -> int:
    if item == 3:
        raise DataValueError("label is 7, expected 0 or 1", hint="Look.", path="b.parquet", row=12)
    return item


def exit_of_a_frame(item: int) -> NoReturn:
    raise BaseException("of a frame")


@dataclass(frozen=True)
class Touch:
    """Leaves a file for each item it is called with."""

    folder: Path

    def __call__(self, item: int) -> int:
        (self.folder / str(item)).touch()
        return item


@dataclass(frozen=True)
class Dying:
    """Ends its process, or sends it another signal, at one item: once, or whenever `marker` is None."""

    task: Any
    at: Any
    marker: Path | None
    signal: int = 9

    def __call__(self, item: Any) -> Any:
        if item == self.at and not (self.marker and self.marker.exists()):
            if self.marker:
                self.marker.touch()
            os.kill(os.getpid(), self.signal)
        return self.task(item)


def slow_square(item: int) -> int:
    time.sleep(0.02)
    return item * item


@dataclass(frozen=True)
class Sum:
    """Adds up 1 + rank over rounds and ranks, saves every round; rank 1 gets a signal once, before a round."""

    rounds: int
    marker: Path | None = None
    at: int = 3
    signal: int = 9

    def __call__(self, rank: Rank) -> tuple[int, int, float]:
        first, total = (rank.checkpoint.rounds, float(rank.checkpoint.data)) if rank.checkpoint else (0, 0.0)
        for done in range(first, self.rounds):
            self._suffer(rank, done)
            total += float(rank.allreduce(np.array([rank.index + 1.0]))[0])
            rank.save(done + 1, str(total).encode())
            rank.report(done + 1)
        return rank.size, first, total

    def _suffer(self, rank: Rank, done: int) -> None:
        if not self.marker or done != self.at or self.marker.exists():
            return
        rank.gather(None)  # the checkpoint of the round before has arrived
        if rank.index == 1:
            self.marker.touch()
            os.kill(os.getpid(), self.signal)


@dataclass(frozen=True)
class Refuse:
    """One rank raises while the others wait for it in a collective call; leaves a line for each attempt."""

    log: Path

    def __call__(self, rank: Rank) -> None:
        if rank.index == 1:
            with self.log.open("a") as log:
                log.write("attempt\n")
            raise DataValueError("label is 7, expected 0 or 1", path="b.parquet")
        rank.allreduce(np.array([1.0]))


def rows_of_all(rank: Rank) -> list[int]:
    """Give the rows that each rank has read."""
    rows = np.zeros(rank.size)
    rows[rank.index] = sum(rank.batches("train", ["x"], len))
    return [int(count) for count in rank.allreduce(rows)]


def threads_of(rank: Rank) -> int:
    return rank.threads


class Heavy:
    """Weighs a lot, and leaves a file whenever it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.weight = folder, bytes(12_000_000)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        (self.folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()

    def __call__(self, item: int) -> int:
        return len(self.weight) + item
