"""What a task spends its time on: a clock for each phase, of which one runs at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

Item = TypeVar("Item")

PHASES = ("read", "decode", "compute", "encode", "write", "merge", "train", "communicate")
"""Bytes from a store; rows from bytes; steps and statistics; bytes from rows; bytes made durable; partial results
merged; the body of a training; a rank in a collective call, waiting for the others included."""

_here = threading.local()


class Meter:
    """The seconds of each phase of one task, and what it counts. A phase inside another stops the clock of the outer.

    Parameters
    ----------
    phase : str
        What the task does as long as it says nothing else.
    clock : callable
        Gives the time in seconds.
    ids : mapping, optional
        What log records of the task name it by.

    Examples
    --------
    >>> now = iter([0.0, 1.0, 3.0, 10.0])
    >>> meter = Meter("compute", clock=lambda: next(now))
    >>> with meter, measure("decode"):
    ...     count("rows_in", 5)
    >>> meter.seconds, meter.counts
    ({'compute': 8.0, 'decode': 2.0}, {'rows_in': 5})
    """

    def __init__(
        self, phase: str, clock: Callable[[], float] = time.perf_counter, ids: Mapping[str, Any] | None = None
    ) -> None:
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.ids = dict(ids or {})
        self._phase, self._clock = phase, clock
        self._since = clock()

    def switch(self, phase: str) -> str:
        """End the phase that runs, begin another, and return the one that ended."""
        now = self._clock()
        ended, self._phase = self._phase, phase
        self.seconds[ended] = self.seconds.get(ended, 0.0) + now - self._since
        self._since = now
        return ended

    def __enter__(self) -> Meter:
        self._outer: Meter | None = getattr(_here, "meter", None)
        _here.meter = self
        return self

    def __exit__(self, *_: object) -> None:
        self.switch(self._phase)
        _here.meter = self._outer


@contextmanager
def measure(phase: str) -> Iterator[None]:
    """Count the time inside as that of a phase of the task of this thread, where its time is measured."""
    meter: Meter | None = getattr(_here, "meter", None)
    if meter is None:
        yield
        return
    outer = meter.switch(phase)
    try:
        yield
    finally:
        meter.switch(outer)


def measured(phase: str, items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, and count the time that each takes to come as that of a phase."""
    iterator = iter(items)
    while True:
        with measure(phase):
            try:
                item = next(iterator)
            except StopIteration:
                return
        yield item


def count(name: str, amount: int | Callable[[], int]) -> None:
    """Add to what the task of this thread counts, where it is measured; a function is called only there."""
    meter: Meter | None = getattr(_here, "meter", None)
    if meter is not None:
        more = amount() if callable(amount) else amount
        meter.counts[name] = meter.counts.get(name, 0) + more


def task_ids() -> dict[str, Any]:
    """Return what log records of the task of this thread name it by: ``run_id``, ``span``, ``kind``, ``fragment``."""
    meter: Meter | None = getattr(_here, "meter", None)
    return {} if meter is None else meter.ids
