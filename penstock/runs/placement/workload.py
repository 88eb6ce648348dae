"""What is to be placed: how much work there is for any number of workers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

_EACH, _STEP = 8, 1.2


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The work of a run on a number of workers; it takes ``serial + communicate + train / slowest + tasks / speed``.

    Attributes
    ----------
    serial : float
        Seconds in which one process works, and workers wait.
    communicate : float
        Seconds in which workers wait for each other.
    train : float
        Seconds that ranks of speed 1 compute. They have equal shares, so that the slowest one decides.
    tasks : float
        Seconds of tasks on one worker of speed 1. Workers take them as they are free: their total speed decides.
    spread : (float, float)
        Factors of the time: the bounds of its interval. ``(1, 1)`` where no interval is known.

    Examples
    --------
    >>> Demand(serial=10.0, communicate=2.0, train=8.0, tasks=120.0).seconds(speed=6.0, slowest=2.0)
    36.0
    """

    serial: float = 0.0
    communicate: float = 0.0
    train: float = 0.0
    tasks: float = 0.0
    spread: tuple[float, float] = (1.0, 1.0)

    def parts(self, *, speed: float, slowest: float) -> dict[str, float]:
        """Return the seconds by what they are for, on workers of a total speed, the slowest of which has one."""
        tasks, train = self.tasks / speed, self.train / slowest
        return {"serial": self.serial, "communicate": self.communicate, "train": train, "tasks": tasks}

    def seconds(self, *, speed: float, slowest: float) -> float:
        """Return the sum of the parts."""
        return sum(self.parts(speed=speed, slowest=slowest).values())


class Workload(Protocol):
    """What predicts a run."""

    @property
    def memory(self) -> int:
        """Bytes of memory that a worker needs for one task at a time."""

    def demand(self, workers: int) -> Demand:
        """Return what a run on so many workers takes."""


class SampledWorkload:
    """A workload whose demand is asked for at some numbers of workers alone, and drawn straight between them.

    Up to 8 each is asked for, above them numbers a fifth apart: what is predicted by simulation takes its time.

    Parameters
    ----------
    workload : Workload
    memory : int, optional
        Bytes of a worker; the workload's unless given.

    Examples
    --------
    >>> run = SampledWorkload(LinearWorkload(serial=5.0, communication=0.5, tasks=90.0))
    >>> run.demand(10) == run.workload.demand(10), run.demand(1234).communicate, run.demand(1234).tasks
    (True, 616.5, 90.0)
    """

    def __init__(self, workload: Workload, memory: int | None = None) -> None:
        self.workload = workload
        self.memory = workload.memory if memory is None else memory
        self._known: dict[int, Demand] = {}

    def demand(self, workers: int) -> Demand:
        """Return what a run on so many workers takes."""
        low, high = _EACH, _EACH
        while high < workers:
            low, high = high, math.ceil(high * _STEP)
        if workers <= _EACH or high == workers:
            return self._ask(workers)
        one, other, share = self._ask(low), self._ask(high), (workers - low) / (high - low)
        low_spread, high_spread = (between(*ends, share) for ends in zip(one.spread, other.spread, strict=True))
        return Demand(
            serial=between(one.serial, other.serial, share),
            communicate=between(one.communicate, other.communicate, share),
            train=between(one.train * low, other.train * high, share) / workers,
            tasks=between(one.tasks, other.tasks, share),
            spread=(low_spread, high_spread),
        )

    def _ask(self, workers: int) -> Demand:
        if workers not in self._known:
            self._known[workers] = self.workload.demand(workers)
        return self._known[workers]


def between(one: float, other: float, share: float) -> float:
    """Return the number that lies by a share of the way from one to another.

    Examples
    --------
    >>> between(10.0, 20.0, 0.25)
    12.5
    """
    return one + share * (other - one)


@dataclass(frozen=True, kw_only=True)
class LinearWorkload:
    """A run whose work is shared out evenly, and whose communication grows with the workers.

    Parameters
    ----------
    serial : float
        Seconds.
    tasks, train : float
        Seconds on one worker of speed 1.
    communication : float
        Seconds for each worker beyond the first.
    memory : int
        Bytes of a worker.
    fragments : int, optional
        How many tasks there are, all alike: ``ceil(fragments / workers)`` of them run one after another. Any number
        unless given.
    spread : (float, float)
        As of `Demand`.

    Examples
    --------
    >>> run = LinearWorkload(serial=5.0, tasks=100.0, communication=1.0, fragments=10)
    >>> [run.demand(workers).seconds(speed=workers, slowest=1.0) for workers in (1, 4, 10, 20)]
    [105.0, 38.0, 24.0, 34.0]
    """

    serial: float = 0.0
    tasks: float = 0.0
    train: float = 0.0
    communication: float = 0.0
    memory: int = 0
    fragments: int | None = None
    spread: tuple[float, float] = (1.0, 1.0)

    def demand(self, workers: int) -> Demand:
        """Return what a run on so many workers takes."""
        waves = 1.0 if self.fragments is None else math.ceil(self.fragments / workers) * workers / self.fragments
        return Demand(
            serial=self.serial,
            communicate=self.communication * (workers - 1),
            train=self.train / workers,
            tasks=self.tasks * waves,
            spread=self.spread,
        )
