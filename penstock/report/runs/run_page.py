"""A run as one HTML page: what stands out, the timeline, phases, workers, tasks, lineage, and facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from penstock.core.recording import PHASES
from penstock.core.sizes import show_bytes
from penstock.dataset.description.histogram import Histogram
from penstock.report.descriptions.histograms import draw_histogram
from penstock.report.figures import Cell, Figure, Grid
from penstock.report.page import render_sections
from penstock.report.runs.coverage import Floats, coverage
from penstock.report.runs.phase_figures import phase_bars, phase_strip, process_bars, slot_table, span_table
from penstock.report.runs.timeline import timeline
from penstock.report.scales import nice_domain
from penstock.report.sections import sections_of
from penstock.report.svg import FONT, HEIGHT, WIDTH, axes, drawing, element, line, panel, words
from penstock.report.text import shorten, show_count, show_label, show_share
from penstock.runs.analysis import (
    SlotTime,
    find_notable,
    phase_seconds,
    process_time,
    slot_times,
    slowest_tasks,
    span_times,
)
from penstock.runs.analysis.task_arrays import TaskArrays, column, series
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


_WIDE, _LINE, _HEAD, _MIDDLE = 880.0, 40.0, 26.0, 150.0
_MOST, _LABEL_EMS = 10, 20.0


def lineage(run: Run) -> Figure:
    """Return inputs on the left, the run, and outputs on the right; of many the first ones."""
    inputs, outputs = run.info.get("inputs") or [], run.info.get("outputs") or []
    title = "From files to outputs"
    if not inputs and not outputs:
        return Figure(title, "The run has read no files and written none.", grid=Grid(("",), []))
    left, right = _listed(inputs, "inputs"), _listed(outputs, "outputs")
    height = _HEAD + _LINE * max(len(left), len(right), 1) + 6
    edge, (start, end) = FONT * _LABEL_EMS + 8, ((_WIDE - _MIDDLE) / 2, (_WIDE + _MIDDLE) / 2)
    middle = _HEAD + (height - _HEAD) / 2 - 4
    body = [words((edge, 14), "read", "key", "end"), words((_WIDE - edge, 14), "written", "key")]
    for place, (name, about) in enumerate(left):
        y = _HEAD + _LINE * (place + 0.5)
        body += [*_entry(edge, y, name, about, "end"), _link((edge + 8, y), (start, middle))]
    for place, (name, about) in enumerate(right):
        y = _HEAD + _LINE * (place + 0.5)
        body += [*_entry(_WIDE - edge, y, name, about, "start"), _link((end, middle), (_WIDE - edge - 8, y))]
    drawn = drawing(
        (_WIDE, height), title, f"{len(inputs)} inputs, {len(outputs)} outputs.", [*body, *_run(run, start, middle)]
    )
    return Figure(title, _caption(inputs, outputs), drawn, _numbers(inputs, outputs), wide=True)


def _run(run: Run, start: float, middle: float) -> Iterator[Markup]:
    look: dict[str, str | float] = {"class": "span scan", "x": start, "y": middle - 22, "width": _MIDDLE, "height": 44}
    yield element("rect", look)
    name = shorten(show_label(f"{run.kind} {run.name}".strip(), 60), _MIDDLE / FONT - 1)
    yield words((start + _MIDDLE / 2, middle - 3), name, "strong", "middle")
    yield words((start + _MIDDLE / 2, middle + 14), f"{run.seconds:,.2f} s", "inside", "middle")


def _entry(x: float, y: float, name: str, told: str, anchor: str) -> Iterator[Markup]:
    yield words((x, y - 2), name, "label", anchor)
    if told:
        yield words((x, y + 13), told, "note", anchor)


def _link(start: tuple[float, float], end: tuple[float, float]) -> Markup:
    (left, top), (right, bottom), half = start, end, (start[0] + end[0]) / 2
    bent = f"M{left:.1f} {top:.1f}C{half:.1f} {top:.1f} {half:.1f} {bottom:.1f} {right:.1f} {bottom:.1f}"
    return element("path", {"class": "link", "d": bent})


def _listed(files: Sequence[Mapping[str, Any]], what: str) -> list[tuple[str, str]]:
    """Return names and what is known of them, and a last line for those that are left out."""
    shown = [(_end_of(str(each.get("path"))), _told(each)) for each in files[:_MOST]]
    more = len(files) - len(shown)
    return [*shown, (f"and {more:,} more {what}", _told(_sum(files[_MOST:])))] if more else shown


def _end_of(path: str) -> str:
    """Return the end of a path, which says most."""
    return shorten(show_label(path, 500)[::-1], _LABEL_EMS)[::-1]


def _told(file: Mapping[str, Any]) -> str:
    size, rows, files = file.get("bytes", file.get("size")), file.get("rows"), file.get("files")
    told = [f"{show_count(rows)} rows" if rows is not None else "", show_bytes(size) if size is not None else ""]
    return ", ".join(filter(None, [*told, f"{show_count(files)} files" if files is not None else ""]))


def _sum(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sums = {name: [each[name] for each in files if each.get(name) is not None] for name in ("rows", "size", "bytes")}
    return {name: sum(values) for name, values in sums.items() if values}


def _caption(inputs: Sequence[Mapping[str, Any]], outputs: Sequence[Mapping[str, Any]]) -> str:
    parts = [f"{show_count(len(known))} {name}" for known, name in ((inputs, "inputs"), (outputs, "outputs"))]
    sizes = [show_bytes(sum(each.get("size") or 0 for each in inputs)), _told(_sum(outputs)) or "no rows"]
    return (
        "; ".join(f"{part}, {size}" for part, size in zip(parts, sizes, strict=True) if not part.startswith("0")) + "."
    )


def _numbers(inputs: Sequence[Mapping[str, Any]], outputs: Sequence[Mapping[str, Any]]) -> Grid:
    every = [("read", each) for each in inputs] + [("written", each) for each in outputs]
    rows = [[Cell(show_label(each.get("path"), 90)), Cell(side), Cell(_told(each))] for side, each in every[:100]]
    return Grid(("Path", "", "What there is"), rows, max(len(every) - 100, 0))


_BINS, _MOMENTS, _MOST_WORKERS, _SLOWEST = 40, 200, 8, 20
_UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "bytes"))


def slow_tasks(run: Run) -> Figure:
    """Return the tasks that took longest, with what they took it for."""
    rows = []
    for task in slowest_tasks(run, _SLOWEST):
        which = task["kind"] if task["fragment"] is None else f"{task['kind']} {task['fragment']}"
        numbers = [f"{task['seconds']:.3f}", f"{task['ratio']:.1f}", f"{task['wait']:.3f}"]
        numbers += [show_count(task["rows_in"]), show_bytes(task["bytes_in"]) if task["bytes_in"] else "-"]
        strip = phase_strip({phase: task[phase] for phase in PHASES if task[phase]})
        place = [Cell(which), Cell(f"{show_label(task['worker'], 24)}, {task['slot']}")]
        cells = [Cell(each, number=True) for each in numbers]
        rows.append([Cell(show_label(task["label"], 26)), *place, Cell("", bar=strip), *cells])
    names = (
        "Scan or training",
        "Task",
        "Slot",
        "Phases",
        "Seconds",
        "Times the median",
        "Waited",
        "Rows in",
        "Bytes in",
    )
    return Figure("Slowest tasks", grid=Grid(names, rows) if rows else None, wide=True)


def task_seconds(run: Run) -> Figure:
    """Return a histogram of the seconds of tasks, merges and ranks left out."""
    title = "Seconds of a task"
    seconds = column(run.tasks, "seconds")[(series(run.tasks, "kind") == "task").to_numpy()]
    longest = float(seconds.max(initial=0.0))
    if not longest:
        return Figure(title)
    counts, edges = np.histogram(seconds, min(_BINS, max(5, int(np.sqrt(seconds.size)))), (0.0, longest))
    histogram = Histogram(tuple(edges.tolist()), tuple(counts.tolist()), 0, 0)
    caption = f"Half of {show_count(seconds.size)} take {np.median(seconds):.3f} s or less."
    return Figure(title, caption, draw_histogram(title, histogram, "Tasks"))


def memory(run: Run) -> Figure:
    """Return the most memory that processes have had until each moment; of many those that had most."""
    title, tasks = "Memory of workers", TaskArrays.of(run)
    peaks = column(run.tasks, "peak_memory")
    if not peaks.max(initial=0.0):
        return Figure(title)
    names = list(dict.fromkeys(worker for worker, _ in tasks.slots))
    workers = np.asarray([names.index(worker) for worker, _ in tasks.slots])[tasks.slot]
    highest = np.argsort([-peaks[workers == place].max() for place in range(len(names))], kind="stable")[:_MOST_WORKERS]
    size, unit = next((size, unit) for size, unit in _UNITS if peaks.max() >= size)
    within = panel((0.0, run.seconds), nice_domain([0.0, float(peaks.max()) / size]))
    curves = [
        within.curve(_rising(tasks.end[workers == worker], peaks[workers == worker] / size, run), "curve thin first")
        for worker in highest
    ]
    body = [axes(within, "seconds", unit), *curves]
    few = f"; of {len(names):,} the {len(highest)} with most" if len(names) > _MOST_WORKERS else ""
    caption = f"The most that each process has had until then{few}. The most of any is {show_bytes(peaks.max())}."
    return Figure(title, caption, drawing((WIDTH, HEIGHT), title, f"{len(curves)} lines.", body))


def bytes_over_time(run: Run) -> Figure:
    """Return how many bytes a second tasks took in and wrote, spread evenly over each task."""
    title, tasks = "Bytes a second", TaskArrays.of(run)
    columns = {name: column(run.tasks, name) for name in ("bytes_in", "bytes_out")}
    if not run.seconds or not sum(each.sum() for each in columns.values()):
        return Figure(title)
    rates = {name: _rates(tasks, each, run.seconds) for name, each in columns.items()}
    highest = max(float(each.max()) for each in rates.values())
    size, unit = next((size, unit) for size, unit in _UNITS if highest >= size or size == 1)
    within = panel((0.0, run.seconds), nice_domain([0.0, highest / size]))
    at = (np.arange(_MOMENTS) + 0.5) * run.seconds / _MOMENTS
    body = [axes(within, "seconds", f"{unit} a second")]
    for told, kind, name, across in (("in", "first", "bytes_in", 300.0), ("out", "second", "bytes_out", 370.0)):
        body.append(within.curve(zip(at.tolist(), (rates[name] / size).tolist(), strict=True), f"curve {kind}"))
        body += [line((across - 28, 12), (across - 4, 12), f"curve {kind}"), words((across + 2, 16), told, "key")]
    total = " and ".join(f"{show_bytes(each.sum())} {name[6:]}" for name, each in columns.items())
    caption = f"In all {total}: rows in memory that tasks took in, and files that they wrote."
    return Figure(title, caption, drawing((WIDTH, HEIGHT), title, caption, body))


def _rates(tasks: TaskArrays, amount: Floats, seconds: float) -> Floats:
    scale = _MOMENTS / seconds
    weights = np.divide(amount, tasks.seconds, out=np.zeros_like(amount), where=tasks.seconds > 0)
    group = np.zeros(len(amount), dtype=np.int64)
    return coverage(tasks.start * scale, tasks.end * scale, group, 1, _MOMENTS, weights=weights)[0]


def _rising(ends: Floats, peaks: Floats, run: Run) -> Iterable[tuple[float, float]]:
    """Yield the points where a peak rises, and the end of the run."""
    order = np.argsort(ends)
    moments, reached = np.clip(ends[order], 0.0, run.seconds), np.maximum.accumulate(peaks[order])
    is_step = np.concatenate([[True], reached[1:] > reached[:-1] * 1.001])
    before = float(reached[0])
    for moment, peak in zip(moments[is_step].tolist(), reached[is_step].tolist(), strict=True):
        yield moment, before
        yield moment, peak
        before = peak
    yield run.seconds, float(reached[-1])
