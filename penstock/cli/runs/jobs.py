"""Records of runs: which there are, what one did, and how two differ."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from penstock.cli.runs.requests import CompareRunsRequest, ListRunsRequest, RunsRequest, ShowRunRequest
from penstock.cli.runs.results import CompareRunsResult, ListRunsResult, ShowRunResult
from penstock.core.errors import ConfigError, MissingInputError
from penstock.core.locations import is_url
from penstock.core.progress import Progress
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
