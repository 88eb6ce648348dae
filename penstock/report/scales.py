"""From values to places in a drawing, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from penstock.report.text import MINUS, show_compact

_LARGEST = 1e300


@dataclass(frozen=True)
class Scale:
    """A straight line from the values `low` to `high` to the places `start` to `end`.

    Examples
    --------
    >>> Scale(0.0, 2.0, 100.0, 0.0)(0.5)
    75.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def is_drawable(value: object) -> bool:
    """Return whether it is a number that can be drawn: finite, and so are differences of such.

    Examples
    --------
    >>> is_drawable(1), is_drawable(float("nan")), is_drawable(1e308), is_drawable("1")
    (True, False, False, False)
    """
    return isinstance(value, int | float) and abs(value) < _LARGEST


def nice_step(span: float, count: int = 5) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that divides `span` into at most `count` steps.

    Examples
    --------
    >>> nice_step(1.0), nice_step(730.0)
    (0.2, 200.0)
    """
    raw = span / count
    power = float(f"1e{math.floor(math.log10(raw))}")
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * (1 - 1e-9))


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return the multiples of a nice step from `low` to `high`, both included where they are such.

    Examples
    --------
    >>> ticks(0.0, 1.0), ticks(-3.0, 8.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 5.0])
    """
    step = nice_step(high - low, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]


def nice_domain(values: Iterable[float], *, count: int = 5) -> tuple[float, float]:
    """Return the range of the values, widened to whole nice steps; around a single value, or none, half of it.

    Examples
    --------
    >>> nice_domain([0.13, 7.2]), nice_domain([3.0]), nice_domain([])
    ((0.0, 8.0), (1.0, 5.0), (-1.0, 1.0))
    """
    known = list(values)
    low, high = min(known, default=0.0), max(known, default=0.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        margin = abs(low) / 2 or 1.0
        low, high = low - margin, high + margin
    step = nice_step(high - low, count)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def tick_labels(places: list[float]) -> list[str]:
    """Return the ticks in words, all with the same number of decimals.

    Examples
    --------
    >>> tick_labels([0.0, 0.5, 1.0]), tick_labels([0.0, 20000.0])
    (['0.0', '0.5', '1.0'], ['0', '20k'])
    """
    largest = max((abs(place) for place in places), default=0.0)
    step = min((right - left for left, right in pairwise(places)), default=largest or 1.0)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if largest >= 1e4 or decimals > 5:
        shown = ["0" if place == 0 else show_compact(place) if largest >= 1e4 else f"{place:.3g}" for place in places]
    else:
        shown = [f"{place:,.{decimals}f}" for place in places]
    return [each.replace("-", MINUS, 1) if each.startswith("-") else each for each in shown]
