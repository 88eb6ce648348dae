"""Tasks that run for far longer than the others took: each is told while it still runs, by what it works on."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from penstock.engines.task_items import describe

Item = TypeVar("Item")
Result = TypeVar("Result")

LEAST = 10.0
"""Seconds that a task may always take."""
FACTOR = 5
"""How many times the median is far longer."""
_ENOUGH = 3
_PAUSE = 5.0


class TaskTimes(Protocol):
    """How long the tasks of one scan take, each known by the key of its item."""

    def running(self) -> Mapping[Any, float]:
        """Return the seconds since each task that runs was started."""
        ...

    def done(self) -> tuple[int, float]:
        """Return of how many tasks that are done the seconds are known, and their median; 0 and 0.0 for none."""
        ...


class TaskClock:
    """The times of tasks that run in threads of this process.

    Parameters
    ----------
    clock : callable
        Gives the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started: dict[int, float] = {}
        self._seconds: list[float] = []

    def timed(self, task: Callable[[Item], Result]) -> Callable[[tuple[int, Item]], Result]:
        """Return a function that calls `task` with the second of a pair, and knows its time by the first."""

        def call(keyed: tuple[int, Item]) -> Result:
            key, item = keyed
            self.start(key)
            try:
                return task(item)
            finally:
                self.end(key)

        return call

    def start(self, key: int) -> None:
        """Take note that a task was started now."""
        self._started[key] = self._clock()

    def end(self, key: int) -> None:
        """Take note that a task has ended now."""
        self._seconds.append(self._clock() - self._started.pop(key))

    def running(self) -> dict[int, float]:
        """Return the seconds since each task that runs was started."""
        now = self._clock()
        return {key: now - started for key, started in self._started.copy().items()}

    def done(self) -> tuple[int, float]:
        """Return how many tasks are done, and the median of their seconds."""
        return median_of(self._seconds.copy())


class Stragglers:
    """Tells of tasks that run for more than 10 seconds and five times the median of those that are done.

    At least three of them are done, or half of all. A task is told once, and again each time that it has taken twice
    as long.

    Parameters
    ----------
    label : str
        What the scan is called.
    items : sequence, or mapping by key
        What the tasks work on.
    total : int
        How many there are.
    times : TaskTimes
        Asked no earlier than after 10 seconds, then every 5 at most.
    tell : callable
        Is given the lines.
    clock : callable
        Gives the time in seconds.

    Examples
    --------
    >>> now = [0.0]
    >>> times = TaskClock(lambda: now[0])
    >>> stragglers = Stragglers("scan", ["a", "b"], 2, times, print, clock=lambda: now[0])
    >>> times.start(0); times.start(1)
    >>> now[0] = 2.0; times.end(0)
    >>> now[0] = 12.0; stragglers.look()
    scan: 'b' has run for 12 s; the median of 1 that are done is 2.0 s
    """

    def __init__(
        self,
        label: str,
        items: Sequence[Any] | Mapping[Any, Any],
        total: int,
        times: TaskTimes,
        tell: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._label, self._items, self._total = label, items, total
        self._times, self._tell, self._clock = times, tell, clock
        self._next_look = clock() + LEAST
        self._limits: dict[Any, float] = {}

    def look(self) -> None:
        """Ask for the times if it is time for it, and tell what is new."""
        if self._clock() < self._next_look:
            return
        slow = {key: seconds for key, seconds in self._times.running().items() if seconds > self._limit(key)}
        if slow:
            self._compare(slow, *self._times.done())
        self._next_look = self._clock() + _PAUSE

    def _limit(self, key: Any) -> float:
        return self._limits.get(key, LEAST)

    def _compare(self, slow: Mapping[Any, float], done: int, median: float) -> None:
        if done < min(_ENOUGH, self._total / 2):
            return
        for key, seconds in slow.items():
            if seconds > FACTOR * median:
                self._limits[key] = 2 * seconds
                self._tell(
                    f"{self._label}: {describe(self._items[key])} has run for {seconds:.0f} s;"
                    f" the median of {done} that are done is {median:.1f} s"
                )


def median_of(seconds: Sequence[float]) -> tuple[int, float]:
    """Return how many there are, and their median.

    Examples
    --------
    >>> median_of([3.0, 1.0]), median_of([])
    ((2, 2.0), (0, 0.0))
    """
    return len(seconds), statistics.median(seconds) if seconds else 0.0
