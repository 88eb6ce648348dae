"""A run as one HTML page: what stands out, the timeline, phases, workers, tasks, lineage, and facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.core.sizes import show_bytes
from penstock.report.descriptions.description import sections_of
from penstock.report.figures import Cell, Figure, Grid
from penstock.report.page import render_sections
from penstock.report.runs.lineage import lineage
from penstock.report.runs.phase_figures import phase_bars, process_bars, slot_table, span_table
from penstock.report.runs.task_figures import bytes_over_time, memory, slow_tasks, task_seconds
from penstock.report.runs.timeline import timeline
from penstock.report.text import show_count, show_label, show_share
from penstock.runs.analysis import SlotTime, find_notable, phase_seconds, process_time, slot_times, span_times
from penstock.runs.analysis.task_arrays import column
from penstock.runs.energy import run_energy
from penstock.runs.fields import flatten
from penstock.runs.run import Run

_ELSEWHERE = frozenset(
    ("spans", "inputs", "outputs", "events", "format", "run_id", "kind", "name", "started", "seconds", "status")
)
_MOST_FACTS = 200
_JOULES_OF_WH = 3600.0


def render_run(run: Run, title: str | None, details: Mapping[str, Any]) -> str:
    """Return the page; `details` stand under the title."""
    slots = slot_times(run)
    parts = {
        "Summary": [_notable(run), _cost(run, slots)],
        "Timeline": [timeline(run)],
        "Phases": [phase_bars(phase_seconds(run)), process_bars(process_time(run)), span_table(span_times(run))],
        "Workers": [slot_table(slots), memory(run), bytes_over_time(run)],
        "Tasks": [slow_tasks(run), task_seconds(run)],
        "Lineage": [lineage(run)],
        "Facts": _facts(run),
    }
    named = title or run.name or run.id
    return render_sections("Run", sections_of(parts), title=named, details={**facts_of_run(run), **details})


def facts_of_run(run: Run) -> dict[str, Any]:
    """Return what stands under a title: what ran, when, how it ended, and where."""
    engine = run.info.get("engine") or {}
    known = {
        "Kind": run.kind,
        "Status": run.status,
        "Started": f"{run.started:%Y-%m-%d %H:%M:%S} UTC",
        "Seconds": f"{run.seconds:,.2f}",
        "Tasks": run.tasks.num_rows,
        "Engine": ", ".join(str(engine[name]) for name in ("name", "device") if engine.get(name)),
        "Run": run.id,
    }
    return {name: value for name, value in known.items() if value not in ("", None)}


def _notable(run: Run) -> Figure:
    rows = [
        [Cell(show_label(each.subject, 24)), Cell(show_label(each.text, 400), prose=True)] for each in find_notable(run)
    ]
    return Figure("What stands out", grid=Grid(("", ""), rows) if rows else None)


def _cost(run: Run, slots: list[SlotTime]) -> Figure:
    """Return what the run took of machines."""
    busy, wall = sum(each.busy for each in slots), sum(each.wall for each in slots)
    tasks = run.tasks
    costs = {
        "Seconds": f"{run.seconds:,.2f}",
        "Slots": show_count(len(slots)),
        "Seconds of slots": f"{wall:,.2f}",
        "Seconds of tasks": f"{busy:,.2f}, {show_share(busy / wall) if wall else '-'}",
        "CPU seconds of tasks": f"{column(tasks, 'cpu_seconds').sum():,.2f}",
        "Rows in": show_count(column(tasks, "rows_in").sum()),
        "Bytes in": show_bytes(column(tasks, "bytes_in").sum()),
        "Bytes written": show_bytes(column(tasks, "bytes_out").sum()),
        "Peak memory of a process": show_bytes(column(tasks, "peak_memory").max(initial=0.0)),
    }
    if run.info.get("energy"):
        energy = run_energy(run)
        costs[f"Energy, {energy.method}"] = f"{energy.total:,.0f} J, {energy.total / _JOULES_OF_WH:,.3f} Wh"
        costs["CO2"] = f"{energy.co2_grams:,.3f} g"
    rows = [[Cell(name), Cell(value, number=True)] for name, value in costs.items()]
    return Figure("What it cost", grid=Grid(("", ""), rows))


def _facts(run: Run) -> list[Figure]:
    """Return tables of what ``run.json`` has besides: configuration, engine, digests, metrics, versions and others."""
    figures = []
    for name, value in run.info.items():
        if name in _ELSEWHERE or value in (None, "", [], {}):
            continue
        rows = [
            [Cell(show_label(field, 40)), Cell(show_label(each, 80), prose=True)] for field, each in _lines(name, value)
        ]
        grid = Grid(("", ""), rows[:_MOST_FACTS], max(len(rows) - _MOST_FACTS, 0))
        figures.append(Figure(show_label(name).capitalize().replace("_", " "), grid=grid))
    return figures


def _lines(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return list(flatten(value))
    values = value if isinstance(value, list) else [value]
    return [(str(place), each) for place, each in enumerate(values, 1)]
