"""The rectangle that a chart is drawn in: two scales, grid lines, ticks and titles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from penstock.report.scales import Scale, tick_labels, ticks
from penstock.report.svg import box, element, join, line, path, words
from penstock.report.text import measure

WIDTH, HEIGHT = 420.0, 340.0
FONT = 13.5
"""The size of the text where it is largest, on a narrow screen; rooms are measured for it."""

_TOP, _BOTTOM, _RIGHT = 32.0, 46.0, 16.0

Point = tuple[float, float]


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
