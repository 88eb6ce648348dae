"""What engines are given in place of tasks: the same, with a record beside each result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from penstock.core.recording.task_recording import TaskRecord, Ticket

Value = TypeVar("Value")


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
    """Does the same for work whose result is in parts: the record of a task is beside the first of them."""

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
