"""Whether probabilities come true, and how many rows have which."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa
from markupsafe import Markup

from penstock.report.axes import HEIGHT, WIDTH, Panel, Point, axes, panel, room
from penstock.report.figures import Figure, Metrics, small_numbers_of
from penstock.report.rows import Row, read_rows
from penstock.report.scales import Scale, nice_domain
from penstock.report.svg import box, dot, drawing
from penstock.report.text import show_count, show_number

_SPLIT, _TALL = 256.0, HEIGHT + 68
_WEIGHT_STEPS = 2
_LARGEST_DOT, _SMALLEST_DOT = 8.0, 2.5


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
