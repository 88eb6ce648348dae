"""Values with a bar beside each: how often they occur, in one dataset or in two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from penstock.report.scales import Scale
from penstock.report.svg import FONT, WIDTH, box, drawing, join, line, words
from penstock.report.text import measure, show_share

_LINE, _HEAD, _THICK = 24.0, 30.0, 12.0


@dataclass(frozen=True)
class BarRow:
    """A line of bars: its name, and a number for each dataset; None where there is none."""

    name: str
    values: Sequence[float | None]


def value_bars(
    title: str,
    rows: Sequence[BarRow],
    heads: Sequence[str],
    *,
    show: Callable[[float], str] = show_share,
    high: float | None = None,
) -> Markup:
    """Return lines of bars, one column for each of `heads`.

    Parameters
    ----------
    show : callable, optional
        The words at the end of a bar; shares unless given.
    high : float, optional
        The value of a bar over the whole width; the largest there is unless given.
    """
    named = any(heads)
    top = _HEAD if named else 6.0
    known = [value for row in rows for value in row.values if value is not None]
    high = high or max(known, default=0.0) or 1.0
    left = 14 + FONT * max(measure(row.name) for row in rows)
    room = (WIDTH - left) / len(heads)
    titles = [words((left + place * room, 18), head, "key") for place, head in enumerate(heads)] if named else []
    body = []
    for index, row in enumerate(rows):
        middle = top + _LINE * (index + 0.5)
        bars = [
            _bar(row.name, value, (left + place * room, middle), room, high, show)
            for place, value in enumerate(row.values)
        ]
        body.append(join([words((left - 12, middle + 4), row.name, "label", "end"), *bars]))
    return drawing((WIDTH, top + _LINE * len(rows) + 4), title, f"{len(rows)} lines of bars.", [*titles, *body])


def _bar(
    name: str, value: float | None, place: tuple[float, float], room: float, high: float, show: Callable[[float], str]
) -> Markup:
    left, middle = place
    zero = line((left, middle - 9), (left, middle + 9), "base")
    if value is None:
        return zero + words((left + 6, middle + 4), "\u2013", "note")
    widest = FONT * max(measure(show(each)) for each in (value, high * 0.999))
    scale = Scale(0.0, high, left, max(left + room - 14 - widest, left + 12))
    end = scale(min(value, high))
    bar = box((left, middle - _THICK / 2), (end - left, _THICK), "bar first", f"{name}: {show(value)}")
    return join([bar, zero, words((end + 6, middle + 4), show(value), "value")])
