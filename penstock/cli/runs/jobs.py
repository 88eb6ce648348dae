"""Records of runs: which there are, what one did, and how two differ."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from penstock.cli.live_tables import AlarmsResult
from penstock.cli.runs.requests import AlarmsRequest, CompareRunsRequest, ListRunsRequest, RunsRequest, ShowRunRequest
from penstock.cli.tables import facts_table, headed_table, show
from penstock.core.errors import ConfigError, MissingInputError
from penstock.core.locations import is_url
from penstock.core.progress import Progress
from penstock.core.redaction import visible
from penstock.core.sizes import show_bytes
from penstock.runs.alarms import check_alarms, history_of, raise_alarms, read_alarms
from penstock.runs.analysis import (
    SlotTime,
    find_notable,
    phase_seconds,
    process_time,
    slot_times,
    slowest_tasks,
    span_times,
)
from penstock.runs.comparison import Ratio, compare
from penstock.runs.cost import run_cost
from penstock.runs.energy import run_energy
from penstock.runs.fields import FieldCondition, flatten, get_field, with_time
from penstock.runs.placement import read_machines
from penstock.runs.run import INFO, Run
from penstock.runs.run_store import RunStore
from penstock.runs.trace_events import write_chrome_trace

_COLUMNS = ("run_id", "kind", "name", "status", "started", "seconds", "rows", "engine.name")

Info = Mapping[str, Any]


def list_runs(request: ListRunsRequest, progress: Progress | None = None) -> ListRunsResult:
    """List the runs of a folder that meet all conditions; their tasks are not read.

    Raises
    ------
    ConfigError
        A condition is none, or no run has such a field.
    MissingInputError
        There are no runs.
    """
    conditions, descending = [FieldCondition.parse(each) for each in request.where], request.sort.startswith("-")
    folder, field = request.folder, request.sort.removeprefix("-")
    every = [_listed(info) for info in RunStore(folder).infos()]
    if not every:
        hint = "Commands leave their records in runs, beside the folder of pipelines; --runs names another folder."
        raise MissingInputError(f"{folder} has no records of runs", hint=hint, path=folder)
    asked = [*(each.field for each in conditions), field]
    for each in asked:
        _check_field(each, every)
    found = [info for info in every if all(each.holds(info) for each in conditions)]
    columns = list(dict.fromkeys((*_COLUMNS, *asked)))
    ordered = _sorted(found, field, descending)
    shown = [{**info, "shown": {name: get_field(info, name) for name in columns}} for info in ordered[: request.limit]]
    return ListRunsResult(folder=folder, columns=columns, runs=shown, left_out=len(found) - len(shown))


def show_run(request: ShowRunRequest, progress: Progress | None = None) -> ShowRunResult:
    """Say what a run did and where its time went; write its page and its trace.

    Raises
    ------
    MissingInputError, CorruptFileError
        There is no such run, or it cannot be read.
    OutputError
        The page or the trace cannot be written.
    """
    run = _with_energy(_find(request.run, request), request.intensity)
    cost = None if request.machines is None else run_cost(run, read_machines(request.machines), request.machine)
    details = {} if cost is None else {"Cost": f"{cost.cost:,.4g}, of {cost.count} x {cost.machine}"}
    report = None if request.report is None else str(run.write_report(request.report, details=details))
    trace = None if request.trace is None else str(write_chrome_trace(run, request.trace))
    process = process_time(run)
    return ShowRunResult(
        run={name: value for name, value in with_time(run.info).items() if name != "spans"},
        tasks=run.tasks.num_rows,
        findings=[each._asdict() for each in find_notable(run)],
        phases=phase_seconds(run),
        process={**asdict(process), "explained": process.explained},
        spans=[{**asdict(each), "skew": each.skew} for each in span_times(run)],
        slots=[_slot(each) for each in slot_times(run)],
        slowest=[{**each, "start": each["start"].isoformat()} for each in slowest_tasks(run)],
        cost=None if cost is None else asdict(cost),
        report=report,
        trace=trace,
    )


def _with_energy(run: Run, intensity: float | None) -> Run:
    """Return a run with its energy, which makes so many grams of CO2 a kWh, or as many as its record says."""
    energy = run_energy(run, intensity=intensity).to_dict()
    return replace(run, info={**run.info, "energy": energy})


def compare_runs(request: CompareRunsRequest, progress: Progress | None = None) -> CompareRunsResult:
    """Say by which fields two runs differ, and how their times compare.

    Raises
    ------
    MissingInputError, CorruptFileError
        There is no such run, or it cannot be read.
    """
    one, other = (_find(each, request) for each in (request.one, request.other))
    both = compare(one, other)
    return CompareRunsResult(
        one=one.id,
        other=other.id,
        differences=[each._asdict() for each in both.differences],
        totals=_plain(both.totals),
        phases=_plain(both.phases),
        spans=_plain(both.spans),
    )


def check_run(request: AlarmsRequest, progress: Progress | None = None) -> AlarmsResult:
    """Check a run by the alarms of a file, and tell of those that are raised.

    Raises
    ------
    ConfigError
        The file is none of alarms.
    MissingInputError
        There is no such run.
    """
    store = RunStore(request.folder)
    run, alarms = store.get(request.run), read_alarms(request.alarms)
    results = check_alarms(run, alarms, history_of(run, alarms, store))
    problems = raise_alarms(results, run, f"{store.location}/{run.id}")
    passed = not any(each.raised and each.alarm.severity == "error" for each in results)
    return AlarmsResult(run_id=run.id, passed=passed, alarms=[each.to_dict() for each in results], problems=problems)


def _slot(slot: SlotTime) -> dict[str, Any]:
    sums = {name: getattr(slot, name) for name in ("busy", "wait", "unexplained", "explained")}
    return {**asdict(slot), **sums}


def _plain(ratios: Sequence[Ratio]) -> list[dict[str, Any]]:
    return [{**each._asdict(), "ratio": each.ratio} for each in ratios]


def _find(run: str, request: RunsRequest) -> Run:
    """Return the run of a directory or URL, or of an id in the folder of runs."""
    if is_url(run) or (Path(run) / INFO).is_file():
        return Run.load(run)
    return RunStore(request.folder).get(run)


def _listed(info: Info) -> dict[str, Any]:
    """Return what is listed of a run: without its spans, with the rows that it learned from or has read."""
    read = [each["rows"] for each in info.get("inputs") or [] if isinstance(each.get("rows"), int)]
    rows = info.get("rows", sum(read) if read else None)
    return {**{name: value for name, value in with_time(info).items() if name != "spans"}, "rows": rows}


def _check_field(field: str, infos: Sequence[Info]) -> None:
    """Refuse a field that no run has, as one that is misspelt would leave out all of them."""
    if field in _COLUMNS or any(get_field(info, field) is not None for info in infos):
        return
    known = dict.fromkeys(name for info in infos for name, _ in flatten(info))
    close = difflib.get_close_matches(field, known, 3) or list(known)[:8]
    raise ConfigError(f"no run has the field {field!r}", hint=f"There are fields such as {', '.join(close)}.")


def _sorted(infos: Sequence[Info], field: str, descending: bool) -> list[Info]:
    """Return runs by a field, numbers before texts, those without it last; equal ones by their ids."""
    known = [info for info in infos if get_field(info, field) is not None]
    by_id = sorted(known, key=lambda info: str(info["run_id"]), reverse=descending)
    ordered = sorted(by_id, key=lambda info: _rank(get_field(info, field)), reverse=descending)
    return [*ordered, *(info for info in infos if get_field(info, field) is None)]


def _rank(value: Any) -> tuple[bool, Any]:
    is_number = isinstance(value, int | float)
    return not is_number, value if is_number else str(value)


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
    console.print(facts_table(_facts(result)))
    phases = headed_table("phase", "seconds of tasks", "share")
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
    table = headed_table(
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
        fields = headed_table("differs", result.one, result.other)
        for each in result.differences:
            fields.add_row(visible(each["field"]), _cell(each["one"]), _cell(each["other"]))
        console.print(fields)
    for title, rows in (("total", result.totals), ("phase", result.phases), ("span", result.spans)):
        table = headed_table(title, result.one, result.other, "ratio")
        for each in rows:
            ratio = "-" if each["ratio"] is None else f"{each['ratio']:.2f}"
            table.add_row(
                visible(each["name"]), *(_amount(each["name"], each[side]) for side in ("one", "other")), ratio
            )
        if rows:
            console.print(table)


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
