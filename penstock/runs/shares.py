"""Counters that tasks read at their start and end, shared among those that ran while they counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from penstock.core.recording import TaskRecord
from penstock.devices.energy import RANGE


class CounterReading(NamedTuple):
    """What a counter said at the start and at the end of the task of a place."""

    place: int
    counter: Hashable
    start: float
    end: float


def shared(readings: Iterable[CounterReading]) -> dict[int, float]:
    """Return what each task has used: between two readings of a counter, an equal share for each task that ran.

    So all that a counter has counted while any task ran is shared out, once.

    Examples
    --------
    >>> shared([CounterReading(0, "cpu", 0.0, 10.0), CounterReading(1, "cpu", 8.0, 12.0)])
    {0: 9.0, 1: 3.0}
    """
    by_counter: dict[Hashable, list[CounterReading]] = defaultdict(list)
    used: dict[int, float] = {}
    for reading in readings:
        used.setdefault(reading.place, 0.0)
        if reading.end > reading.start:
            by_counter[reading.counter].append(reading)
    for of_counter in by_counter.values():
        for place, amount in _shares(of_counter):
            used[place] += amount
    return used


def _shares(readings: Sequence[CounterReading]) -> Iterator[tuple[int, float]]:
    starts = [(reading.start, True, reading.place) for reading in readings]
    events = sorted([*starts, *((reading.end, False, reading.place) for reading in readings)])
    running: set[int] = set()
    last = events[0][0]
    for value, begins, place in events:
        for each in running if value > last else ():
            yield each, (value - last) / len(running)
        last = value
        (running.add if begins else running.discard)(place)


def energy_readings(tasks: Sequence[TaskRecord]) -> Iterator[CounterReading]:
    """Yield what tasks read of energy counters, each of which is called ``host/device``.

    Processes of a machine may differ by ranges of a counter, see `penstock.devices.energy`: each is moved by as many as
    bring its first reading nearest to the one before. A GPU counts for tasks that ran on one.

    Parameters
    ----------
    tasks : sequence of TaskRecord
        In the order in which they started.
    """
    shifts: dict[tuple[str, int, str], float] = {}
    last: dict[str, float] = {}
    for place, task in enumerate(tasks):
        for device, (start, end) in task.energy.items():
            if device.endswith(RANGE) or not counts(device, task.device):
                continue
            counter, process = f"{task.host}/{device}", (task.host, task.pid, device)
            if process not in shifts:
                period = task.energy.get(device + RANGE, (0.0, 0.0))[0]
                away = last.get(counter, start) - start
                shifts[process] = period * round(away / period) if period else 0.0
            last[counter] = start + shifts[process]
            yield CounterReading(place, counter, last[counter], end + shifts[process])


def counts(device: str, kind: str) -> bool:
    """Return whether what a device uses is that of tasks on "cpu" or "gpu": an idle GPU is none of a CPU's."""
    return kind == "gpu" or not device.startswith("gpu")
