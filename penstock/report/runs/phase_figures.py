"""Where the time of tasks and of the driver went: by phase, by step, by scan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from penstock.core.recording import PHASES
from penstock.core.sizes import show_bytes
from penstock.report.descriptions.value_bars import BarRow, value_bars
from penstock.report.figures import Cell, Figure, Grid
from penstock.report.svg import drawing, element
from penstock.report.text import show_count, show_label, show_share
from penstock.runs.analysis import ProcessTime, SlotTime, SpanTime

_MOST_SPANS, _MOST_STEPS = 40, 12
_SHORTEST = 0.005
"""Seconds that are shown as more than zero."""
_BAR_WIDTH, _BAR_HEIGHT = 120.0, 16.0


def phase_bars(phases: Mapping[str, float]) -> Figure:
    """Return the seconds of tasks by phase."""
    title, total = "Time of tasks", sum(phases.values())
    if not total:
        return Figure(title)
    rows = [BarRow(phase, [seconds]) for phase, seconds in phases.items()]
    drawn = value_bars(title, rows, [""], show=lambda seconds: _with_share(seconds, total))
    return Figure(title, f"{total:,.2f} seconds of all tasks, by phase.", drawn)


def process_bars(process: ProcessTime) -> Figure:
    """Return the seconds of the driver: of scans, trainings, queries and its own steps, and what no span covers."""
    title = "Time of the driver"
    longest = sorted(process.steps.items(), key=lambda pair: -pair[1])
    parts = [("scans", process.scan), ("trainings", process.train), ("queries", process.query), *longest[:_MOST_STEPS]]
    parts += [("other steps", sum(seconds for _, seconds in longest[_MOST_STEPS:])), ("in no span", process.outside)]
    rows = [BarRow(show_label(name, 11), [seconds]) for name, seconds in parts if seconds >= _SHORTEST]
    caption = f"{process.wall:,.2f} seconds from start to end; steps without the scans in them."
    if not rows:
        return Figure(title)
    return Figure(title, caption, value_bars(title, rows, [""], show=lambda each: _with_share(each, process.wall)))


def span_table(spans: Sequence[SpanTime]) -> Figure:
    """Return a row for each scan and training, in their order; of many the longest."""
    longest = sorted(spans, key=lambda span: -span.seconds)[:_MOST_SPANS]
    rows = [_span_row(span) for span in sorted(longest, key=lambda span: span.place)]
    names = ("Scan or training", "Phases", "Seconds", "Tasks", "Median task", "Slowest", "Skew", "Rows in")
    grid = Grid((*names, "Bytes in", "Bytes out"), rows, len(spans) - len(rows)) if rows else None
    caption = "Skew is the slowest task as a multiple of the median one."
    return Figure("Scans and trainings", caption, grid=grid, wide=True)


def slot_table(slots: Sequence[SlotTime]) -> Figure:
    """Return a row for each slot: where its time went; of many those that explain least."""
    least = sorted(slots, key=lambda slot: slot.explained)[:_MOST_SPANS]
    rows = [_slot_row(slot) for slot in slots if slot in least]
    names = ("Slot", "Phases", "Tasks", "In tasks", "Waits: task", "Others", "Driver")
    grid = Grid((*names, "Not explained", "Explained", "Peak memory"), rows, len(slots) - len(rows)) if rows else None
    caption = (
        "Seconds of each slot from the start of the first span to the end of the last one: in tasks, and in waits for a"
        " task, for others to end theirs, for the driver."
    )
    return Figure("Slots of workers", caption, grid=grid, wide=True)


def phase_strip(phases: Mapping[str, float]) -> Markup:
    """Return the shares of phases as one small bar."""
    total = sum(phases.values())
    if not total:
        return Markup("")
    told = ", ".join(f"{phase} {show_share(seconds / total)}" for phase, seconds in phases.items())
    parts, across = [], 0.0
    for phase in PHASES:
        width = _BAR_WIDTH * phases.get(phase, 0.0) / total
        if width >= 0.05:
            parts.append(
                element("rect", {"class": f"phase {phase}", "x": across, "y": 3, "width": width, "height": 10})
            )
        across += width
    return drawing((_BAR_WIDTH, _BAR_HEIGHT), told, "", parts, "small")


def _span_row(span: SpanTime) -> list[Cell]:
    counts = [f"{span.seconds:.3f}", show_count(span.tasks), f"{span.median:.3f}", f"{span.slowest:.3f}"]
    numbers = [*counts, f"{span.skew:.1f}", show_count(span.rows_in), _bytes(span.bytes_in), _bytes(span.bytes_out)]
    return [Cell(show_label(span.name, 26)), Cell("", bar=phase_strip(span.phases)), *_numbers(numbers)]


def _slot_row(slot: SlotTime) -> list[Cell]:
    seconds = (slot.busy, slot.wait_for_task, slot.wait_for_others, slot.driver, slot.unexplained)
    numbers = [show_count(slot.tasks), *(f"{each:.3f}" for each in seconds), show_share(slot.explained)]
    name = f"{show_label(slot.worker, 24)}, {slot.slot}"
    return [Cell(name), Cell("", bar=phase_strip(slot.phases)), *_numbers([*numbers, _bytes(slot.peak_memory)])]


def _numbers(values: Sequence[str]) -> list[Cell]:
    return [Cell(value, number=True) for value in values]


def _bytes(count: int) -> str:
    return show_bytes(count) if count else "-"


def _with_share(seconds: float, total: float) -> str:
    return f"{seconds:,.2f} s, {show_share(seconds / total)}" if total else f"{seconds:,.2f} s"
