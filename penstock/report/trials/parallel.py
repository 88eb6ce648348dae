"""Every trial as a line through its parameters, ending at the metric it came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from penstock.report.axes import FONT
from penstock.report.figures import Figure
from penstock.report.svg import drawing, element, join, line, words
from penstock.report.text import measure, shorten, show_number
from penstock.report.trials.parameter_axes import LABEL_EMS, NumberAxis, ParameterAxis, axis_of
from penstock.report.trials.trial_rows import TrialRow, TrialRows, value_of

_WIDE, _TOP, _BOTTOM = 880.0, 40.0, 330.0
_MOST_AXES, _MOST_LINES = 7, 300
_STRONG, _FAINT = 0.75, 0.08


@dataclass(frozen=True)
class _Column:
    """An axis of the drawing: where it stands, its title, and its marks from 0 at the foot to 1."""

    x: float
    title: str
    marks: Sequence[tuple[float, str]]


def parallel(trials: TrialRows) -> Figure:
    """Return the lines, the better the stronger and the best one marked."""
    title = "Parallel coordinates"
    addresses, ranked = trials.searched[:_MOST_AXES], trials.ranked[:_MOST_LINES]
    if not addresses or len(ranked) < 2:
        return Figure(title)
    scales = [axis_of([row.params[each] for row in trials.rows if each in row.params]) for each in addresses]
    columns = _columns(trials, addresses, scales)
    lines = [_line(trials, row, addresses, scales, columns, place) for place, row in enumerate(ranked)]
    axes = [line((column.x, _TOP), (column.x, _BOTTOM), "base") for column in columns]
    body = [*axes, *reversed(lines), *map(_labels, columns)]
    return Figure(title, _caption(trials, addresses), drawing((_WIDE, 360), title, "", body), wide=True)


def _columns(trials: TrialRows, addresses: Sequence[str], scales: Sequence[ParameterAxis]) -> list[_Column]:
    room = (_WIDE - 10 - FONT * LABEL_EMS) / (len(addresses) + 0.5) - 18
    marks = [
        [(share, shorten(label, room / FONT)) for share, label in scale.marks]
        for scale in (*scales, NumberAxis(*trials.domain))
    ]
    titles = [shorten(each, room / FONT) for each in (*(trials.names[each] for each in addresses), trials.metric_name)]
    left = max(10 + FONT * max(measure(label) for _, label in marks[0]), FONT * measure(titles[0]) / 2)
    across = (_WIDE - 8 - FONT * measure(titles[-1]) / 2 - left) / len(addresses)
    return [_Column(left + place * across, *each) for place, each in enumerate(zip(titles, marks, strict=True))]


def _labels(column: _Column) -> Markup:
    head = words((column.x, _TOP - 18), column.title, "axis", "middle")
    marks = [
        line((column.x - 4, _down(share)), (column.x, _down(share)), "base")
        + words((column.x - 8, _down(share) + 4), label, "note", "end")
        for share, label in column.marks
    ]
    return join([head, *marks])


def _down(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)


def _line(
    trials: TrialRows,
    row: TrialRow,
    addresses: Sequence[str],
    scales: Sequence[ParameterAxis],
    columns: Sequence[_Column],
    place: int,
) -> Markup:
    """Return the line of a trial, parted where it lacks a parameter."""
    low, high = trials.domain
    shares = [
        scale.place(row.params[each]) if each in row.params else None
        for each, scale in zip(addresses, scales, strict=True)
    ]
    shares.append((trials.clip(value_of(row)) - low) / (high - low))
    drawn, pen = "", "M"
    for column, share in zip(columns, shares, strict=True):
        drawn += "" if share is None else f"{pen}{column.x:.1f} {_down(share):.1f}"
        pen = "M" if share is None else "L"
    count = min(len(trials.ranked), _MOST_LINES)
    strength = _FAINT + (_STRONG - _FAINT) * (1 - place / max(count - 1, 1)) ** 2
    look = {"class": "curve best"} if place == 0 else {"class": "curve thin first", "stroke-opacity": f"{strength:.2f}"}
    return element("path", {**look, "d": drawn}, element("title", {}, f"trial {row.number}: {show_number(row.value)}"))


def _caption(trials: TrialRows, addresses: Sequence[str]) -> str:
    best, more = trials.ranked[0], len(trials.searched) - len(addresses)
    of = f" The {len(addresses)} parameters that matter most, of {len(trials.searched)}." if more else ""
    few = f" The best {_MOST_LINES} of {len(trials.ranked):,} trials." if len(trials.ranked) > _MOST_LINES else ""
    strong = f"Each line is a trial: the better, the stronger. Trial {best.number}, the best, has {trials.metric_name}"
    return f"{strong} {show_number(best.value)}.{of}{few}{trials.edge_note}"
