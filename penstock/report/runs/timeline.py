"""What each slot of a worker did when: a line for each, coloured by phase, above them the spans of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from penstock.core.recording import PHASES, Span
from penstock.report.figures import Figure
from penstock.report.runs.coverage import Floats, coverage
from penstock.report.scales import Scale, tick_labels, ticks
from penstock.report.svg import FONT, box, drawing, element, line, words
from penstock.report.text import measure, shorten, show_label
from penstock.runs.analysis.intervals import Intervals
from penstock.runs.analysis.task_arrays import TaskArrays, column
from penstock.runs.run import Run

_WIDE, _RIGHT, _KEYS, _ROW, _BAR = 880.0, 868.0, 30.0, 18.0, 13.0
_MOST_SLOTS, _MOST_TIPS, _MOST_SPANS = 40, 1500, 200
_LEVELS = 4
"""Heights that the bar of a moment may have, by how much of it was spent in tasks."""
_LABEL_EMS = 11.0


def timeline(run: Run) -> Figure:
    """Return the drawing: at most some thousands of marks, however many tasks there are."""
    title, tasks = "Timeline", TaskArrays.of(run)
    if not run.spans or not run.seconds:
        return Figure(title)
    rows = _thin(len(tasks.slots))
    labels = _labels([tasks.slots[each] for each in rows])
    left = 14 + FONT * max(map(measure, [*labels, "driver"]))
    time = Scale(0.0, run.seconds, left, _RIGHT)
    layout = _Layout(time, _KEYS + _ROW * (bool(_steps(run)) + bool(_work(run)) + 0.4))
    body = [*_keys(run), *_ticks(layout, len(rows)), *_rows_of_spans(run, time)]
    body += [_waiting(run, layout, len(rows)), *_slots(tasks, rows, layout), *_names(labels, layout)]
    if len(tasks.start) <= _MOST_TIPS:
        body += _tips(run, tasks, rows, layout)
    size = _WIDE, layout.top + _ROW * len(rows) + 44
    drawn = drawing(size, title, f"{len(rows)} slots over {run.seconds:.2f} seconds.", body)
    return Figure(title, _caption(len(tasks.slots), len(rows)), drawn, wide=True)


@dataclass(frozen=True)
class _Layout:
    """Where times stand across, and where the first slot stands."""

    time: Scale
    top: float

    def row(self, place: int) -> float:
        return self.top + _ROW * place


def _caption(slots: int, drawn: int) -> str:
    some = f" {drawn} of {slots:,} slots are drawn." if drawn < slots else ""
    said = "Each line is a slot of a worker, each colour the phase that takes most of a moment."
    said += " A lower bar is a moment that tasks fill in part."
    order = "Phases of a task are drawn in the order of the key: when each was is not recorded."
    return f"{said} {order}{some}"


def _thin(count: int) -> list[int]:
    """Return which slots are drawn: all, or some evenly over the workers."""
    if count <= _MOST_SLOTS:
        return list(range(count))
    return [round(each * (count - 1) / (_MOST_SLOTS - 1)) for each in range(_MOST_SLOTS)]


def _labels(slots: Sequence[tuple[str, int]]) -> list[str]:
    """Return the worker at the first of its slots, and nothing at the others; a name is cut at its start."""
    told, before = [], ""
    for worker, _ in slots:
        shown = show_label(worker, 200)
        told.append("" if worker == before else shorten(shown[::-1], _LABEL_EMS)[::-1])
        before = worker
    return told


def _keys(run: Run) -> Iterator[Markup]:
    """Yield a square and a name for each phase that there is, and for waiting."""
    present = [phase for phase in PHASES if np.any(column(run.tasks, phase) > 0)]
    across = 2.0
    for name, kind in [*((phase, f"phase {phase}") for phase in present), ("waiting", "phase waiting")]:
        yield element("rect", {"class": kind, "x": across, "y": 4, "width": 11, "height": 11})
        yield words((across + 16, 14), name, "key")
        across += 30 + FONT * measure(name)


def _ticks(layout: _Layout, rows: int) -> Iterator[Markup]:
    bottom = layout.row(rows) + 4
    places = ticks(0.0, layout.time.high, 8)
    for place, label in zip(places, tick_labels(places), strict=True):
        x = layout.time(place)
        yield line((x, _KEYS), (x, bottom), "grid") + words((x, bottom + 15), label, "tick", "middle")
    yield words((layout.time.end, bottom + 33), "seconds since the run began", "axis", "end")


def _steps(run: Run) -> list[Span]:
    return [span for span in run.spans if span.kind == "step"]


def _work(run: Run) -> list[Span]:
    return [span for span in run.spans if span.kind != "step"]


def _rows_of_spans(run: Run, time: Scale) -> Iterator[Markup]:
    """Yield one line with the steps of the driver, and one with what the engine did, named where there is room."""
    top = _KEYS
    for label, known in (("driver", _steps(run)), ("engine", _work(run))):
        if known:
            yield words((time.start - 12, top + _BAR - 2), label, "label", "end")
            yield from _boxes(run, time, known, top)
            top += _ROW


def _boxes(run: Run, time: Scale, spans: Sequence[Span], top: float) -> Iterator[Markup]:
    """Yield a box for each of the longest spans, the ones within others over them."""
    origin, longest = float(run.info["started"]), sorted(spans, key=lambda span: -(span.seconds or 0.0))
    for span in longest[:_MOST_SPANS]:
        left, width = time(span.start - origin), (span.seconds or 0.0) / time.high * (time.end - time.start)
        name = show_label(span.name, 60)
        yield box((left, top), (max(width, 0.5), _BAR + 2), f"span {span.kind}", f"{name}: {span.seconds:.3f} s")
    yield from _inner_names(run, time, longest[:_MOST_SPANS], top)


def _inner_names(run: Run, time: Scale, longest: Sequence[Span], top: float) -> Iterator[Markup]:
    """Yield names in boxes that have room for them, none over another."""
    origin, taken = float(run.info["started"]), Intervals.of([], [])
    for span in longest:
        left, width = time(span.start - origin) + 4, (span.seconds or 0.0) / time.high * (time.end - time.start) - 8
        name = shorten(show_label(span.name, 60), width / FONT) if width > 3 * FONT else ""
        end = left + FONT * measure(name)
        if len(name) > 2 and not taken.within([left], [end])[0]:
            yield words((left, top + _BAR - 2), name, "inside")
            taken = Intervals.of([*taken.starts, left], [*taken.ends, end])


def _waiting(run: Run, layout: _Layout, rows: int) -> Markup:
    """Return the time of scans and trainings as a faint band: where no task covers it, a slot waits."""
    time, bins = layout.time, int(layout.time.end - layout.time.start)
    work = Intervals.of_spans(run.spans, float(run.info["started"]), ("scan", "train"))
    scale = bins / time.high
    is_under_way = coverage(work.starts * scale, work.ends * scale, np.zeros(len(work.starts)), 1, bins)[0] >= 0.5
    edges = np.flatnonzero(np.diff(is_under_way, prepend=False, append=False)).reshape(-1, 2).tolist()
    marks = [
        _rectangle(time.start + start, layout.row(row) + _ROW - 2 - _BAR, end - start, _BAR)
        for start, end in edges
        for row in range(rows)
    ]
    return element("path", {"class": "phase waiting", "d": "".join(marks)}) if marks else Markup("")


def _slots(tasks: TaskArrays, rows: Sequence[int], layout: _Layout) -> Iterator[Markup]:
    """Yield one path for each phase, with a rectangle for each stretch of pixels in which it takes most time."""
    left, bins = layout.time.start, int(layout.time.end - layout.time.start)
    marks: dict[int, list[str]] = {}
    for row, covered in enumerate(_covered(tasks, rows, layout.time, bins)):
        for start, end, phase, level in _stretches(covered):
            height = _BAR * level / _LEVELS
            bottom = layout.row(row) + _ROW - 2
            marks.setdefault(phase, []).append(_rectangle(left + start, bottom - height, end - start, height))
    for phase, drawn in sorted(marks.items()):
        yield element("path", {"class": f"phase {PHASES[phase]}", "d": "".join(drawn)})


def _covered(tasks: TaskArrays, rows: Sequence[int], time: Scale, bins: int) -> Floats:
    """Return the share of each pixel that each phase takes, of the slots that are drawn: (rows, phases, pixels)."""
    row_of = np.full(len(tasks.slots), -1)
    row_of[list(rows)] = np.arange(len(rows))
    starts = tasks.start[:, None] + np.cumsum(tasks.phases, axis=1) - tasks.phases
    place, phase = np.nonzero((tasks.phases > 0) & (row_of[tasks.slot] >= 0)[:, None])
    begin, took = starts[place, phase], tasks.phases[place, phase]
    group = row_of[tasks.slot[place]] * len(PHASES) + phase
    scale = bins / time.high
    shares = coverage(begin * scale, (begin + took) * scale, group, len(rows) * len(PHASES), bins)
    return shares.reshape(len(rows), len(PHASES), bins)


def _stretches(covered: Floats) -> Iterator[tuple[int, int, int, int]]:
    """Yield start, end, phase and height of neighbouring pixels that look alike; pixels without a task are left out."""
    level = np.ceil(np.clip(covered.sum(axis=0), 0.0, 1.0) * _LEVELS - 1e-6).astype(int)
    look = np.where(level > 0, covered.argmax(axis=0) * (_LEVELS + 1) + level, 0)
    edges = np.flatnonzero(np.diff(look, prepend=-1, append=-1))
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if look[start]:
            yield start, end, int(look[start]) // (_LEVELS + 1), int(look[start]) % (_LEVELS + 1)


def _rectangle(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:.4g} {y:.4g}h{width:.4g}v{height:.4g}h{-width:.4g}z"


def _names(labels: Sequence[str], layout: _Layout) -> Iterator[Markup]:
    for row, label in enumerate(labels):
        if label:
            yield words((layout.time.start - 12, layout.row(row) + _BAR), label, "label", "end")


def _tips(run: Run, tasks: TaskArrays, rows: Sequence[int], layout: _Layout) -> list[Markup]:
    """Return over each task a box that cannot be seen, and says what it is to who points at it."""
    row_of, time = {slot: row for row, slot in enumerate(rows)}, layout.time
    scale = (time.end - time.start) / time.high
    labels, kinds, fragments = (run.tasks[name].to_pylist() for name in ("label", "kind", "fragment"))
    return [
        box(
            (time(at), layout.row(row_of[slot]) + _ROW - 2 - _BAR),
            (max(seconds * scale, 1.0), _BAR),
            "spot",
            _tip(show_label(labels[place], 40), kinds[place], fragments[place], tasks, place),
        )
        for place, (at, seconds, slot) in enumerate(
            zip(tasks.start.tolist(), tasks.seconds.tolist(), tasks.slot.tolist(), strict=True)
        )
        if slot in row_of
    ]


def _tip(label: str, kind: str, fragment: int | None, tasks: TaskArrays, place: int) -> str:
    which = kind if fragment is None else f"{kind} {fragment}"
    parts = [
        f"{phase} {seconds:.3f}"
        for phase, seconds in zip(PHASES, tasks.phases[place].tolist(), strict=True)
        if seconds >= 0.0005
    ]
    return f"{label}, {which}: {tasks.seconds[place]:.3f} s ({', '.join(parts)})"
