"""How good the head of a ranking is, by how long the head is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from markupsafe import Markup

from penstock.report.axes import FONT, HEIGHT, WIDTH, Panel, axes, panel
from penstock.report.figures import Figure, Metrics, small_numbers_of
from penstock.report.rows import CURVE_POINTS, Row, read_rows, thin
from penstock.report.scales import nice_domain
from penstock.report.svg import dot, drawing, join, line, words
from penstock.report.text import measure, show_number

_MARKED = 30
_KINDS = ("first", "second", "third")


def at_k(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return precision, recall and NDCG at each length of the list."""
    title = "Quality of the first k"
    names = ("precision", "recall", "ndcg")
    series = {name: thin(read_rows(table, ("k", name)), CURVE_POINTS) for name in names}
    known = [(name, rows) for name, rows in series.items() if rows]
    if not known:
        return [Figure(title)]
    caption = "Mean over the queries, by the length k of the list."
    drawn = drawing((WIDTH, HEIGHT), title, caption, _lines(known, "k"))
    return [Figure(title, caption, drawn, small_numbers_of(table))]


def _lines(series: Sequence[tuple[str, list[Row]]], x: str) -> list[Markup]:
    values = [row[name] for name, rows in series for row in rows]
    lengths = [row[x] for _, rows in series for row in rows]
    ends = min(lengths), max(max(lengths), min(lengths) + 1)
    square = panel(ends, nice_domain([0, 1, *values]))
    within = replace(square, x_steps=int(min(ends[1] - ends[0], 9)))  # a length is a whole number
    drawn = (_line(within, rows, (x, name), kind) for kind, (name, rows) in zip(_KINDS, series, strict=False))
    return [axes(within, x, "Value at k"), *drawn, _legend([name for name, _ in series])]


def _line(within: Panel, rows: Sequence[Row], columns: tuple[str, str], kind: str) -> Markup:
    x, name = columns
    dots = (
        dot(within.place((row[x], row[name])), 3.5, f"dot {kind}", f"{name} at {row[x]}: {show_number(row[name])}")
        for row in (rows if len(rows) <= _MARKED else [])
    )
    return within.curve(((row[x], row[name]) for row in rows), f"curve {kind}") + join(dots)


def _legend(names: Sequence[str]) -> Markup:
    """Return a sample of each line and its name, at the right of the line above the panel."""
    parts, right = [], WIDTH - 16
    for kind, name in reversed(list(zip(_KINDS, names, strict=False))):
        left = right - FONT * measure(name)
        parts += [words((left, 16), name, "key"), line((left - 26, 12), (left - 6, 12), f"curve {kind}")]
        right = left - 38
    return join(parts)
