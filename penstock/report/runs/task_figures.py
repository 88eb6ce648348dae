"""Tasks by how long they took: the slowest ones, and how the others lie; memory and bytes over time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from penstock.core.recording import PHASES
from penstock.core.sizes import show_bytes
from penstock.dataset.description.histogram import Histogram
from penstock.report.axes import HEIGHT, WIDTH, axes, panel
from penstock.report.descriptions.histograms import draw_histogram
from penstock.report.figures import Cell, Figure, Grid
from penstock.report.runs.coverage import Floats, coverage
from penstock.report.runs.phase_figures import phase_strip
from penstock.report.scales import nice_domain
from penstock.report.svg import drawing, line, words
from penstock.report.text import show_count, show_label
from penstock.runs.analysis import slowest_tasks
from penstock.runs.analysis.task_arrays import TaskArrays, column, series
from penstock.runs.run import Run

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
    rates: Floats = coverage(tasks.start * scale, tasks.end * scale, group, 1, _MOMENTS, weights=weights)[0]
    return rates


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
