"""Records of tasks as a table: slots of workers, waits, and each task's share of CPU time and energy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.core.recording import PHASES, Span, TaskRecord
from penstock.runs.run import TASKS
from penstock.runs.shares import CounterReading, energy_readings, shared

_COUNTS = ("rows_in", "rows_out", "bytes_in", "bytes_out")
_TOLERANCE = 1e-4
"""Seconds by which clocks may disagree on whether one task of a process began after another had ended."""


def task_table(tasks: Sequence[TaskRecord], spans: Sequence[Span]) -> pa.Table:
    """Return a row for each record, of the columns `TASKS`, in the order in which they started.

    Parameters
    ----------
    tasks : sequence of TaskRecord
    spans : sequence of Span
        Those that the records name by their place.
    """
    ordered = sorted(tasks, key=lambda task: task.start)
    slots = _slots(ordered)
    cpu = shared(CounterReading(place, (task.host, task.pid), *task.cpu) for place, task in enumerate(ordered))
    energy = shared(energy_readings(ordered))
    rows = [
        _row(task, spans[task.span].name)
        | {"slot": slots[place], "wait": wait, "cpu_seconds": cpu[place], "energy": energy.get(place)}
        for place, (task, wait) in enumerate(zip(ordered, _waits(ordered, slots, spans), strict=True))
    ]
    return pa.Table.from_pylist(rows, schema=TASKS)


def _row(task: TaskRecord, label: str) -> dict[str, Any]:
    return {
        "span": task.span,
        "label": label,
        "kind": task.kind,
        "fragment": task.fragment,
        "attempt": task.attempt,
        "host": task.host,
        "worker": f"{task.host}:{task.pid}",
        "device": task.device,
        "start": round(task.start * 1e6),
        "seconds": task.seconds,
        **{phase: task.phases.get(phase, 0.0) for phase in PHASES},
        **{name: task.counts.get(name, 0) for name in _COUNTS},
        "peak_memory": task.peak_memory,
    }


def _slots(tasks: Sequence[TaskRecord]) -> list[int]:
    """Return for each task the first slot of its process that is free when it starts."""
    ends: dict[tuple[str, int], list[float]] = defaultdict(list)
    slots = []
    for task in tasks:
        busy = ends[task.host, task.pid]
        slot = next((slot for slot, end in enumerate(busy) if end <= task.start + _TOLERANCE), len(busy))
        busy[slot:] = [task.start + task.seconds, *busy[slot + 1 :]]
        slots.append(slot)
    return slots


def _waits(tasks: Sequence[TaskRecord], slots: Sequence[int], spans: Sequence[Span]) -> Iterator[float]:
    """Yield for each task how long its slot did nothing before it, since its span began."""
    ends: dict[tuple[str, int, int], float] = {}
    for task, slot in zip(tasks, slots, strict=True):
        key = (task.host, task.pid, slot)
        free = max(spans[task.span].start, ends.get(key, 0.0))
        yield max(0.0, task.start - free)
        ends[key] = task.start + task.seconds
