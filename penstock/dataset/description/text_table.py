"""Descriptions of columns as cells of text, for terminals, notebooks and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.core.redaction import presentable

_WIDEST = 24
_MOST = 48

Column = Mapping[str, Any]
"""A column as `ColumnDescription.to_dict` has it."""


def text_table(columns: Mapping[str, Column]) -> tuple[list[str], list[list[str]]]:
    """Return the head and a row for each column; what applies to none of them is left out.

    Examples
    --------
    >>> text_table({"x": {"type": "int64", "count": 1200, "missing": 0, "distinct": 7, "distinct_error": 0.0}})
    (['column', 'type', 'count', 'missing', 'distinct'], [['x', 'int64', '1,200', '0', '7']])
    """
    levels = dict.fromkeys(level for column in columns.values() for level in column.get("quantiles", ()))
    cells: dict[str, Callable[[Column], str]] = {
        "type": lambda column: str(column["type"]),
        **{name: _number(name) for name in ("count", "missing")},
        "distinct": _distinct,
        **{name: _number(name) for name in ("infinite", "mean", "std")},
        "min": lambda column: shown(column.get("min", column.get("first"))),
        **{f"{100 * float(level):.12g}%": _quantile(level) for level in levels},
        "max": lambda column: shown(column.get("max", column.get("last"))),
        "length": _length,
        "top": top_shown,
    }
    rows = [[_cut(presentable(name)), *(cell(column) for cell in cells.values())] for name, column in columns.items()]
    head = ["column", *cells]
    used = [place for place, name in enumerate(head) if any(_says(name, row[place]) for row in rows)]
    return [head[place] for place in used], [[row[place] for place in used] for row in rows]


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as lines of text, its columns below each other.

    Examples
    --------
    >>> print(aligned(["column", "count"], [["x", "1,200"]]))
    column  count
    x       1,200
    """
    widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    return "\n".join(line.rstrip() for line in lines)


def _says(name: str, cell: str) -> bool:
    """Return whether a cell is worth a column: infinite numbers are, if there are any."""
    return bool(cell) and not (name == "infinite" and cell == "0")


def _number(name: str) -> Callable[[Column], str]:
    return lambda column: shown(column.get(name))


def _quantile(level: str) -> Callable[[Column], str]:
    return lambda column: shown(column.get("quantiles", {}).get(level))


def _distinct(column: Column) -> str:
    return ("about " if column.get("distinct_error") else "") + shown(column.get("distinct"))


def _length(column: Column) -> str:
    if "length_min" not in column:
        return ""
    return f"{column['length_min']:,} to {column['length_max']:,}"


def top_shown(column: Column) -> str:
    """Return the most frequent values of a column in a cell."""
    least = "at least " if column.get("top_error") else ""
    return _cut(", ".join(f"{shown(value)}: {least}{count:,}" for value, count in column.get("top", ())), _MOST)


def shown(value: Any) -> str:
    """Return a value in a cell, short, empty where there is none.

    Examples
    --------
    >>> shown(1200), shown(0.123456789), shown(None)
    ('1,200', '0.123457', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else _cut(presentable(value))


def _cut(text: str, width: int = _WIDEST) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
