"""Curves of the order in which a model puts rows: over thresholds, shares of the rows, and lengths of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from markupsafe import Markup

from penstock.report.figures import Figure, Metrics, small_numbers_of
from penstock.report.rows import CURVE_POINTS, Row, read_rows, thin
from penstock.report.scales import nice_domain
from penstock.report.svg import FONT, HEIGHT, WIDTH, Panel, axes, dot, drawing, join, line, panel, words
from penstock.report.text import measure, show_number, show_share

_TIPS = 24
_MARKED = 30
_KINDS = ("first", "second", "third")


def roc(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return the curve of true against false positives, over the diagonal of a score that knows nothing."""
    title = "ROC curve"
    rows = thin(read_rows(table, ("falsePositiveRate", "truePositiveRate"), ("threshold",)), CURVE_POINTS)
    if not rows:
        return [Figure(title)]
    within = _square(rows, "falsePositiveRate", "truePositiveRate")
    chance = within.rule((0, 0), (1, 1)) + within.along((0, 0), (1, 1), 0.62, "chance")
    curve = _curve(within, rows, "falsePositiveRate", "truePositiveRate")
    body = [axes(within, "False positive rate", "True positive rate"), chance, curve]
    caption = _area(metrics.get("areaUnderROC"))
    return [Figure(title, caption, drawing((WIDTH, HEIGHT), title, caption, body), small_numbers_of(table))]


def precision_recall(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return the curve of precision against recall, over the precision of calling every row positive."""
    title = "Precision and recall"
    rows = thin(read_rows(table, ("recall", "precision"), ("threshold",)), CURVE_POINTS)
    if not rows:
        return [Figure(title)]
    within = _square(rows, "recall", "precision")
    body = [axes(within, "Recall", "Precision"), _base_rate(within, rows), _curve(within, rows, "recall", "precision")]
    caption = _area(metrics.get("areaUnderPR"))
    return [Figure(title, caption, drawing((WIDTH, HEIGHT), title, caption, body), small_numbers_of(table))]


def _square(rows: Sequence[Row], x: str, y: str) -> Panel:
    return panel(nice_domain([0, 1, *(row[x] for row in rows)]), nice_domain([0, 1, *(row[y] for row in rows)]))


def _area(value: float | None) -> str:
    return "" if value is None else f"Area under the curve {show_number(value)}."


def _curve(within: Panel, rows: Sequence[Row], x: str, y: str) -> Markup:
    spots = (
        dot(
            within.place((row[x], row[y])),
            7,
            "spot",
            f"{_threshold(row)}{x} {show_number(row[x])}, {y} {show_number(row[y])}",
        )
        for row in thin(rows, _TIPS)
    )
    return within.curve(((row[x], row[y]) for row in rows), "curve first") + join(spots)


def _threshold(row: Row) -> str:
    return f"threshold {show_number(row['threshold'])}: " if isinstance(row["threshold"], int | float) else ""


def _base_rate(within: Panel, rows: Sequence[Row]) -> Markup:
    everything = [row["precision"] for row in rows if row["recall"] > 1 - 1e-9]
    if not everything:
        return Markup("")
    rate = min(everything)
    rule = within.rule((within.x.low, rate), (within.x.high, rate))
    beneath = rate > 0.12
    return rule + within.note((0.02, rate), f"base rate {show_share(rate)}", shift=(0, FONT + 3 if beneath else -6))


def gains(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return the share of positives found, and how many times more than by chance, by share of rows."""
    rows = read_rows(table, ("fraction", "gain"))
    lifts = read_rows(table, ("fraction", "lift"))
    return [_gains(rows, table) if rows else Figure("Gains"), _lift(lifts) if lifts else Figure("Lift")]


def _gains(rows: list[Row], table: pa.Table) -> Figure:
    points = [(0.0, 0.0), *((row["fraction"], row["gain"]) for row in rows)]
    within = panel(nice_domain([0, 1]), nice_domain([0, 1, *(row["gain"] for row in rows)]))
    chance = within.rule((0, 0), (1, 1)) + within.along((0, 0), (1, 1), 0.62, "any order")
    dots = (dot(within.place((row["fraction"], row["gain"])), 4, "dot first", _gain_tip(row)) for row in rows)
    body = [axes(within, "Share of the rows", "Share of the positives found"), chance]
    caption = f"{_gain_tip(rows[0])}."
    drawn = drawing((WIDTH, HEIGHT), "Gains", caption, [*body, within.curve(points, "curve first"), *dots])
    return Figure("Gains", caption, drawn, small_numbers_of(table))


def _gain_tip(row: Row) -> str:
    return f"{_head(row)} hold {show_share(row['gain'])} of the positives"


def _lift(rows: list[Row]) -> Figure:
    within = panel((0, 1), nice_domain([0, 1, *(row["lift"] for row in rows)]))
    even = within.rule((0, 1), (1, 1)) + within.note((0, 1), "any order", shift=(6, -5))
    curve = within.curve(((row["fraction"], row["lift"]) for row in rows), "curve first")
    dots = (dot(within.place((row["fraction"], row["lift"])), 4, "dot first", _lift_tip(row)) for row in rows)
    body = [axes(within, "Share of the rows", "Positives, relative to any order"), even, curve, *dots]
    caption = f"{_lift_tip(rows[0])}."
    return Figure("Lift", caption, drawing((WIDTH, HEIGHT), "Lift", caption, body))


def _lift_tip(row: Row) -> str:
    return (
        f"{_head(row)} hold {show_number(row['lift'], 2)} times as many positives as any {show_share(row['fraction'])}"
    )


def _head(row: Row) -> str:
    return f"The {show_share(row['fraction'])} of rows with the highest scores"


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
