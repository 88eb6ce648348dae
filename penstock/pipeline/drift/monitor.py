"""Rows compared with the profile of a model in the pass that writes them scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from penstock.dataset.gather_step import GatherStep
from penstock.pipeline.drift.alarm import Alarm, check_alarm, raise_alarm
from penstock.pipeline.drift.drift_limits import DriftLimits
from penstock.pipeline.drift.drift_report import DriftReport
from penstock.pipeline.drift.profile import Profile
from penstock.pipeline.drift.profiling import ColumnWatch, compare, rows_of
from penstock.statistics.base import State

DRIFT = "drift"
"""Under this name the result of a write has the report."""


@dataclass(frozen=True, kw_only=True)
class Monitor:
    """How rows are compared with the profile of a model while they are scored.

    Parameters
    ----------
    limits : DriftLimits, optional
    alarm : callable, str or sequence of str, optional
        Called with the report where there is an alarm; or the URL of a webhook, which gets the report as JSON by POST;
        or a command, which gets it on its stdin. What goes wrong with it is logged, and loses nothing.

    Examples
    --------
    >>> Monitor(limits=DriftLimits(level=0.001)).limits.level
    0.001
    """

    limits: DriftLimits = field(default_factory=DriftLimits)
    alarm: Alarm | None = None

    def __post_init__(self) -> None:
        check_alarm(self.alarm)


def monitor_steps(profile: Profile, watches: Sequence[ColumnWatch], monitor: Monitor) -> list[GatherStep]:
    """Return a step for each watch; the last of them concludes with the report."""
    judge = partial(_report, profile, watches, monitor)
    return [
        GatherStep(_name(watch, watches), watch.statistics, judge if watch is watches[-1] else None)
        for watch in watches
    ]


def _name(watch: ColumnWatch, watches: Sequence[ColumnWatch]) -> str:
    return DRIFT if watch is watches[-1] else f"{DRIFT} of {watch.role} columns"


def _report(
    profile: Profile, watches: Sequence[ColumnWatch], monitor: Monitor, states: Mapping[str, Sequence[State]]
) -> DriftReport | None:
    """Return the report; None where no rows were written."""
    current = {watch.role: watch.counted(states[_name(watch, watches)]) for watch in watches}
    if not rows_of(current):
        return None
    report = compare(profile, current, monitor.limits)
    raise_alarm(monitor.alarm, report)
    return report
