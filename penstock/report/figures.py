"""What stands on the page: figures and tables of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from penstock.report.rows import as_number
from penstock.report.text import show_count, show_label, show_number

Metrics = Mapping[str, float | None]

TABLE_ROWS = 100


@dataclass(frozen=True)
class Cell:
    """A value in a table: how it is shown, whether it is a number, a drawing beside it, and whether lines may break."""

    text: str
    number: bool = False
    bar: Markup | None = None
    prose: bool = False


@dataclass(frozen=True)
class Grid:
    """A table in words: names of its columns and rows of cells; `left_out` counts the rows that are not shown."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    left_out: int = 0


@dataclass(frozen=True)
class Figure:
    """A drawing or a table with its title, what it shows in a sentence, and the numbers behind it.

    Without `drawn` and `grid` there was nothing to show; `wide` figures take the whole width of the page.
    """

    title: str
    caption: str = ""
    drawn: Markup | None = None
    numbers: Grid | None = None
    wide: bool = False
    grid: Grid | None = None


def numbers_of(table: pa.Table, most: int = TABLE_ROWS) -> Grid:
    """Return the first rows of a table in words.

    Examples
    --------
    >>> numbers_of(pa.table({"label": ["a"], "weight": [1200.0]})).rows
    [[Cell(text='a', number=False, bar=None, prose=False), Cell(text='1,200', number=True, bar=None, prose=False)]]
    """
    rows = zip(*(column.slice(0, most).to_pylist() for column in table.columns), strict=True)
    shown = [[cell(value) for value in row] for row in rows]
    names = [show_label(name) for name in table.column_names]
    return Grid(names, shown, max(table.num_rows - most, 0))


def small_numbers_of(table: pa.Table) -> Grid | None:
    """Return a table in words if it is short enough to be read."""
    return numbers_of(table) if table.num_rows <= TABLE_ROWS else None


def cell(value: Any) -> Cell:
    """Return one value of a table in words.

    Examples
    --------
    >>> cell(0.5).text, cell(None).text
    ('0.5000', '(null)')
    """
    known = as_number(value)
    if isinstance(known, bool) or not isinstance(known, int | float):
        return Cell(show_label(known))
    return Cell(show_count(known) if abs(known) >= 1 else show_number(known), number=True)
