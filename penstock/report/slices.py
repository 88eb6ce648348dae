"""Metrics of parts of the rows, the worst part first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.report.bars import small_bar
from penstock.report.figures import TABLE_ROWS, Cell, Figure, Grid, Metrics
from penstock.report.rows import as_number
from penstock.report.scales import is_drawable, nice_domain
from penstock.report.text import show_count, show_label, show_number

_ROWS = "rows"


@dataclass(frozen=True)
class _Slice:
    """What a slice is, how many rows it has, and its metrics in the order of the table."""

    keys: Sequence[Any]
    rows: float
    values: Sequence[float | None]

    def badness(self, larger_better: bool) -> tuple[bool, float, float]:
        """Return a key that puts undefined values last, and of equal ones the slice of most rows first."""
        value = self.values[0]
        if value is None:
            return True, 0.0, -self.rows
        return False, value if larger_better else -value, -self.rows


def slice_figure(name: str, table: pa.Table, overall: Metrics, larger_better: Mapping[str, bool]) -> Figure:
    """Return a table of slices: what they are, their rows and metrics, and a bar for the first metric.

    Parameters
    ----------
    name : str
        What was sliced by.
    table : pyarrow.Table
        The columns sliced by, then ``rows``, then the metrics.
    overall : mapping of str to float or None
        Metrics over all rows, by the names of the columns of metrics.
    larger_better : mapping of str to bool
        The worst slices come first where this knows the first metric; else they stay in their order.
    """
    title, names = f"By {show_label(name, 40)}", table.column_names
    if _ROWS not in names or not table.num_rows:
        return Figure(title)
    split = len(names) - 1 - names[::-1].index(_ROWS)
    metrics = names[split + 1 :]
    slices = [_Slice(row[:split], row[split] or 0, _known(row[split + 1 :])) for row in _rows(table)]
    if metrics and metrics[0] in larger_better:
        slices.sort(key=lambda each: each.badness(larger_better[metrics[0]]))
    grid = Grid(
        [show_label(each) for each in names], _lines(slices, metrics, overall), max(len(slices) - TABLE_ROWS, 0)
    )
    return Figure(title, _caption(metrics, overall, larger_better), grid=grid, wide=True)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*([as_number(value) for value in column.to_pylist()] for column in table.columns), strict=True))


def _known(values: Sequence[Any]) -> list[float | None]:
    return [value if is_drawable(value) else None for value in values]


def _lines(slices: Sequence[_Slice], metrics: Sequence[str], overall: Metrics) -> list[list[Cell]]:
    """Return the first rows of the table, with bars of the first metric on one scale from zero."""
    marks = _known([overall.get(metric) for metric in metrics])
    firsts = [value for each in slices for value in each.values[:1]] + marks[:1]
    domain = nice_domain([0.0, *(value for value in firsts if value is not None)])
    made = []
    for each in slices[:TABLE_ROWS]:
        cells = [*(Cell(show_label(key)) for key in each.keys), Cell(show_count(each.rows), number=True)]
        for metric, value in zip(metrics, each.values, strict=True):
            bar = None
            if metric == metrics[0] and value is not None:
                bar = small_bar(value, marks[0], domain, f"{metric} {show_number(value)}")
            cells.append(Cell(show_number(value), number=True, bar=bar))
        made.append(cells)
    return made


def _caption(metrics: Sequence[str], overall: Metrics, larger_better: Mapping[str, bool]) -> str:
    if not metrics:
        return ""
    first = metrics[0]
    order = [f"Worst {first} first."] if first in larger_better else []
    marks = [
        f"The line marks {show_number(value)}, the value over all rows."
        for value in _known([overall.get(first)])
        if value is not None
    ]
    return " ".join(order + marks)
