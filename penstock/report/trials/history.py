"""The metric of trials: over time, with the best of them so far, and of the best ones fold by fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from markupsafe import Markup

from penstock.report.figures import Figure
from penstock.report.scales import Scale, is_drawable, nice_domain, tick_labels, ticks
from penstock.report.svg import FONT, HEIGHT, WIDTH, Panel, axes, box, dot, drawing, join, line, panel, words
from penstock.report.text import measure, show_number
from penstock.report.trials.trial_rows import TrialRow, TrialRows, value_of

_FOOT = 9.0
_STATES = {"failed": ("second", "failed"), "pruned": ("quiet", "were stopped early")}
_BEST, _LINE, _HEAD = 8, 28.0, 30.0


def history(trials: TrialRows) -> Figure:
    """Return a dot for each trial, a line at the best so far, and marks at the foot for trials without a value."""
    title = "Trials over time"
    if not trials.valued:
        return Figure(title)
    last = max(row.number for row in trials.rows)
    whole = panel((0, max(last, 1)), trials.domain)
    within = replace(whole, x_steps=int(min(max(last, 1), 6)))  # a trial is a whole number
    lacking = [row for row in trials.rows if row.value is None]
    drawn = [*_marks(within, lacking), *_dots(within, trials), _best(within, trials)]
    body = [axes(within, "Trial", trials.metric_name), *drawn]
    caption = _caption(trials, lacking)
    return Figure(title, caption, drawing((WIDTH, HEIGHT), title, caption, body))


def _dots(within: Panel, trials: TrialRows) -> list[Markup]:
    radius = 3.5 if len(trials.valued) <= 60 else 2.5
    best = trials.ranked[:1]
    others = [row for row in trials.valued if row not in best]
    return [
        dot(within.place((row.number, trials.clip(value_of(row)))), *look, trials.tell(row))
        for rows, look in ((others, (radius, "dot first faint")), (best, (5.0, "dot second")))
        for row in rows
    ]


def _best(within: Panel, trials: TrialRows) -> Markup:
    """Return the line of the best so far, in steps, to the last trial."""
    competing = sorted(trials.ranked, key=lambda row: row.number)
    better = max if trials.larger_better else min
    values = accumulate((value_of(row) for row in competing), better)
    corners = [(row.number, trials.clip(value)) for row, value in zip(competing, values, strict=True)]
    steps = [((later[0], earlier[1]), later) for earlier, later in pairwise(corners)]
    end = (max(row.number for row in trials.rows), corners[-1][1])
    return within.curve([corners[0], *(point for step in steps for point in step), end], "curve best")


def _marks(within: Panel, rows: Sequence[TrialRow]) -> list[Markup]:
    return [
        box(
            (within.x(row.number) - 1, within.y.start - _FOOT),
            (2, _FOOT),
            f"bar {_STATES.get(row.state, ('quiet', ''))[0]}",
            f"trial {row.number}: {row.state}",
        )
        for row in rows
    ]


def _caption(trials: TrialRows, lacking: Sequence[TrialRow]) -> str:
    best = trials.ranked[0] if trials.ranked else None
    first = (
        "" if best is None else f"The best is trial {best.number} with {trials.metric_name} {show_number(best.value)}. "
    )
    counts = {state: sum(row.state == state for row in lacking) for state in _STATES}
    said = [f"{count:,} {_STATES[state][1]}" for state, count in counts.items() if count]
    marks = f" Marks at the foot: {', '.join(said)}." if said else ""
    return f"{first}Each dot is a trial, the line the best so far.{trials.edge_note}{marks}"


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
