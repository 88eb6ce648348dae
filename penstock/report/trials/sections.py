"""The sections of the page of a search."""

from __future__ import annotations

from penstock.report.figures import Cell, Figure, Grid
from penstock.report.sections import Section, sections_of
from penstock.report.text import show_label, show_number
from penstock.report.trials.history import by_fold, history
from penstock.report.trials.parameters import by_parameter, importances, parallel
from penstock.report.trials.trial_rows import TrialRow, TrialRows

_MOST_PARAMETERS, _MOST_ROWS = 12, 30


def search_sections(trials: TrialRows) -> list[Section]:
    """Return what a page shows of a search: its course, its parameters, and its trials."""
    mattering = [importances(trials)] if trials.importances else []
    overview = [history(trials), *mattering, parallel(trials), by_fold(trials), _best(trials)]
    parameters = [by_parameter(trials, each) for each in trials.searched[:_MOST_PARAMETERS]]
    listed = [_table(trials), *_without_value(trials)]
    return sections_of({"Search": overview, "Parameters": parameters, "Trials": listed})


def _best(trials: TrialRows) -> Figure:
    """Return the parameters of the best trial."""
    title = "Best parameters"
    if not trials.ranked:
        return Figure(title)
    best = trials.ranked[0]
    rows = [[Cell(show_label(address, 34)), Cell(show_label(value, 24))] for address, value in best.params.items()]
    caption = f"Trial {best.number}: {trials.metric_name} {show_number(best.value)}, the mean over the folds."
    return Figure(title, caption, grid=Grid(["Parameter", "Value"], rows))


def _table(trials: TrialRows) -> Figure:
    """Return the trials with a value, best first."""
    addresses = list(trials.names)
    names = [show_label(trials.names[each], 24) for each in addresses]
    ranked = [*trials.ranked, *(row for row in trials.valued if not row.competes)]
    rows = [
        [Cell(f"{row.number}"), Cell(show_number(row.value), number=True), Cell(f"{row.seconds:.2f}", number=True)]
        + [_value(row, each) for each in addresses]
        for row in ranked[:_MOST_ROWS]
    ]
    grid = Grid(["Trial", trials.metric_name, "Seconds", *names], rows, max(len(ranked) - _MOST_ROWS, 0))
    return Figure("By value", "Best first.", grid=grid if rows else None, wide=True)


def _value(row: TrialRow, address: str) -> Cell:
    if address not in row.params:
        return Cell("")
    value = row.params[address]
    if isinstance(value, float):
        return Cell(f"{value:.4g}", number=True)
    return Cell(show_label(value, 24), number=isinstance(value, int) and not isinstance(value, bool))


def _without_value(trials: TrialRows) -> list[Figure]:
    """Return the trials without a value, and why; nothing where there are none."""
    lacking = [row for row in trials.rows if row.value is None]
    rows = [
        [
            Cell(f"{row.number}"),
            Cell(row.state),
            Cell(show_label(row.reason or "", 120) if row.reason else ""),
            Cell(show_label(", ".join(f"{trials.names[each]} {value}" for each, value in row.params.items()), 60)),
        ]
        for row in lacking[:_MOST_ROWS]
    ]
    grid = Grid(["Trial", "State", "Reason", "Parameters"], rows, max(len(lacking) - _MOST_ROWS, 0))
    return [Figure("Without a value", "They lose to all others.", grid=grid, wide=True)] if lacking else []
