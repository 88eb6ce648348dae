"""Predictions against observations: calibration of probabilities, and residuals of a regression.

A residual is a label less its prediction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa
from markupsafe import Markup

from penstock.report.figures import Cell, Figure, Grid, Metrics, small_numbers_of
from penstock.report.rows import Row, read_rows
from penstock.report.scales import Scale, nice_domain
from penstock.report.svg import HEIGHT, WIDTH, Panel, Point, axes, box, dot, drawing, join, line, panel, room
from penstock.report.text import show_count, show_number, show_share

_SPLIT, _TALL = 256.0, HEIGHT + 68
_WEIGHT_STEPS = 2
_LARGEST_DOT, _SMALLEST_DOT = 8.0, 2.5
_LARGEST_MEAN = 4.5


def calibration(table: pa.Table, metrics: Metrics) -> list[Figure]:
    """Return the share of positives over the mean probability of each bin, and the weights of the bins beneath."""
    title = "Calibration"
    bins = [row for row in read_rows(table, ("lower", "upper", "weight", "predicted", "observed")) if row["weight"] > 0]
    if not bins:
        return [Figure(title)]
    caption = f"{_mean_gap(bins)} The larger a dot, the more rows it stands for."
    heights = nice_domain([0, *(row["weight"] for row in bins)], count=_WEIGHT_STEPS)
    shares = nice_domain([0, 1, *(row["observed"] for row in bins)])
    above = panel(_across(bins), shares, bottom=_SPLIT, left=room(heights, _WEIGHT_STEPS))
    beneath = Panel(above.x, Scale(*heights, _TALL - 46, _SPLIT + 52), y_steps=_WEIGHT_STEPS)
    drawn = drawing((WIDTH, _TALL), title, caption, [*_dots(above, bins), *_weights(beneath, bins)])
    return [Figure(title, caption, drawn, small_numbers_of(table))]


def _across(bins: Sequence[Row]) -> tuple[float, float]:
    return nice_domain([0, 1, *(row[name] for row in bins for name in ("lower", "upper", "predicted"))])


def _mean_gap(bins: Sequence[Row]) -> str:
    total = math.fsum(row["weight"] for row in bins)
    off = math.fsum(row["weight"] / total * abs(row["predicted"] - row["observed"]) for row in bins)
    return f"Predicted and observed are {show_number(off)} apart on average."


def _dots(within: Panel, bins: Sequence[Row]) -> list[Markup]:
    ideal = within.rule((0, 0), (1, 1)) + _ideal(within, bins)
    heaviest = max(row["weight"] for row in bins)
    curve = within.curve((_place(row) for row in bins), "curve first thin")
    radii = (max(_LARGEST_DOT * math.sqrt(row["weight"] / heaviest), _SMALLEST_DOT) for row in bins)
    spots = (
        dot(within.place(_place(row)), size, "dot first", _tip(row)) for row, size in zip(bins, radii, strict=True)
    )
    return [axes(within, "", "Share of positives"), ideal, curve, *spots]


def _ideal(within: Panel, bins: Sequence[Row]) -> Markup:
    """Return the name of the diagonal, on the side that the dots leave free, where they are furthest from it."""
    inner = [row for row in bins if 0.2 <= row["predicted"] <= 0.8] or bins[:1]
    far = max(inner, key=lambda row: abs(row["observed"] - row["predicted"]))
    share = min(max(far["predicted"], 0.2), 0.8)
    return within.along((0, 0), (1, 1), share, "ideal", above=far["observed"] < far["predicted"])


def _weights(within: Panel, bins: Sequence[Row]) -> list[Markup]:
    bars = (
        box(
            (within.x(row["lower"]) + 1, within.y(row["weight"])),
            (within.x(row["upper"]) - within.x(row["lower"]) - 2, within.y(0) - within.y(row["weight"])),
            "bar quiet",
            _tip(row),
        )
        for row in bins
    )
    return [axes(within, "Predicted probability", "Rows, by weight"), *bars]


def _place(row: Row) -> Point:
    return row["predicted"], row["observed"]


def _tip(row: Row) -> str:
    predicted, observed = show_number(row["predicted"]), show_number(row["observed"])
    return f"predicted {predicted}, observed {observed}, weight {show_count(row['weight'])}"


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
    return [_whisker(within, row, max(_LARGEST_MEAN * math.sqrt(row["weight"] / heaviest), 1.5)) for row in bins]


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
