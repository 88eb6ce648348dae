"""Bars side by side, one line for each label: no colour tells them apart, so none can be mistaken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from markupsafe import Markup

from penstock.report.figures import Figure, Metrics, small_numbers_of
from penstock.report.rows import BARS, Row, label_order, largest, read_rows
from penstock.report.scales import Scale
from penstock.report.svg import FONT, WIDTH, box, drawing, join, line, words
from penstock.report.text import measure, show_compact, show_label, show_number

_LINE, _HEAD, _THICK = 26.0, 34.0, 12.0
_LABEL_EMS = 9.0


@dataclass(frozen=True)
class Measure:
    """A column of bars: the column of the table, its range, and what stands above it."""

    column: str
    title: str
    low: float = 0.0
    high: float = 1.0
    count: bool = False

    def show(self, value: float) -> str:
        """Return the words at the end of a bar."""
        return show_compact(value) if self.count else show_number(value, 3)


def by_label(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return precision, recall and F of each label; of many labels the ones of most weight."""
    last = "fMeasure" if "fMeasure" in table.column_names else "f1Measure"
    measures = [Measure("precision", "precision"), Measure("recall", "recall"), Measure(last, last)]
    return [_bars(table, "By label", "label", measures)]


def clusters(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return the size and the mean silhouette of each cluster."""
    rows = read_rows(table, ("weight", "silhouette"))
    heaviest = max((row["weight"] for row in rows), default=0) or 1.0
    low = -1.0 if any(row["silhouette"] < 0 for row in rows) else 0.0
    measures = [Measure("weight", "weight", high=heaviest, count=True), Measure("silhouette", "silhouette", low)]
    return [_bars(table, "Clusters", "prediction", measures)]


def small_bar(value: float, overall: float | None, domain: tuple[float, float], tip: str) -> Markup:
    """Return a bar for a cell of a table, with a marker where the overall value is."""
    scale, (width, height) = Scale(*domain, 1, 119), (120.0, 16.0)
    start, end = sorted((scale(0), scale(value)))
    mark = [] if overall is None else [line((scale(overall), 0), (scale(overall), height), "marker")]
    body = [line((scale(0), 1), (scale(0), height - 1), "base"), box((start, 3), (end - start, 10), "bar first", tip)]
    return drawing((width, height), tip, "The line marks the value over all rows.", [*body, *mark], "small")


def _bars(table: pa.Table, title: str, label: str, measures: Sequence[Measure]) -> Figure:
    known = read_rows(table, ["weight"], [label, *(each.column for each in measures)])
    if not known:
        return Figure(title)
    kept = largest(sorted(known, key=lambda row: label_order(row[label])), lambda row: row["weight"], BARS)
    left_out = len(known) - len(kept)
    caption = f"The {len(kept)} of most weight; {left_out:,} more are not drawn." if left_out else ""
    size = WIDTH, _HEAD + _LINE * len(kept) + 6
    names = [show_label(row[label], _LABEL_EMS) for row in kept]
    drawn = drawing(size, title, f"{len(kept)} lines of bars.", _lines(kept, names, measures))
    return Figure(title, caption, drawn, small_numbers_of(table))


def _lines(rows: Sequence[Row], names: Sequence[str], measures: Sequence[Measure]) -> list[Markup]:
    left = 14 + FONT * max(measure(name) for name in names)
    each = (WIDTH - left) / len(measures)
    heads = [words((left + index * each, 18), what.title, "key") for index, what in enumerate(measures)]
    made = []
    for index, (row, name) in enumerate(zip(rows, names, strict=True)):
        middle = _HEAD + _LINE * (index + 0.5)
        bars = (_bar(row, name, what, (left + place * each, middle), each) for place, what in enumerate(measures))
        made.append(join([words((left - 12, middle + 4), name, "label", "end"), *bars]))
    return [*heads, *made]


def _bar(row: Row, name: str, what: Measure, place: tuple[float, float], room: float) -> Markup:
    left, middle = place
    value = row[what.column]
    if not isinstance(value, int | float) or value != value:
        return words((left, middle + 4), "undefined", "note")
    right = left + room - 14 - FONT * max(measure(what.show(end * 0.999)) for end in (what.low, what.high))
    scale = Scale(what.low, what.high, left, max(right, left + 12))
    start, end = sorted((scale(0), scale(min(max(value, what.low), what.high))))
    bar = box((start, middle - _THICK / 2), (end - start, _THICK), "bar first", f"{name}: {what.title} {value:.6g}")
    zero = line((scale(0), middle - 9), (scale(0), middle + 9), "base")
    return join([bar, zero, words((scale.end + 6, middle + 4), what.show(value), "value")])
