"""What pages of descriptions have in words: facts of all columns, and warnings."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.dataset.description.column_warnings import ColumnWarning
from penstock.dataset.description.data_description import DataDescription
from penstock.dataset.description.description_comparison import DescriptionComparison
from penstock.dataset.description.text_table import text_table
from penstock.report.figures import Cell, Figure, Grid
from penstock.report.text import show_label

_MOST_WARNINGS, _MOST_COLUMNS = 200, 500
_NAMES = {
    "constant": "Constant", "missing": "Mostly missing", "near_unique": "Nearly unique", "infinite": "Infinite",
    "skewed": "Skewed", "padded": "Padded texts", "mixed": "Numbers as texts", "duplicated": "Duplicated",
    "correlated": "Correlated", "leaking": "Gives the label away",
}  # fmt: skip
_WORDS = ("", "type", "top")


def overview(description: DataDescription) -> Figure:
    """Return the facts of all columns as a table; quantiles are left to their figures."""
    head, rows = text_table(description.to_dict()["columns"])
    return Figure("All columns", grid=_grid(head, rows), wide=True)


def facts_of_two(comparison: DescriptionComparison) -> Figure:
    """Return the facts of the columns of two datasets as a table."""
    return Figure("All columns", grid=_grid(*comparison.cells()), wide=True)


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Grid | None:
    used = [place for place, name in enumerate(head) if not name.endswith("%")]
    shown = [
        [Cell(row[place], number=place > 0 and head[place] not in _WORDS) for place in used]
        for row in rows[:_MOST_COLUMNS]
    ]
    return Grid([head[place] for place in used], shown, max(len(rows) - _MOST_COLUMNS, 0)) if rows else None


def warning_figure(title: str, warnings: Sequence[ColumnWarning]) -> Figure:
    """Return warnings, and what to do about them, as a table."""
    names = [each.name for each in warnings]
    rows = [_row(each, each.name not in names[:place]) for place, each in enumerate(warnings[:_MOST_WARNINGS])]
    head = ("Warning", "Columns", "Found", "What to do")
    grid = Grid(head, rows, max(len(warnings) - _MOST_WARNINGS, 0)) if rows else None
    return Figure(title, grid=grid, wide=True)


def _row(warning: ColumnWarning, is_first: bool) -> list[Cell]:
    """Return what is said of a warning; the first of a name has the name, and what to do."""
    columns = Cell(show_label(", ".join(warning.columns), 60), prose=True)
    name, advice = (_NAMES[warning.name], warning.advice) if is_first else ("", "")
    return [Cell(name), columns, Cell(warning.message, prose=True), Cell(advice, prose=True)]
