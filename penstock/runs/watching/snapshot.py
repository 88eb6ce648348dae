"""State of a run by its events so far, and as plain values at one time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from penstock.runs.run import Run


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


_LAST_SPANS = 10


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What a run has done so far.

    Attributes
    ----------
    status : str
        ``"running"``; ``"done"`` or ``"failed"`` as its record says; ``"lost"`` if its process ended without one.
    seconds : float
        Since it began.
    seconds_left : float or None
        By what was predicted of it, until it has taken that; else what the scan or training under way will take; None
        where neither is known.
    spans : sequence of mapping
        The last scans, trainings and steps: name, kind, seconds, how much is done of how much, seconds left.
    workers : sequence of mapping
        Name, and of the time until its last task ended: tasks, rows a second, and the share in which it had a task.
    phases : mapping of str to float
        Share of each phase in the time of all tasks.
    """

    run_id: str
    kind: str
    name: str
    status: str
    seconds: float
    seconds_left: float | None = None
    spans: Sequence[Mapping[str, Any]] = ()
    workers: Sequence[Mapping[str, Any]] = ()
    phases: Mapping[str, float]

    @classmethod
    def of(cls, progress: RunProgress, now: float, run: Run | None = None, *, alive: bool = True) -> Snapshot:
        """Return what there is at a time, in seconds since 1970.

        Parameters
        ----------
        progress : RunProgress
        now : float
        run : Run, optional
            Its record, if it has ended.
        alive : bool
            Whether its process is there, as far as can be known.
        """
        about = progress.about if run is None else run.info
        status = run.status if run is not None else "running" if alive else "lost"
        began = float(about.get("started", now))
        seconds = now - began if run is None else run.seconds
        under_way = status == "running"
        total = sum(progress.phases.values())
        return cls(
            run_id=str(about.get("run_id", "")),
            kind=str(about.get("kind", "")),
            name=str(about.get("name", "")),
            status=status,
            seconds=seconds,
            seconds_left=_left(progress, seconds, now) if under_way else None,
            spans=[_span(progress, span, now) for span in list(progress.spans.values())[-_LAST_SPANS:]],
            workers=[_worker(name, each) for name, each in sorted(progress.workers.items())],
            phases={phase: spent / total for phase, spent in progress.phases.most_common() if spent},
        )


def _left(progress: RunProgress, seconds: float, now: float) -> float | None:
    predicted = progress.about.get("prediction", {}).get("seconds")
    if predicted is not None and predicted > seconds:
        return float(predicted) - seconds
    left = (progress.seconds_left(span, now) for span in reversed(progress.spans.values()))
    return next((each for each in left if each is not None), None)


def _span(progress: RunProgress, span: SpanProgress, now: float) -> dict[str, Any]:
    done, total = progress.parts(span)
    seconds = now - span.start if span.seconds is None else span.seconds
    left = progress.seconds_left(span, now)
    names = {"name": span.name, "kind": span.kind, "under_way": span.seconds is None}
    return {**names, "seconds": seconds, "done": done, "total": total, "seconds_left": left}


def _worker(name: str, worker: WorkerProgress) -> dict[str, Any]:
    there = worker.until - worker.since
    rate, busy = (worker.rows / there, worker.busy / there) if there > 0 else (0.0, 0.0)
    return {"name": name, "tasks": worker.tasks, "rows_per_second": rate, "busy": busy}
