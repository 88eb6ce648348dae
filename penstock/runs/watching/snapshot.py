"""A run as it is at one time: plain values, and how they look in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.runs.run import Run
from penstock.runs.watching.run_progress import RunProgress, SpanProgress, WorkerProgress

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
