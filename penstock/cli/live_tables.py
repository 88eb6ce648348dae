"""Alarms of a run and a run under way, as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.styled import Styled

from penstock.cli.tables import headed_table, show
from penstock.core.redaction import visible
from penstock.runs.watching.display import render
from penstock.runs.watching.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True)
class AlarmsResult:
    """What became of alarms.

    Attributes
    ----------
    run_id : str
    passed : bool
        Whether none of severity error is raised.
    alarms : sequence of mapping
        As `AlarmResult.to_dict` has them.
    problems : sequence of str
        Why somebody could not be notified.
    """

    run_id: str
    passed: bool
    alarms: Sequence[Mapping[str, Any]]
    problems: Sequence[str]


_RAISED = {"error": "bold red", "warn": "yellow"}


@show.register
def _alarms(result: AlarmsResult, console: Console) -> None:
    table = headed_table("", "alarm", fold="found")
    for each in sorted(result.alarms, key=lambda alarm: not alarm["raised"]):
        status = Styled("alarm", _RAISED[each["severity"]]) if each["raised"] else Styled("none", "green")
        table.add_row(status, visible(each["name"]), visible(each["message"]))
    console.print(table)
    for problem in result.problems:
        console.print(visible(problem), style="yellow")


@show.register
def _watch(result: Snapshot, console: Console) -> None:
    console.print(render(result))
