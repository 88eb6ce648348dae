"""Rows of the tables behind an evaluation: only those that can be drawn, and no more than can be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.report.scales import is_drawable

Row = dict[str, Any]

CURVE_POINTS = 400
BARS = 20


def read_rows(table: pa.Table, numbers: Sequence[str], others: Sequence[str] = ()) -> list[Row]:
    """Return the rows in which all of the columns `numbers` hold a number that can be drawn.

    Parameters
    ----------
    table : pyarrow.Table
    numbers : sequence of str
        Columns that a chart cannot do without; if one is missing there are no rows.
    others : sequence of str
        Columns that are taken as they are, null where they are missing.

    Examples
    --------
    >>> read_rows(pa.table({"x": [1.0, None], "label": ["a", "b"]}), ["x"], ["label"])
    [{'x': 1.0, 'label': 'a'}]
    """
    if not set(numbers) <= set(table.column_names):
        return []
    columns = {name: [as_number(value) for value in _column(table, name)] for name in numbers}
    columns |= {name: _column(table, name) for name in others}
    rows = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
    return [row for row in rows if all(is_drawable(row[name]) for name in numbers)]


def as_number(value: Any) -> Any:
    """Return a decimal as a float, and all else as it is.

    Examples
    --------
    >>> as_number(Decimal("0.5")), as_number("a")
    (0.5, 'a')
    """
    return float(value) if isinstance(value, Decimal) else value


def thin(rows: Sequence[Row], most: int) -> list[Row]:
    """Return at most `most` of the rows, evenly spread, the first and the last among them.

    Examples
    --------
    >>> [row["x"] for row in thin([{"x": x} for x in range(9)], 3)]
    [0, 4, 8]
    """
    if len(rows) <= most:
        return list(rows)
    return [rows[round(index * (len(rows) - 1) / (most - 1))] for index in range(most)]


def largest(rows: Iterable[Row], key: Callable[[Row], float], most: int) -> list[Row]:
    """Return the `most` rows with the largest key, in the order in which they came.

    Examples
    --------
    >>> largest([{"x": 1}, {"x": 3}, {"x": 2}], lambda row: row["x"], 2)
    [{'x': 3}, {'x': 2}]
    """
    known = list(rows)
    kept = sorted(range(len(known)), key=lambda index: (-key(known[index]), index))[:most]
    return [known[index] for index in sorted(kept)]


def label_order(label: Any) -> tuple[str, Any]:
    """Return a key that puts labels of one kind in their own order, and null first.

    Examples
    --------
    >>> sorted(["b", None, "a"], key=label_order)
    [None, 'a', 'b']
    """
    if label is None:
        return "", 0
    return ("number", label) if isinstance(label, int | float | Decimal) else (type(label).__name__, str(label))


def _column(table: pa.Table, name: str) -> list[Any]:
    places = table.schema.get_all_field_indices(name)
    return table.column(places[-1]).to_pylist() if places else [None] * table.num_rows
