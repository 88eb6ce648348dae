"""Elements of SVG, escaped, and panels with axes for charts.

Every drawing has a title and a description for those who do not see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape

from penstock.report.scales import Scale, tick_labels, ticks
from penstock.report.text import measure

Attributes = Mapping[str, str | float]
WIDTH, HEIGHT = 420.0, 340.0
FONT = 13.5
"""The size of the text where it is largest, on a narrow screen; rooms are measured for it."""

_TOP, _BOTTOM, _RIGHT = 32.0, 46.0, 16.0

Point = tuple[float, float]


def element(name: str, attributes: Attributes, *children: str) -> Markup:
    """Return one element; children that are not Markup are text, and are escaped.

    Examples
    --------
    >>> element("text", {"x": 1.0, "y": 2.345}, "a < b")
    Markup('<text x="1" y="2.35">a &lt; b</text>')
    """
    shown = "".join(f' {key}="{escape(_value(value))}"' for key, value in attributes.items())
    if not children:
        return Markup(f"<{name}{shown}/>")
    return Markup(f"<{name}{shown}>{join(children)}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """Return the parts in one, escaping those that are not Markup.

    Examples
    --------
    >>> join(["<", Markup("<g/>")])
    Markup('&lt;<g/>')
    """
    return Markup("").join(parts)


def drawing(
    size: tuple[float, float], title: str, description: str, body: Iterable[str], kind: str = "chart"
) -> Markup:
    """Return a whole drawing that is as wide as its place, of the class `kind`.

    Examples
    --------
    >>> drawing((10, 5), "A line", "It is flat.", [])
    Markup('<svg class="chart" viewBox="0 0 10 5" role="img"><title>A line</title><desc>It is flat.</desc></svg>')
    """
    width, height = size
    named = element("title", {}, title), element("desc", {}, description)
    outer = {"class": kind, "viewBox": f"0 0 {_value(width)} {_value(height)}", "role": "img"}
    return element("svg", outer, *named, *body)


def line(start: tuple[float, float], end: tuple[float, float], kind: str) -> Markup:
    """Return a straight line of the class `kind`.

    Examples
    --------
    >>> line((0, 0), (1, 2), "grid")
    Markup('<line class="grid" x1="0" y1="0" x2="1" y2="2"/>')
    """
    return element("line", {"class": kind, "x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]})


def words(place: tuple[float, float], text: str, kind: str = "", anchor: str = "start") -> Markup:
    """Return text that starts, has its middle or ends at a place.

    Examples
    --------
    >>> words((1, 2), "a&b", "tick", "end")
    Markup('<text x="1" y="2" class="tick" text-anchor="end">a&amp;b</text>')
    """
    named = {"class": kind} if kind else {}
    turned = {"text-anchor": anchor} if anchor != "start" else {}
    return element("text", {"x": place[0], "y": place[1], **named, **turned}, text)


def path(points: Iterable[tuple[float, float]], kind: str) -> Markup:
    """Return a line through the points.

    Examples
    --------
    >>> path([(0, 0), (1, 2.5)], "curve")
    Markup('<path class="curve" d="M0 0L1 2.5"/>')
    """
    return element("path", {"class": kind, "d": "M" + "L".join(f"{_value(x)} {_value(y)}" for x, y in points)})


def box(
    place: tuple[float, float], size: tuple[float, float], kind: str, tip: str, opacity: float | None = None
) -> Markup:
    """Return a rectangle that tells `tip` to who points at it.

    Examples
    --------
    >>> box((0, 0), (4, 2), "bar", "two")
    Markup('<rect class="bar" x="0" y="0" width="4" height="2"><title>two</title></rect>')
    """
    shade: dict[str, float] = {} if opacity is None else {"fill-opacity": opacity}
    x, y, width, height = *place, *size
    where: Attributes = {"class": kind, "x": x, "y": y, "width": max(width, 0), "height": max(height, 0)}
    return element("rect", {**where, **shade}, element("title", {}, tip))


def dot(place: tuple[float, float], radius: float, kind: str, tip: str) -> Markup:
    """Return a circle that tells `tip` to who points at it.

    Examples
    --------
    >>> dot((1, 2), 3, "dot", "here")
    Markup('<circle class="dot" cx="1" cy="2" r="3"><title>here</title></circle>')
    """
    return element("circle", {"class": kind, "cx": place[0], "cy": place[1], "r": radius}, element("title", {}, tip))


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return value
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


@dataclass(frozen=True)
class Panel:
    """Where a chart is drawn; `x` grows to the right and `y` upwards; at most so many steps along each."""

    x: Scale
    y: Scale
    x_steps: int = 5
    y_steps: int = 5

    def place(self, point: Point) -> Point:
        """Return where a point of the data is in the drawing."""
        return self.x(point[0]), self.y(point[1])

    def curve(self, points: Iterable[Point], kind: str) -> Markup:
        """Return a line through points of the data."""
        return path((self.place(point) for point in points), kind)

    def rule(self, start: Point, end: Point, kind: str = "reference") -> Markup:
        """Return a straight line between two points of the data."""
        return line(self.place(start), self.place(end), kind)

    def bar(self, ends: Point, height: float, tip: str) -> Markup:
        """Return a bar from zero to a height over a range of x; a gap parts it from the next."""
        left, right = self.x(ends[0]), self.x(ends[1])
        gap = min(1.0, (right - left) / 8)
        place, size = (left + gap / 2, self.y(height)), (right - left - gap, self.y(0) - self.y(height))
        return box(place, size, "bar first", tip)

    def note(self, point: Point, text: str, anchor: str = "start", shift: Point = (0.0, 0.0)) -> Markup:
        """Return words at a point of the data, moved by `shift` in the drawing."""
        across, down = self.place(point)
        return words((across + shift[0], down + shift[1]), text, "note", anchor)

    def along(self, start: Point, end: Point, share: float, text: str, above: bool = False) -> Markup:
        """Return words at a share of the line between two points of the data, turned as it is, beneath or above it."""
        (left, bottom), (right, top) = self.place(start), self.place(end)
        x, y = left + share * (right - left), bottom + share * (top - bottom)
        shifted = element("tspan", {"dy": -6 if above else FONT + 1.5}, text)
        turned = f"rotate({math.degrees(math.atan2(top - bottom, right - left)):.1f} {x:.1f} {y:.1f})"
        return element("text", {"x": x, "y": y, "class": "note", "text-anchor": "middle", "transform": turned}, shifted)


def panel(
    x: tuple[float, float], y: tuple[float, float], *, bottom: float = HEIGHT - _BOTTOM, left: float = 0
) -> Panel:
    """Return the panel for a domain of x and one of y, with room for the labels of its ticks, `left` at least.

    Examples
    --------
    >>> panel((0, 1), (0, 1), bottom=132, left=104).place((0.5, 0.5))
    (254.0, 82.0)
    """
    over = FONT * max(measure(label) for label in tick_labels(ticks(*x))) / 2
    return Panel(Scale(*x, max(left, room(y)), WIDTH - max(_RIGHT, over)), Scale(*y, bottom, _TOP))


def room(y: tuple[float, float], count: int = 5) -> float:
    """Return how far from the left the panel for a domain of y begins, so that the labels of its ticks fit.

    Examples
    --------
    >>> room((0, 1)) < room((0, 1e9))
    True
    """
    return 14 + FONT * max(measure(label) for label in tick_labels(ticks(*y, count)))


def axes(within: Panel, x_title: str, y_title: str) -> Markup:
    """Return grid lines, ticks and titles of a panel; without a title of x its ticks are left out too.

    The title of y stands above its axis, where it is read without turning the head.
    """
    x, y = within.x, within.y
    across, upwards = ticks(x.low, x.high, within.x_steps), ticks(y.low, y.high, within.y_steps)
    rows = [_row(within, tick, label) for tick, label in zip(upwards, tick_labels(upwards), strict=True)]
    columns = [_column(within, tick, label, x_title) for tick, label in zip(across, tick_labels(across), strict=True)]
    titles = [words((2, y.end - 16), y_title, "axis")]
    if x_title:
        titles.append(words((x.end, y.start + 38), x_title, "axis", "end"))
    return join([*rows, *columns, line((x.start, y.start), (x.end, y.start), "base"), *titles])


def _row(within: Panel, tick: float, label: str) -> Markup:
    x, y = within.x, within.y(tick)
    return line((x.start, y), (x.end, y), "grid") + words((x.start - 8, y + 4), label, "tick", "end")


def _column(within: Panel, tick: float, label: str, title: str) -> Markup:
    x, y = within.x(tick), within.y
    mark = line((x, y.start), (x, y.start + 4), "base")
    return mark + words((x, y.start + 19), label, "tick", "middle") if title else mark
