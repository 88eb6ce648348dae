"""What the tests of scheduling run on workers, which are threads of the tests' own process."""

import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import distributed
import numpy as np

from penstock.spmd import Rank

PATIENCE = 120.0

gates: dict[str, threading.Event] = defaultdict(threading.Event)
"""By name, what bodies wait for and tests open."""
attempts: dict[str, list[tuple[int, str]]] = defaultdict(list)
"""By the name of a scan, each item and the worker that began with it, in order."""
begun: list[str] = []
"""The names of scans of which a worker begins with an item, in order."""


def attempt(name: str, item: int) -> int:
    """Note that this worker begins with an item; return which attempt at it this is, from 1."""
    begun.append(name)
    attempts[name].append((item, distributed.get_worker().address))
    return [each for each, _ in attempts[name]].count(item)


def number_of(item: Any) -> int:
    return getattr(item, "index", item)


@dataclass(frozen=True)
class Straggling:
    """Gives a number for each item; attempts at one of them wait, each for a gate of its own."""

    name: str
    at: int

    def __call__(self, item: Any) -> float:
        number = number_of(item)
        which = attempt(self.name, number)
        if number == self.at:
            gates[f"{self.name} begins {which}"].set()
            if not gates[f"{self.name} {which}"].wait(PATIENCE):
                gates[f"{self.name} late"].set()
        return 10.0 ** (number % 7) / 3.0


@dataclass(frozen=True)
class FailsAgain:
    """Gives a number for each item; a second attempt at one fails, and the first is done after that."""

    name: str
    at: int

    def __call__(self, item: int) -> float:
        which = attempt(self.name, item)
        if item == self.at and which == 2:
            gates[f"{self.name} failed"].set()
            raise ValueError("a second attempt")
        if item == self.at:
            gates[f"{self.name} failed"].wait(PATIENCE)
            time.sleep(0.2)  # until the error is known
        return 10.0 ** (item % 7) / 3.0


@dataclass(frozen=True)
class Noting:
    """Gives the item, once the gate of its scan is open."""

    name: str

    def __call__(self, item: Any) -> int:
        number = number_of(item)
        attempt(self.name, number)
        gates[self.name].wait(PATIENCE)
        time.sleep(0.01)
        return number


@dataclass(frozen=True)
class OpenedByAnother:
    """Gives the worker of each item; all wait until a worker runs one that is none of those named."""

    name: str
    known: frozenset[str]

    def __call__(self, item: int) -> str:
        address: str = distributed.get_worker().address
        if address not in self.known:
            gates[self.name].set()
        gates[self.name].wait(PATIENCE)
        return address


@dataclass(frozen=True)
class SlowAlone:
    """Adds up the rows of all ranks in each round, which takes a while on `most` ranks or less.

    Opens a gate after the first. Gives how many ranks there were in the end, the round from which they began, and the
    sum.
    """

    name: str
    rounds: int
    seconds: float
    most: int

    def __call__(self, rank: Rank) -> tuple[int, int, float]:
        own = sum(sum(rows) for rows in rank.batches("train", ["x"], lambda frame: frame["x"].to_list()))
        first = 0 if rank.checkpoint is None else rank.checkpoint.rounds
        total = 0.0 if rank.checkpoint is None else float(rank.checkpoint.data)
        for done in range(first + 1, self.rounds + 1):
            time.sleep(self.seconds if rank.size <= self.most else 0.0)
            total += float(rank.allreduce(np.array([float(own)]))[0])
            rank.report(done)
            rank.save(done, str(total).encode())
            gates[self.name].set()
        return rank.size, first, total
