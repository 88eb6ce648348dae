"""The time of each scan and training, of its tasks by phase, and how far its slowest task is from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl

from penstock.core.recording import PHASES
from penstock.runs.analysis.intervals import Floats
from penstock.runs.analysis.task_arrays import TaskArrays, column, series
from penstock.runs.run import Run

_COUNTS = ("rows_in", "rows_out", "bytes_in", "bytes_out")


@dataclass(frozen=True)
class SpanTime:
    """A scan, a training or a query, and its tasks; queries have none in a record.

    Attributes
    ----------
    place : int
        Among the spans of the run.
    name, kind : str
    start, seconds : float
        Since the run began, and until its end.
    tasks : int
        Tasks and ranks, without merges.
    phases : mapping of str to float
        Seconds of tasks and merges, without those that are 0.
    median, slowest : float
        Seconds of a task or rank; 0 where there is none.
    wait : float
        Seconds that slots did nothing before a task.
    rows_in, rows_out, bytes_in, bytes_out : int
    """

    place: int
    name: str
    kind: str
    start: float
    seconds: float
    tasks: int
    phases: Mapping[str, float]
    median: float
    slowest: float
    wait: float
    rows_in: int
    rows_out: int
    bytes_in: int
    bytes_out: int

    @property
    def skew(self) -> float:
        """The slowest task as a multiple of the median; 1 where there is none."""
        return self.slowest / self.median if self.median else 1.0


def span_times(run: Run) -> list[SpanTime]:
    """Return scans, trainings and queries in the order in which they began; steps of the driver are none.

    Examples
    --------
    >>> import tempfile, penstock as ps, pyarrow as pa
    >>> rows = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1, 2, 3]}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ps.runs.record(folder) as recording:
    ...         frame = rows.to_polars()
    ...     run = ps.runs.Run.load(recording.path)
    >>> [(each.name, each.tasks, each.rows_in, each.skew) for each in span_times(run)]
    [('read', 1, 3, 1.0)]
    """
    tasks, count = TaskArrays.of(run), len(run.spans)
    phases = np.column_stack([_by_span(tasks, tasks.phases[:, place], count) for place in range(len(PHASES))])
    sums = {name: _by_span(tasks, column(run.tasks, name), count) for name in ("wait", *_COUNTS)}
    seconds = _task_seconds(run, tasks, count)
    return [
        SpanTime(
            place=place,
            name=span.name,
            kind=span.kind,
            start=span.start - float(run.info["started"]),
            seconds=span.seconds or 0.0,
            tasks=seconds[place].size,
            phases={name: float(each) for name, each in zip(PHASES, phases[place], strict=True) if each},
            median=_median(seconds[place]),
            slowest=float(seconds[place].max(initial=0.0)),
            wait=float(sums["wait"][place]),
            **{name: int(sums[name][place]) for name in _COUNTS},
        )
        for place, span in enumerate(run.spans)
        if span.kind != "step"
    ]


def phase_seconds(run: Run) -> dict[str, float]:
    """Return the seconds of all tasks by phase, in the order of `PHASES`, without those that are 0.

    Examples
    --------
    >>> import penstock as ps
    >>> phase_seconds(ps.runs.Run({"spans": []}, ps.runs.TASKS.empty_table()))
    {}
    """
    sums = {phase: float(column(run.tasks, phase).sum()) for phase in PHASES}
    return {phase: seconds for phase, seconds in sums.items() if seconds}


def slowest_tasks(run: Run, count: int = 10) -> list[dict[str, Any]]:
    """Return the tasks that took longest, the slowest first; merges and ranks are none.

    Parameters
    ----------
    run : Run
    count : int, default 10

    Returns
    -------
    list of dict
        The columns `TASKS` of each, and ``ratio``: its seconds as a multiple of the median of its span.

    Examples
    --------
    >>> import penstock as ps
    >>> slowest_tasks(ps.runs.Run({"spans": []}, ps.runs.TASKS.empty_table()))
    []
    """
    own = cast(pl.DataFrame, pl.from_arrow(run.tasks)).filter(pl.col("kind") == "task")
    ratio = pl.col("seconds") / pl.col("seconds").median().over("span")
    with_ratio = own.with_columns(ratio=pl.when(pl.col("seconds") > 0).then(ratio).otherwise(1.0))
    return with_ratio.sort("seconds", descending=True, maintain_order=True).head(count).to_dicts()


def _by_span(tasks: TaskArrays, values: Floats, count: int) -> Floats:
    return np.bincount(tasks.span, weights=values, minlength=count).astype(float)


def _task_seconds(run: Run, tasks: TaskArrays, count: int) -> list[Floats]:
    """Return by span the seconds of its tasks and ranks."""
    own = (series(run.tasks, "kind") != "merge").to_numpy()
    order = np.argsort(tasks.span[own], kind="stable")
    ends = np.searchsorted(tasks.span[own][order], np.arange(count + 1))
    seconds = tasks.seconds[own][order]
    return [seconds[ends[place] : ends[place + 1]] for place in range(count)]


def _median(seconds: Floats) -> float:
    return float(np.median(seconds)) if seconds.size else 0.0
