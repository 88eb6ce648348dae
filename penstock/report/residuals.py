"""Residuals of a regression, label less prediction: along the prediction, and how they spread."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa
from markupsafe import Markup

from penstock.report.axes import HEIGHT, WIDTH, Panel, axes, panel
from penstock.report.figures import Cell, Figure, Grid, Metrics, small_numbers_of
from penstock.report.rows import Row, read_rows
from penstock.report.scales import nice_domain
from penstock.report.svg import dot, drawing, join, line
from penstock.report.text import show_count, show_number, show_share

_LARGEST_DOT = 4.5


def residuals(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return mean and standard deviation of the residuals of each bin of the prediction."""
    title = "Residuals by prediction"
    bins = [row for row in read_rows(table, ("lower", "upper", "weight", "mean", "std")) if row["weight"] > 0]
    if not bins:
        return [Figure(title)]
    reach = [row["mean"] + sign * row["std"] for row in bins for sign in (-1, 1)]
    within = panel(nice_domain(row[name] for row in bins for name in ("lower", "upper")), nice_domain([0, *reach]))
    zero = within.rule((within.x.low, 0), (within.x.high, 0))
    caption = "Mean of label less prediction, one standard deviation to each side. The larger a dot, the more rows."
    body = [axes(within, "Prediction", "Residual"), zero, *_whiskers(within, bins)]
    return [Figure(title, caption, drawing((WIDTH, HEIGHT), title, caption, body), small_numbers_of(table))]


def residual_histogram(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return the weight of each bin of the residual; over bins of unequal width its density."""
    title = "Distribution of residuals"
    known = read_rows(table, ("lower", "upper", "weight"))
    bins = [row for row in known if row["weight"] >= 0 and row["upper"] > row["lower"]]
    if not bins:
        return [Figure(title)]
    widths = [row["upper"] - row["lower"] for row in bins]
    even = max(widths) - min(widths) <= 0.01 * max(widths)
    tall = [row["weight"] if even else row["weight"] / width for row, width in zip(bins, widths, strict=True)]
    within = panel(nice_domain(row[name] for row in bins for name in ("lower", "upper")), nice_domain([0, *tall]))
    bars = (
        within.bar((row["lower"], row["upper"]), height, _range_tip(row))
        for row, height in zip(bins, tall, strict=True)
    )
    zero = within.rule((0, 0), (0, within.y.high)) if within.x.low <= 0 <= within.x.high else Markup("")
    caption = f"Label less prediction; the weights sum to {show_count(sum(row['weight'] for row in bins))}."
    body = [axes(within, "Residual", "Weight" if even else "Weight by unit of residual"), *bars, zero]
    return [Figure(title, caption, drawing((WIDTH, HEIGHT), title, caption, body), small_numbers_of(table))]


def residual_quantiles(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return the quantiles of the residual as a table."""
    title = "Quantiles of residuals"
    rows = read_rows(table, ("quantile", "value"))
    if not rows:
        return [Figure(title)]
    shown = [[Cell(show_share(row["quantile"]), True), Cell(show_number(row["value"]), True)] for row in rows]
    caption = "The residual that a share of the rows does not exceed."
    return [Figure(title, caption, grid=Grid(("Share of the rows", "Residual"), shown))]


def _whiskers(within: Panel, bins: Sequence[Row]) -> list[Markup]:
    heaviest = max(row["weight"] for row in bins)
    return [_whisker(within, row, max(_LARGEST_DOT * math.sqrt(row["weight"] / heaviest), 1.5)) for row in bins]


def _whisker(within: Panel, row: Row, radius: float) -> Markup:
    x, mean, std = (row["lower"] + row["upper"]) / 2, row["mean"], row["std"]
    (across, low), (_, high) = within.place((x, mean - std)), within.place((x, mean + std))
    half = min(3.0, (within.x(row["upper"]) - within.x(row["lower"])) / 4)
    caps = (line((across - half, y), (across + half, y), "whisker") for y in (low, high))
    tip = (
        f"prediction {show_number(row['lower'])} to {show_number(row['upper'])}: mean {show_number(mean)},"
        f" standard deviation {show_number(std)}, weight {show_count(row['weight'])}"
    )
    spread = line((across, low), (across, high), "whisker")
    return join([spread, *caps, dot(within.place((x, mean)), radius, "dot first", tip)])


def _range_tip(row: Row) -> str:
    return f"{show_number(row['lower'])} to {show_number(row['upper'])}: weight {show_count(row['weight'])}"
