"""Histograms of columns: bars, or of two datasets bars and a line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from markupsafe import Markup

from penstock.dataset.description.histogram import Histogram
from penstock.report.figures import Cell, Grid
from penstock.report.scales import Scale, is_drawable, nice_domain
from penstock.report.svg import FONT, WIDTH, Panel, Point, axes, drawing, join, line, panel, words
from penstock.report.text import measure, show_count, show_number, show_share

_HEIGHT, _FOOT, _STEPS = 236.0, 30.0, 4
_EPOCH, _LONG = datetime(1970, 1, 1), 5 * 86_400.0


def can_draw(histogram: Histogram) -> bool:
    """Return whether the edges are numbers that a drawing can place."""
    return all(map(is_drawable, _numbers(histogram)))


def draw_histogram(title: str, histogram: Histogram, counted: str = "Rows") -> Markup:
    """Return the bars of a histogram, as counts of what is `counted`."""
    edges = _numbers(histogram)
    within = _panel(edges, histogram.counts, histogram)
    bars = [
        within.bar(ends, count, f"{_range(histogram, place)}: {show_count(count)}")
        for place, (ends, count) in enumerate(zip(pairwise(edges), histogram.counts, strict=True))
    ]
    return drawing((WIDTH, _HEIGHT), title, _told(histogram), [_axes(within, histogram, counted), *bars])


def draw_two(title: str, left: Histogram, right: Histogram) -> Markup:
    """Return two histograms in one drawing, the left as bars and the right as a line, each by its highest bar."""
    (first, heights), (second, others) = ((_numbers(each), _shape(each)) for each in (left, right))
    within = _panel([*first, *second], [1.0], left)
    bars = [
        within.bar(ends, height, f"{_range(left, place)}: {show_share(left.counts[place] / max(sum(left.counts), 1))}")
        for place, (ends, height) in enumerate(zip(pairwise(first), heights, strict=True))
    ]
    outline = within.curve(_steps(second, others), "curve second")
    body = [_axes(within, left, "Of the highest bar"), *bars, outline]
    return drawing((WIDTH, _HEIGHT), title, f"{_told(left)} {_told(right)}", body)


def histogram_numbers(histogram: Histogram) -> Grid:
    """Return the bars in words."""
    rows = [
        [Cell(_range(histogram, place)), Cell(show_count(count), True)] for place, count in enumerate(histogram.counts)
    ]
    return Grid(("Range", "Rows"), rows)


def left_out(histogram: Histogram) -> str:
    """Return in words what has no bar; nothing where all have."""
    outside = [(histogram.below, "before"), (histogram.above, "beyond")]
    told = [f"{show_count(count)} {side}" for count, side in outside if count]
    return f"Not drawn are {' and '.join(told)} the bars." if told else ""


def _numbers(histogram: Histogram) -> list[float]:
    return [_seconds(each) if isinstance(each, datetime) else float(each) for each in histogram.edges]


def _seconds(moment: datetime) -> float:
    return (moment - _EPOCH).total_seconds()


def _shape(histogram: Histogram) -> list[float]:
    highest = max(histogram.counts) or 1
    return [count / highest for count in histogram.counts]


def _panel(edges: Sequence[float], heights: Sequence[float], histogram: Histogram) -> Panel:
    upwards, domain = nice_domain([0, *heights], count=_STEPS), (min(edges), max(edges))
    if isinstance(histogram.edges[0], datetime):
        reach = FONT * max(map(measure, _dates(*domain).values())) / 2
        drawn = panel((0.0, 1.0), upwards, bottom=_HEIGHT - _FOOT, left=reach)
        return Panel(Scale(*domain, drawn.x.start, WIDTH - reach), drawn.y, y_steps=_STEPS)
    drawn = panel(domain, upwards, bottom=_HEIGHT - _FOOT)
    return Panel(drawn.x, drawn.y, y_steps=_STEPS)


def _axes(within: Panel, histogram: Histogram, title: str) -> Markup:
    if not isinstance(histogram.edges[0], datetime):
        return axes(within, " ", title)
    bare = Panel(Scale(0.0, 1.0, within.x.start, within.x.end), within.y, 1, _STEPS)
    marks = [_mark(within, seconds, date) for seconds, date in _dates(within.x.low, within.x.high).items()]
    return join([axes(bare, "", title), *marks])


def _mark(within: Panel, seconds: float, date: str) -> Markup:
    x, y = within.x(seconds), within.y.start
    return line((x, y), (x, y + 4), "base") + words((x, y + 19), date, "tick", "middle")


def _dates(low: float, high: float) -> dict[float, str]:
    """Return both ends and the middle of a range, in seconds, in words; days alone where it is long."""
    long = high - low > _LONG
    moments = {each: _EPOCH + timedelta(seconds=each) for each in (low, (low + high) / 2, high)}
    return {each: f"{moment:%Y-%m-%d}" if long else f"{moment:%Y-%m-%d %H:%M}" for each, moment in moments.items()}


def _steps(edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
    """Return the outline of bars."""
    inner = [point for (low, high), y in zip(pairwise(edges), heights, strict=True) for point in ((low, y), (high, y))]
    return [(edges[0], 0.0), *inner, (edges[-1], 0.0)]


def _range(histogram: Histogram, place: int) -> str:
    low, high = histogram.edges[place : place + 2]
    if isinstance(low, datetime):
        return f"{_when(low)} to {_when(high)}"
    return f"{show_number(low)} to {show_number(high)}"


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}" if moment.time() == datetime.min.time() else f"{moment:%Y-%m-%d %H:%M}"


def _told(histogram: Histogram) -> str:
    return f"{len(histogram.counts)} bars from {_range(histogram, 0).split(' to ')[0]} on."
