"""The two curves of a binary classifier, one point for each threshold."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from markupsafe import Markup

from penstock.report.axes import FONT, HEIGHT, WIDTH, Panel, axes, panel
from penstock.report.figures import Figure, Metrics, small_numbers_of
from penstock.report.rows import CURVE_POINTS, Row, read_rows, thin
from penstock.report.scales import nice_domain
from penstock.report.svg import dot, drawing, join
from penstock.report.text import show_number, show_share

_TIPS = 24


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
