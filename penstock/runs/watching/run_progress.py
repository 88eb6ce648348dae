"""What the events of a run say so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass
class SpanProgress:
    """A scan, a training or a step: how many tasks it has, and how many are done."""

    name: str
    kind: str
    start: float
    items: int
    seconds: float | None = None
    tasks: list[float] = field(default_factory=list)


@dataclass
class WorkerProgress:
    """What one worker has done: its tasks and rows, when it was first seen, and the seconds that it had any task."""

    since: float
    tasks: int = 0
    rows: int = 0
    busy: float = 0.0
    until: float = 0.0

    def take(self, start: float, seconds: float, rows: int) -> None:
        """Take a task; those of a worker come as they end, so that what one shares with those before counts once."""
        end = start + seconds
        self.since = min(self.since, start)
        self.busy += max(0.0, end - max(start, self.until))
        self.until = max(self.until, end)
        self.tasks, self.rows = self.tasks + 1, self.rows + rows


@dataclass
class RunProgress:
    """Takes events as `EventLog` writes them.

    Examples
    --------
    >>> progress = RunProgress()
    >>> progress.take({"spans": [[0, "scan 1 of 1", "scan", 100.0, 8]]})
    >>> progress.take({"done": {"scan 1 of 1": [2, 8]}})
    >>> progress.seconds_left(progress.spans[0], now=104.0)
    12.0
    """

    about: dict[str, Any] = field(default_factory=dict)
    spans: dict[int, SpanProgress] = field(default_factory=dict)
    workers: dict[str, WorkerProgress] = field(default_factory=dict)
    phases: Counter[str] = field(default_factory=Counter)
    done: dict[str, tuple[int, int]] = field(default_factory=dict)

    def take(self, event: Mapping[str, Any]) -> None:
        """Take one line; of a name that this version does not know nothing."""
        self.about |= event.get("run", {})
        for place, *values in event.get("spans", ()):
            self.spans[place] = SpanProgress(*values)
        for place, seconds in event.get("ends", ()):
            if place in self.spans:
                self.spans[place].seconds = seconds
        for task in event.get("tasks", ()):
            self._take_task(*task)
        self.done |= {label: (done, total) for label, (done, total) in event.get("done", {}).items()}

    def _take_task(
        self, span: int, worker: str, start: float, seconds: float, rows: int, phases: Mapping[str, float]
    ) -> None:
        if span in self.spans:
            self.spans[span].tasks.append(seconds)
        self.workers.setdefault(worker, WorkerProgress(start)).take(start, seconds, rows)
        self.phases.update(phases)

    def parts(self, span: SpanProgress) -> tuple[int, int]:
        """Return how much of a span is done, and how much there is: tasks of a scan, rounds of a training."""
        done, total = self.done.get(span.name, (0, span.items))
        if span.seconds is not None:
            return (span.items or total,) * 2
        return max(done, min(len(span.tasks), span.items)), total

    def seconds_left(self, span: SpanProgress, now: float) -> float | None:
        """Return how long a span will take as it went so far; None where nothing of it is done, or all.

        Of a scan whose tasks are known, that is their median for each that is left, divided by how many ran at once.
        """
        done, total = self.parts(span)
        if not 0 < done < total or span.seconds is not None:
            return None
        elapsed = now - span.start
        if len(span.tasks) < done:
            return elapsed / done * (total - done)
        at_once = max(1.0, sum(span.tasks) / elapsed) if elapsed > 0 else 1.0
        return median(span.tasks) * (total - done) / at_once
