"""Results of jobs as people read them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

from rich.console import Console, Group
from rich.styled import Styled
from rich.table import Table

from penstock.cli.describing import DescribeResult
from penstock.cli.doctor import Diagnosis
from penstock.cli.drift import DriftResult
from penstock.cli.prediction_tables import show_predicted
from penstock.cli.projects.results import ListPipelinesResult, NewProjectResult
from penstock.cli.refitting import RefitResult
from penstock.cli.registry.results import DiffModelsResult, ListModelsResult, PromoteResult, ShowModelResult
from penstock.cli.results import (
    CheckResult,
    DatasetOutput,
    EtlRun,
    EvaluateResult,
    ExplainResult,
    FitResult,
    Metrics,
    ModelOutput,
    PlannedOutput,
    RunResult,
    Scored,
    ScoreResult,
    TrainResult,
    TuneResult,
)
from penstock.cli.serving import ServeResult
from penstock.core.redaction import visible
from penstock.dataset.description.text_table import aligned, text_table

_MOST_SLICES = 20
_MOST_METRICS = 3
_SHORT = len("sha256:") + 12
_STATUS_STYLES = {"passed": "green", "warned": "yellow", "quarantined": "yellow", "failed": "bold red"}


@singledispatch
def show(result: Any, console: Console) -> None:
    """Print the result of a job."""
    raise TypeError(f"there is no table for {type(result).__name__}")


@show.register
def _fit(result: FitResult, console: Console) -> None:
    _print_metrics(result, console)
    console.print(facts_table({**_trained(result), **_scored(result.scored), "report": result.report}))


@show.register
def _tune(result: TuneResult, console: Console) -> None:
    _print_metrics(result, console)
    best = {
        "best trial": f"{result.best_trial} of {result.trials}, {result.metric} {result.best_score:.6g}",
        **{f"  {address}": _assigned(value) for address, value in result.best_params.items()},
        "pruned": result.pruned or None,
        "failed": [f"trial {each['trial']}: {each['reason']}" for each in result.failed] or None,
    }
    outputs = {"study": result.study, "trials": result.table, "report": result.report}
    console.print(facts_table({**best, **_trained(result), **outputs}))


@show.register
def _evaluate(result: EvaluateResult, console: Console) -> None:
    _print_metrics(result, console)
    facts = {"seconds": result.seconds, "engine": f"{result.engine}, {result.device}", "digest": result.digest}
    console.print(facts_table({**facts, "model": result.model, "report": result.report}))


@show.register
def _score(result: ScoreResult, console: Console) -> None:
    if result.scored.check is not None:
        console.print(_outcomes(result.scored.check["outcomes"]))
    left_out = _left_out(result.scored.dropped, result.scored.quarantined)
    facts = {"rows": result.scored.rows, **left_out, "seconds": result.seconds, "model": result.model}
    if result.drift is not None:
        facts["drift"] = result.drift["alarms"] or "no alarm"
    console.print(facts_table({**facts, **_scored(result.scored)}))


def _outcomes(outcomes: Sequence[Mapping[str, Any]]) -> Table:
    table = headed_table("", "rule", "expected", fold="found")
    for each in outcomes:
        status = Styled(each["status"], _STATUS_STYLES[each["status"]])
        table.add_row(status, *(visible(each[name]) for name in ("rule", "expected", "message")))
    return table


@show.register
def _drift(result: DriftResult, console: Console) -> None:
    if result.columns:
        console.print(_drift_table(result.columns))
    facts: dict[str, Any] = {"alarms": list(result.alarms) or None, "alarm failed": result.alarm_error}
    facts |= {"rows": result.rows, "rows of the profile": result.reference_rows, "seconds": result.seconds}
    facts |= {"engine": f"{result.engine}, {result.device}", "digest": result.digest, "report": result.report}
    console.print(facts_table({**facts, "model": result.profile or result.model}))


def _drift_table(columns: Sequence[Mapping[str, Any]]) -> Table:
    """Return the columns, those with an alarm first, each with what is measured of it."""
    table = headed_table("", "column", "role", fold="by chance at most")
    for each in sorted(columns, key=lambda column: not column["drifted"])[:_MOST_SLICES]:
        status = Styled("drifted", "bold red") if each["drifted"] else Styled("as before", "green")
        measures = each["measures"].items()
        told = [f"{name} {found['value']:.4g} ({found['chance']:.4g})" for name, found in measures]
        table.add_row(status, visible(each["name"]), each["role"], ", ".join(told))
    if len(columns) > _MOST_SLICES:
        table.add_row("", f"and {len(columns) - _MOST_SLICES} more")
    return table


@show.register
def _explain(result: ExplainResult, console: Console) -> None:
    console.print(result.plan)
    if result.predicted is not None:
        show_predicted(result.predicted, console)


@show.register
def _check(result: CheckResult, console: Console) -> None:
    console.print(_outcomes(result.outcomes))
    facts = {"rows": result.rows, "seconds": result.seconds, "engine": f"{result.engine}, {result.device}"}
    console.print(facts_table({**facts, "rules": result.rules}))


@show.register
def _refit(result: RefitResult, console: Console) -> None:
    frozen = ", ".join(result.frozen) or None
    warm = ", ".join(result.warm_started) or None
    facts = {"new rows": result.rows, "frozen": frozen, "warm starts": warm, "seconds": result.seconds}
    facts |= {"digest": result.digest, "engine": f"{result.engine}, {result.device}", "model": result.model}
    console.print(facts_table(facts))


@show.register
def _describe(result: DescribeResult, console: Console) -> None:
    console.print(aligned(*text_table(result.columns)))
    if result.comparison is not None:
        right = result.comparison["right"]
        console.print(f"\nbeside {right['rows']:,} rows", style="bold")
        console.print(aligned(*text_table(right["columns"])))
        console.print(facts_table(_differences(result.comparison)))
    if result.warnings:
        console.print(_warnings(result.warnings))
    facts = {"rows": result.rows, "report": result.report, "seconds": result.seconds}
    console.print(facts_table({**facts, "engine": f"{result.engine}, {result.device}"}))


def _differences(comparison: Mapping[str, Any]) -> dict[str, str]:
    changes = comparison["type_changes"].items()
    told = {
        "only in the first": ", ".join(comparison["only_left"]),
        "only in the second": ", ".join(comparison["only_right"]),
        "other types": ", ".join(f"{name} {one} and {other}" for name, (one, other) in changes),
    }
    return {name: text for name, text in told.items() if text}


def _warnings(warnings: Sequence[Mapping[str, Any]]) -> Table:
    table = headed_table("warning", "columns", "found", fold="what to do")
    for each in warnings:
        name = Styled(each["name"], "yellow")
        table.add_row(name, visible(", ".join(each["columns"])), visible(each["message"]), each["advice"])
    return table


@show.register
def _run(result: RunResult, console: Console) -> None:
    for run in result.runs:
        console.print(_run_title(run, result), style="bold")
        console.print(_run_inputs(run))
        console.print(_run_outputs(run))
    console.print(facts_table({"seconds": result.seconds, "engine": f"{result.engine}, {result.device}"}))


def _run_title(run: EtlRun, result: RunResult) -> str:
    date = "" if run.date is None else f", {run.date}"
    planned = ": a dry run, nothing was written" if result.dry_run else ""
    return visible(f"{result.pipeline}{date}, run {run.run_id}{planned}")


def _run_inputs(run: EtlRun) -> Table:
    table = headed_table("input", "rows", "unparsed", "path")
    for name, each in run.inputs.items():
        unused = " (not used)" if name in run.unused_inputs else ""
        path = each.path[0] if len(each.path) == 1 else f"{each.path[0]} and {len(each.path) - 1} more"
        table.add_row(visible(name) + unused, f"{each.rows:,}", f"{each.unparsed:,}", visible(path))
    return table


def _run_outputs(run: EtlRun) -> Table:
    table = headed_table("output", "rows", "of read", "left out", fold="path")
    for name, each in run.outputs.items():
        rows, read, left_out, places = _output_cells(each)
        table.add_row(visible(name), rows, read, visible(left_out), "\n".join(map(visible, places)))
    return table


def _output_cells(output: DatasetOutput | ModelOutput | PlannedOutput) -> tuple[str, str, str, list[str]]:
    if isinstance(output, ModelOutput):
        return "-", f"{output.rows:,}", "", [output.path, output.digest]
    if isinstance(output, PlannedOutput):
        options, columns = (_listed(each) for each in (output.options, output.columns))
        lines = [f"{output.path}, where there is {output.replaces}", options, columns or output.kind]
        return "-", "-", "", [line for line in lines if line]
    aside = [] if output.quarantine is None else [f"set aside: {output.quarantine}"]
    left_out = _listed({**output.dropped, **output.quarantined, **output.nulled})
    there = {"replaced": output.rows_replaced, "unchanged": output.rows_unchanged}
    kept = _listed({f"rows {name}": f"{rows:,}" for name, rows in there.items() if rows})
    statuses = Counter(each["status"] for each in (output.check or {}).get("outcomes", ()))
    told = [kept, f"rules: {_listed(statuses)}" if statuses else ""]
    return f"{output.rows:,}", f"{output.rows_read:,}", left_out, [output.path, *aside, *filter(None, told)]


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items())


@show.register
def _promote(result: PromoteResult, console: Console) -> None:
    table = headed_table("metric", "challenger", "champion")
    for name, value in result.metrics.items():
        table.add_row(visible(name), _cell(value), _cell(result.champion_metrics.get(name)))
    console.print(table)
    title = "promoted" if result.promoted else "not promoted"
    facts = {title: result.reason, "rows": result.rows, "champion": result.champion, "replaced": result.replaced}
    engine = {"seconds": result.seconds, "engine": f"{result.engine}, {result.device}", "run": result.run_id}
    console.print(facts_table({**facts, "digest": result.digest, "model": result.model, **engine}))


@show.register
def _serve(result: ServeResult, console: Console) -> None:
    facts = {"served": result.model, "digest": result.digest, "at": result.url}
    console.print(facts_table({**facts, "requests": result.requests, "rows": result.rows}))


@show.register
def _new_project(result: NewProjectResult, console: Console) -> None:
    console.print(facts_table({"project": result.folder, "files": list(result.files), "next": list(result.next)}))


@show.register
def _list_pipelines(result: ListPipelinesResult, console: Console) -> None:
    table = headed_table("name", "kind", fold="summary")
    for each in result.pipelines:
        table.add_row(visible(each.name), each.kind, visible(each.summary))
    console.print(table)


@show.register
def _list_models(result: ListModelsResult, console: Console) -> None:
    names = list(dict.fromkeys(name for each in result.models for name in each["metrics"]))[:_MOST_METRICS]
    table = headed_table("version", "created", "aliases", *names, fold="source")
    for each in result.models:
        aliases = visible(", ".join(each["aliases"]))
        metrics = [_cell(each["metrics"].get(name)) for name in names]
        table.add_row(each["version"][:_SHORT], each["created_utc"], aliases, *metrics, visible(each["source"]))
    console.print(table)


@show.register
def _show_model(result: ShowModelResult, console: Console) -> None:
    facts = {"digest": result.digest, "manifest": result.manifest, "created": result.created_utc, "path": result.path}
    metrics = {name: _cell(value) for name, value in result.metrics.items()}
    registered = {"aliases": ", ".join(result.aliases) or None, "parent": result.parent, "metrics": metrics}
    console.print(facts_table({**facts, **registered, **result.lineage}))
    console.print(facts_table({f"stage {name}": _assigned(parameters) for name, parameters in result.stages.items()}))
    console.print(facts_table({"columns": result.columns, "libraries": result.versions}))
    for each in result.promotions:
        gain = "" if each["gain"] is None else f", a gain in {each['metric']} of {each['gain']:.6g}"
        console.print(visible(f"{each['alias']} since {each['since_utc']}{gain} (run {each['run_id']})"))


@show.register
def _diff_models(result: DiffModelsResult, console: Console) -> None:
    table = headed_table("", result.one, result.other)
    for each in result.differences:
        table.add_row(visible(each["what"]), *(visible(_cell(each[side])) for side in ("one", "other")))
    console.print(table)
    console.print("They learned the same." if result.same else "They learned different things.")


@show.register
def _doctor(result: Diagnosis, console: Console) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2))
    for finding in result.findings:
        mark = Styled("yes", "green") if finding.found else Styled("no", "yellow")
        remedy = [Styled(visible(finding.remedy), "bold")] if finding.remedy else []
        table.add_row(finding.name, mark, Group(visible(finding.detail), *remedy))
    console.print(table)
    console.print(f"Runs here: {', '.join(result.engines)}; on {', '.join(result.devices)}.")


def _print_metrics(result: Metrics, console: Console) -> None:
    if result.metrics:
        console.print(_metrics(result))
    for name, rows in result.slices.items():
        console.print(f"\nby {visible(name)}", style="bold")
        console.print(_slices(rows))


def _metrics(result: Metrics) -> Table:
    table = headed_table("metric", "value")
    for name, value in result.metrics.items():
        undefined = f"undefined: {result.undefined.get(name, 'no reason given')}"
        table.add_row(visible(name), visible(undefined) if value is None else f"{value:.6f}{_spread(result, name)}")
    return table


def _spread(result: Metrics, name: str) -> str:
    low, high = result.intervals.get(name, (None, None))
    interval = "" if low is None else f"  [{low:.6f}, {high:.6f}]"
    label = f"  of {result.labels[name]!r}" if name in result.labels else ""
    return interval + (f"  +-{result.bounds[name]:.2g}" if name in result.bounds else "") + label


def _slices(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the largest slices, and a line that says how many more there are."""
    names = list(rows[0]) if rows else []
    table = headed_table(*names)
    for row in rows[:_MOST_SLICES]:
        table.add_row(*(visible(_cell(value)) for value in row.values()))
    if len(rows) > _MOST_SLICES:
        table.add_row(f"and {len(rows) - _MOST_SLICES} more")
    return table


def _cell(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float) else "-" if value is None else f"{value}"


def headed_table(*heads: str, fold: str | None = None) -> Table:
    """Return a table without rows; `fold` is the head of a last column, whose lines break."""
    table = Table(*map(visible, heads), box=None, header_style="bold", padding=(0, 2))
    if fold is not None:
        table.add_column(fold, overflow="fold")
    return table


def facts_table(facts: Mapping[str, Any]) -> Table:
    """Return a table of names and values; those that are empty are left out."""
    table = Table(box=None, show_header=False, padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value not in (None, {}):
            table.add_row(visible(name), _shown(value))
    return table


def _assigned(value: Any) -> str:
    """Return a value as it is written behind ``--set name=``."""
    return value if isinstance(value, str) else json.dumps(value)


def _trained(result: TrainResult) -> dict[str, Any]:
    return {
        "rows": result.rows,
        **_left_out(result.dropped, result.quarantined),
        "scans": result.scans,
        "seconds": result.seconds,
        "  of which": result.seconds_of,
        "counts": result.counts or None,
        "notes": result.notes or None,
        "engine": f"{result.engine}, {result.device} ({result.device_reason})",
        "digest": result.digest,
        "model": result.model,
    }


def _left_out(dropped: Mapping[str, int], quarantined: Mapping[str, int]) -> dict[str, Any]:
    return {"dropped": dropped, "quarantined": quarantined}


def _scored(scored: Scored | None) -> dict[str, Any]:
    return {} if scored is None else {"scored rows": scored.path, "quarantine": scored.quarantine}


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{visible(name)}: {_shown(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(map(_shown, value))
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else visible(str(value))
