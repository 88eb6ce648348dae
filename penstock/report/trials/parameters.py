"""Parameters and the metric: the importance of each, each by itself, and all of them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from penstock.report.figures import Figure
from penstock.report.scales import Scale
from penstock.report.svg import FONT, HEIGHT, WIDTH, axes, box, dot, drawing, element, join, line, panel, words
from penstock.report.text import measure, shorten, show_label, show_number, show_share
from penstock.report.trials.parameter_axes import LABEL_EMS, LabelAxis, LogAxis, NumberAxis, ParameterAxis, axis_of
from penstock.report.trials.trial_rows import TrialRow, TrialRows, value_of

_LINE, _THICK, _LABEL_EMS, _MOST = 30.0, 14.0, 13.0, 10
_SPREAD = 0.5
"""Of the room of a label, the part over which its dots are spread, so that they do not hide each other."""
_WIDE, _TOP, _BOTTOM = 880.0, 40.0, 330.0
_MOST_AXES, _MOST_LINES = 7, 300
_STRONG, _FAINT = 0.75, 0.08


def importances(trials: TrialRows) -> Figure:
    """Return a bar for each parameter: its share of the variance of the metric."""
    title = "Importance of parameters"
    shares = sorted(trials.importances.items(), key=lambda pair: -pair[1])[:_MOST]
    names = [shorten(trials.names.get(address, show_label(address)), _LABEL_EMS) for address, _ in shares]
    left = 14 + FONT * max(map(measure, names))
    scale = Scale(0.0, max(shares[0][1], 1e-9), left, WIDTH - 14 - FONT * measure("100.0%"))
    body = []
    for place, ((address, share), name) in enumerate(zip(shares, names, strict=True)):
        middle = 8 + _LINE * (place + 0.5)
        tip = f"{show_label(address, 60)}: {show_share(share)}"
        body += [
            words((left - 12, middle + 4), name, "label", "end"),
            box((left, middle - _THICK / 2), (scale(share) - left, _THICK), "bar first", tip),
            words((scale(share) + 6, middle + 4), show_share(share), "value"),
        ]
    height = 16 + _LINE * len(shares)
    caption = f"Share of the variance of {trials.metric_name} that a parameter explains by itself: functional ANOVA."
    foot = line((left, 4), (left, height - 4), "base")
    return Figure(title, caption, drawing((WIDTH, height), title, caption, [*body, foot]))


def by_parameter(trials: TrialRows, address: str) -> Figure:
    """Return a dot for each trial that has the parameter, the best one marked."""
    name, rows = trials.names[address], [row for row in trials.valued if address in row.params]
    title = shorten(name, 40)
    if not rows:
        return Figure(title)
    axis = axis_of([row.params[address] for row in rows])
    within = replace(panel((0.0, 1.0), trials.domain), x_steps=1)
    best = trials.ranked[:1]
    drawn = sorted(rows, key=lambda row: row in best)
    dots = [_dot(trials, within.x, within.y, axis, row, address, best=row in best) for row in drawn]
    body = [axes(within, "", trials.metric_name), _ticks(within.x, within.y, axis), *dots]
    caption = f"{show_label(address, 60)}{', by its logarithm' if isinstance(axis, LogAxis) else ''}.{trials.edge_note}"
    return Figure(title, caption, drawing((WIDTH, HEIGHT), title, caption, body))


def _dot(
    trials: TrialRows, x: Scale, y: Scale, axis: ParameterAxis, row: TrialRow, address: str, *, best: bool
) -> Markup:
    share = axis.place(row.params[address]) or 0.0
    if isinstance(axis, LabelAxis):
        share += _SPREAD * ((row.number * 0.618034) % 1 - 0.5) / len(axis.labels)
    tip = f"trial {row.number}: {show_label(row.params[address], 24)}, {show_number(row.value)}"
    look = (5.0, "dot second") if best else (3.0, "dot first faint")
    return dot((x(share), y(trials.clip(value_of(row)))), *look, tip)


def _ticks(x: Scale, y: Scale, axis: ParameterAxis) -> Markup:
    each = (x.end - x.start) / max(len(axis.marks), 1)
    parts = [
        line((x(share), y.start), (x(share), y.start + 4), "base")
        + words((x(share), y.start + 19), shorten(label, each / 13.5), "tick", "middle")
        for share, label in axis.marks
    ]
    return join(parts)


@dataclass(frozen=True)
class _Column:
    """An axis of the drawing: where it stands, its title, and its marks from 0 at the foot to 1."""

    x: float
    title: str
    marks: Sequence[tuple[float, str]]


def parallel(trials: TrialRows) -> Figure:
    """Return a line for each trial through its parameters to its metric, the better the stronger, the best marked."""
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
