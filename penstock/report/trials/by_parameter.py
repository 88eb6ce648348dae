"""The metric against each parameter by itself."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from penstock.report.axes import HEIGHT, WIDTH, axes, panel
from penstock.report.figures import Figure
from penstock.report.scales import Scale
from penstock.report.svg import dot, drawing, join, line, words
from penstock.report.text import shorten, show_label, show_number
from penstock.report.trials.parameter_axes import LabelAxis, LogAxis, ParameterAxis, axis_of
from penstock.report.trials.trial_rows import TrialRow, TrialRows, value_of

_SPREAD = 0.5
"""Of the room of a label, the part over which its dots are spread, so that they do not hide each other."""


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
