"""The metric of the best trials, fold by fold: how certain it is which is best."""

from __future__ import annotations

from markupsafe import Markup

from penstock.report.axes import FONT, WIDTH
from penstock.report.figures import Figure
from penstock.report.scales import Scale, is_drawable, nice_domain, tick_labels, ticks
from penstock.report.svg import dot, drawing, join, line, words
from penstock.report.text import measure, show_number
from penstock.report.trials.trial_rows import TrialRow, TrialRows, value_of

_BEST, _LINE, _HEAD = 8, 28.0, 30.0


def by_fold(trials: TrialRows) -> Figure:
    """Return a line for each of the best trials, with a dot for each fold and a mark at their mean."""
    title = "Best trials by fold"
    best = [row for row in trials.ranked[:_BEST] if all(is_drawable(value) for value in row.folds) and row.folds]
    if not best:
        return Figure(title)
    left = 20 + FONT * max(measure(_name(row)) for row in best)
    domain = nice_domain([value for row in best for value in row.folds if value is not None], count=4)
    marks = ticks(*domain, 4)
    labels = tick_labels(marks)
    scale = Scale(*domain, left, WIDTH - 8 - FONT * max(map(measure, labels)) / 2)
    bottom = _HEAD + _LINE * len(best)
    grid = [
        line((scale(mark), _HEAD - 4), (scale(mark), bottom), "grid")
        + words((scale(mark), bottom + 18), label, "tick", "middle")
        for mark, label in zip(marks, labels, strict=True)
    ]
    rows = [_row(scale, row, _HEAD + _LINE * (place + 0.5)) for place, row in enumerate(best)]
    caption = f"Dots are the {len(best[0].folds)} folds, the mark is their mean. Where they overlap, order is chance."
    head = words((scale.end, 14), trials.metric_name, "axis", "end")
    return Figure(title, caption, drawing((WIDTH, bottom + 26), title, caption, [head, *grid, *rows]))


def _name(row: TrialRow) -> str:
    return f"trial {row.number}"


def _row(scale: Scale, row: TrialRow, middle: float) -> Markup:
    name = _name(row)
    values = [value for value in row.folds if value is not None]
    dots = [
        dot((scale(value), middle), 4, "dot first faint", f"{name}, fold {fold}: {show_number(value)}")
        for fold, value in enumerate(values)
    ]
    spread = line((scale(min(values)), middle), (scale(max(values)), middle), "whisker")
    mean = line((scale(value_of(row)), middle - 9), (scale(value_of(row)), middle + 9), "marker")
    return join([words((scale.start - 14, middle + 4), name, "label", "end"), spread, *dots, mean])
