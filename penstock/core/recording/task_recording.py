"""Measured tasks: tickets, records of their work, and results with the records of their tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from penstock.core.recording.attempts import attempt_number
from penstock.core.recording.meter import Meter
from penstock.core.recording.process import host_name, peak_memory

Value = TypeVar("Value")


@dataclass(frozen=True)
class TaskRecord:
    """One task, of a scan, a merge or a training.

    Attributes
    ----------
    span : int
        The place of its scan or training in the run.
    kind : {"task", "merge", "rank"}
    fragment : int, optional
        The fragment that it worked on; the index of a rank.
    host : str
    pid : int
    start : float
        Seconds since 1970, by the clock of its machine.
    seconds : float
        From its start to its end.
    phases : mapping of str to float
        Seconds of each phase; their sum is `seconds`.
    counts : mapping of str to int
        ``rows_in``, ``rows_out``, ``bytes_in`` (of rows in memory), ``bytes_out`` (of files).
    cpu : tuple of float
        CPU seconds that its process had used at its start and at its end, those of other tasks in it included.
    peak_memory : int
        Bytes that its process had at most until its end.
    device : str
        ``"cpu"`` or ``"gpu"``.
    energy : mapping of str to tuple of float
        By device, its counter in joules at the start and at the end.
    attempt : int
        How many attempts were begun before this one, and were lost or are slower.
    """

    span: int
    kind: str
    fragment: int | None
    host: str
    pid: int
    start: float
    seconds: float
    phases: Mapping[str, float]
    counts: Mapping[str, int]
    cpu: tuple[float, float]
    peak_memory: int
    device: str = "cpu"
    energy: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    attempt: int = 0


Counters = Callable[[], Mapping[str, float]]
"""Gives what devices of this machine have used since some time, in joules, by the device."""


@dataclass(frozen=True)
class Ticket:
    """What tasks of one scan or training are recorded under, and how.

    Attributes
    ----------
    span : int
    device : str
    counters : callable, optional
        Read at the start and at the end of each task.
    run_id : str
        Log records of the tasks name it.
    """

    span: int
    device: str
    counters: Counters | None = None
    run_id: str = ""

    def record(self, kind: str, phase: str, item: Any = None) -> TaskRecording:
        """Return what measures a task; of an item with an index, a fragment or a rank, that is in the record.

        Parameters
        ----------
        kind : {"task", "merge", "rank"}
        phase : str
            What the task does as long as it says nothing else.
        item : object, optional
        """
        return TaskRecording(self, kind, getattr(item, "index", None), phase)


class TaskRecording:
    """Measures what is done inside, as one task; parameters are those of `Ticket.record`.

    Attributes
    ----------
    record : TaskRecord
        There after the end.
    """

    record: TaskRecord

    def __init__(self, ticket: Ticket, kind: str, fragment: int | None, phase: str) -> None:
        self._ticket, self._kind, self._fragment, self._phase = ticket, kind, fragment, phase

    def __enter__(self) -> TaskRecording:
        self._energy = self._counters()
        self._start, self._cpu = time.time(), time.process_time()
        of_run = {"run_id": self._ticket.run_id or None, "span": self._ticket.span}
        ids = {**of_run, "kind": self._kind, "fragment": self._fragment}
        self._meter = Meter(self._phase, ids={name: value for name, value in ids.items() if value is not None})
        self._meter.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._meter.__exit__()
        ended = self._counters()
        self.record = TaskRecord(
            span=self._ticket.span,
            kind=self._kind,
            fragment=self._fragment,
            host=host_name(),
            pid=os.getpid(),
            start=self._start,
            seconds=sum(self._meter.seconds.values()),
            phases=self._meter.seconds,
            counts=self._meter.counts,
            cpu=(self._cpu, time.process_time()),
            peak_memory=peak_memory(),
            device=self._ticket.device,
            energy={name: (self._energy[name], value) for name, value in ended.items() if name in self._energy},
            attempt=attempt_number(),
        )

    def _counters(self) -> Mapping[str, float]:
        return {} if self._ticket.counters is None else self._ticket.counters()


@dataclass
class Recorded(Generic[Value]):
    """A result, with the records of the tasks that it is made by."""

    value: Value
    records: list[TaskRecord] = field(default_factory=list)


@dataclass(frozen=True)
class RecordedTask:
    """Calls a task with an item, and merges what it gives for several.

    Parameters
    ----------
    task : callable
    ticket : Ticket
    combine : callable, optional
        Merges partial results, as `Scheduler.reduce` takes it.
    """

    task: Callable[[Any], Any]
    ticket: Ticket
    combine: Callable[[list[Any]], Any] | None = None

    def __call__(self, item: Any) -> Recorded[Any]:
        """Return the result with the record of the task."""
        with self.ticket.record("task", "compute", item) as recording:
            value = self.task(item)
        return Recorded(value, [recording.record])

    def merge(self, parts: list[Recorded[Any]]) -> Recorded[Any]:
        """Merge results, and return them with all records; the list is emptied."""
        assert self.combine is not None
        return _merge(self.combine, parts, self.ticket)


@dataclass(frozen=True)
class RecordedWork:
    """Recorded work with a result in parts, the record of a task with its first part."""

    work: Any
    ticket: Ticket

    @property
    def parts(self) -> int:
        """How many there are."""
        return int(self.work.parts)

    def __call__(self, item: Any) -> Sequence[Recorded[Any]]:
        """Return the parts of what one item gives."""
        with self.ticket.record("task", "compute", item) as recording:
            parts = [Recorded(part) for part in self.work(item)]
        parts[0].records.append(recording.record)
        return parts

    def merge(self, parts: list[Recorded[Any]]) -> Recorded[Any]:
        """Merge one part of several items; the list is emptied."""
        return _merge(self.work.merge, parts, self.ticket)

    def prune(self, part: Recorded[Any]) -> Recorded[Any]:
        """Return what is asked for of a part."""
        return Recorded(self.work.prune(part.value), part.records)


def _merge(combine: Callable[[list[Any]], Any], parts: list[Recorded[Any]], ticket: Ticket) -> Recorded[Any]:
    records = [record for part in parts for record in part.records]
    values = [part.value for part in parts]
    parts.clear()
    with ticket.record("merge", "merge") as recording:
        value = combine(values)
    return Recorded(value, [*records, recording.record])
