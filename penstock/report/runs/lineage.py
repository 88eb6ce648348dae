"""From the files that a run has read to what it has written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from penstock.core.sizes import show_bytes
from penstock.report.axes import FONT
from penstock.report.figures import Cell, Figure, Grid
from penstock.report.svg import drawing, element, words
from penstock.report.text import shorten, show_count, show_label
from penstock.runs.run import Run

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
