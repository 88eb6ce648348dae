"""Two runs side by side: fields that differ, totals, phases, and spans of the same name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.core.recording import PHASES
from penstock.runs.analysis.process_time import process_time
from penstock.runs.analysis.slot_time import slot_times
from penstock.runs.analysis.span_time import phase_seconds
from penstock.runs.analysis.task_arrays import column
from penstock.runs.energy import run_energy
from penstock.runs.fields import flatten
from penstock.runs.run import Run

_COUNTS = ("rows_in", "rows_out", "bytes_in", "bytes_out")
_OF_EACH = frozenset(("format", "run_id", "started", "seconds", "spans", "energy", "machine.peak_memory"))
"""Differ anyway, or are among the totals."""


class Difference(NamedTuple):
    """A field of ``run.json`` that differs; None is what one of them lacks."""

    field: str
    one: Any
    other: Any


class Ratio(NamedTuple):
    """A number of both; None is what one of them lacks."""

    name: str
    one: float | None
    other: float | None

    @property
    def ratio(self) -> float | None:
        """The other as a multiple of the one, where both are known and not 0."""
        return self.other / self.one if self.one and self.other is not None else None


@dataclass(frozen=True)
class RunComparison:
    """Two runs side by side.

    Attributes
    ----------
    one, other : Run
    differences : list of Difference
        Configuration, versions, digests, metrics, inputs and all else by which the two differ, by dotted names.
    totals : list of Ratio
        Seconds, of tasks too, waits, rows, bytes, CPU seconds, memory, energy.
    phases : list of Ratio
        Seconds of tasks.
    spans : list of Ratio
        Seconds of scans, trainings and steps, those of one name together.
    """

    one: Run
    other: Run
    differences: list[Difference]
    totals: list[Ratio]
    phases: list[Ratio]
    spans: list[Ratio]


def compare(one: Run, other: Run) -> RunComparison:
    """Return two runs side by side.

    Examples
    --------
    >>> import penstock as ps
    >>> def run(seconds):
    ...     info = {"started": 0.0, "seconds": seconds, "spans": [], "configuration": {"rounds": seconds * 10}}
    ...     return ps.runs.Run(info, ps.runs.TASKS.empty_table())
    >>> both = compare(run(2.0), run(3.0))
    >>> both.totals[0].ratio, both.differences
    (1.5, [Difference(field='configuration.rounds', one=20.0, other=30.0)])
    """
    return RunComparison(
        one,
        other,
        differences=_differences(one, other),
        totals=_ratios(_totals(one), _totals(other)),
        phases=_ratios(phase_seconds(one), phase_seconds(other), PHASES),
        spans=_ratios(_span_seconds(one), _span_seconds(other)),
    )


def _differences(one: Run, other: Run) -> list[Difference]:
    left, right = (dict(flatten(run.info)) for run in (one, other))
    names = [name for name in dict.fromkeys((*left, *right)) if not _OF_EACH & {name, name.partition(".")[0]}]
    return [Difference(name, left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)]


def _ratios(one: Mapping[str, float], other: Mapping[str, float], order: Iterable[str] = ()) -> list[Ratio]:
    names = dict.fromkeys(name for name in (*order, *one, *other) if name in one or name in other)
    return [Ratio(name, one.get(name), other.get(name)) for name in names]


def _totals(run: Run) -> dict[str, float]:
    slots, process = slot_times(run), process_time(run)
    totals = {"seconds": run.seconds, "seconds of tasks": sum(each.busy for each in slots)}
    totals |= {"seconds of waits in scans": sum(each.wait for each in slots), "seconds in no span": process.outside}
    totals |= {"slots": len(slots), "tasks": run.tasks.num_rows}
    totals |= {name.replace("_", " "): int(column(run.tasks, name).sum()) for name in _COUNTS}
    totals["peak memory"] = int(column(run.tasks, "peak_memory").max(initial=0.0))
    totals["CPU seconds of tasks"] = float(column(run.tasks, "cpu_seconds").sum())
    if run.info.get("energy"):
        totals["joules"] = run_energy(run).total
    return totals


def _span_seconds(run: Run) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for span in run.spans:
        seconds[span.name] = seconds.get(span.name, 0.0) + (span.seconds or 0.0)
    return seconds
