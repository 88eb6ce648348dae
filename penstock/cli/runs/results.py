"""What commands about runs say: plain values, and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.cli.tables import show
from penstock.core.redaction import visible
from penstock.core.sizes import show_bytes

_LONGEST = 20
_ID = 30


@dataclass(frozen=True, kw_only=True)
class ListRunsResult:
    """Runs of a folder.

    Attributes
    ----------
    folder : str
    columns : sequence of str
        Fields that are shown: the usual ones, and those that were asked for.
    runs : sequence of mapping
        What ``run.json`` of each has, without its spans.
    left_out : int
        Runs that are as asked for, beyond the limit.
    """

    folder: str
    columns: Sequence[str]
    runs: Sequence[Mapping[str, Any]]
    left_out: int


@dataclass(frozen=True, kw_only=True)
class ShowRunResult:
    """One run.

    Attributes
    ----------
    run : mapping
        What ``run.json`` has, without its spans.
    findings : sequence of mapping
        What stands out: ``subject`` and ``text``.
    phases : mapping of str to float
        Seconds of tasks.
    process : mapping
        Seconds of the driver: ``wall``, ``scan``, ``train``, ``query``, ``steps``, ``outside``.
    spans, slots : sequence of mapping
        What `SpanTime` and `SlotTime` have, with ``skew`` and with ``busy``, ``wait`` and ``explained``.
    slowest : sequence of mapping
        Tasks that took longest.
    cost : mapping or None
        What `RunCost` has, where types of machines were given.
    report, trace : str or None
        What was written.
    """

    run: Mapping[str, Any]
    tasks: int
    findings: Sequence[Mapping[str, str]]
    phases: Mapping[str, float]
    process: Mapping[str, Any]
    spans: Sequence[Mapping[str, Any]]
    slots: Sequence[Mapping[str, Any]]
    slowest: Sequence[Mapping[str, Any]]
    cost: Mapping[str, Any] | None
    report: str | None
    trace: str | None


@dataclass(frozen=True, kw_only=True)
class CompareRunsResult:
    """Two runs side by side, by their ids.

    Attributes
    ----------
    differences : sequence of mapping
        ``field``, ``one`` and ``other``; None is what one of them lacks.
    totals, phases, spans : sequence of mapping
        ``name``, ``one``, ``other`` and ``ratio``, the other as a multiple of the one.
    """

    one: str
    other: str
    differences: Sequence[Mapping[str, Any]]
    totals: Sequence[Mapping[str, Any]]
    phases: Sequence[Mapping[str, Any]]
    spans: Sequence[Mapping[str, Any]]


@show.register
def _list(result: ListRunsResult, console: Console) -> None:
    table = Table("run_id", box=None, header_style="bold", padding=(0, 1))
    table.columns[0].no_wrap, table.columns[0].min_width = True, _ID
    for column in result.columns[1:]:
        table.add_column(visible(column), overflow="fold")
    for run in result.runs:
        table.add_row(*(_cell(run["shown"].get(column)) for column in result.columns))
    console.print(table)
    if result.left_out:
        console.print(f"{result.left_out:,} more; --limit shows more of them.")


@show.register
def _show(result: ShowRunResult, console: Console) -> None:
    run = result.run
    console.print(visible(f"{run['kind']} {run['name']}, run {run['run_id']}: {run['status']}"), style="bold")
    facts = Table(box=None, show_header=False, padding=(0, 2))
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    for name, value in _facts(result).items():
        facts.add_row(visible(name), visible(value))
    console.print(facts)
    phases = _table("phase", "seconds of tasks", "share")
    total = sum(result.phases.values())
    for phase, seconds in result.phases.items():
        phases.add_row(phase, f"{seconds:,.3f}", f"{seconds / total:.1%}")
    if total:
        console.print(phases)
    if result.spans:
        console.print(_spans(result.spans))


def _facts(result: ShowRunResult) -> dict[str, str]:
    run, explained = result.run, [each["explained"] for each in result.slots]
    facts = {"started": run["started"], "seconds": f"{run['seconds']:,.2f}", "tasks": f"{result.tasks:,}"}
    if explained:
        facts["slots"] = f"{len(explained)}, of whose time at least {min(explained):.1%} is explained"
    facts |= {each["subject"]: each["text"] for each in result.findings}
    energy = run["energy"]
    facts["energy"] = f"{energy['joules']:,.0f} J, {energy['co2_grams']:,.3g} g of CO2, {energy['method']}"
    if result.cost is not None:
        facts["cost"] = f"{result.cost['cost']:,.4g}, of {result.cost['count']} x {result.cost['machine']}"
    written = {"report": result.report, "trace": result.trace}
    return {**facts, **{name: path for name, path in written.items() if path is not None}}


def _spans(spans: Sequence[Mapping[str, Any]]) -> Table:
    table = _table(
        "scan or training", "seconds", "tasks", "median", "slowest", "skew", "rows in", "bytes in", "bytes out"
    )
    longest = sorted(spans, key=lambda each: -each["seconds"])[:_LONGEST]
    for each in sorted(longest, key=lambda span: span["place"]):
        seconds = [f"{each[name]:.3f}" for name in ("median", "slowest")]
        sizes = [show_bytes(each[name]) if each[name] else "-" for name in ("bytes_in", "bytes_out")]
        counts = [f"{each['skew']:.1f}", f"{each['rows_in']:,}", *sizes]
        table.add_row(visible(each["name"]), f"{each['seconds']:.3f}", f"{each['tasks']:,}", *seconds, *counts)
    if len(spans) > _LONGEST:
        table.add_row(f"and {len(spans) - _LONGEST:,} shorter ones")
    return table


@show.register
def _compare(result: CompareRunsResult, console: Console) -> None:
    if result.differences:
        fields = _table("differs", result.one, result.other)
        for each in result.differences:
            fields.add_row(visible(each["field"]), _cell(each["one"]), _cell(each["other"]))
        console.print(fields)
    for title, rows in (("total", result.totals), ("phase", result.phases), ("span", result.spans)):
        table = _table(title, result.one, result.other, "ratio")
        for each in rows:
            ratio = "-" if each["ratio"] is None else f"{each['ratio']:.2f}"
            table.add_row(
                visible(each["name"]), *(_amount(each["name"], each[side]) for side in ("one", "other")), ratio
            )
        if rows:
            console.print(table)


def _table(*names: str) -> Table:
    return Table(*map(visible, names), box=None, header_style="bold", padding=(0, 2))


def _amount(name: str, value: float | None) -> str:
    if value is not None and name in ("bytes in", "bytes out", "peak memory"):
        return show_bytes(value)
    return _cell(value)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return visible(str(value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
