"""What is known of the columns of a dataset: plain numbers, as a frame, as JSON and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl

from penstock.core.displayed import Displayed
from penstock.core.errors import SchemaError, did_you_mean
from penstock.dataset.description.text_table import aligned, text_table

Top = tuple[tuple[Any, int], ...]


@dataclass(frozen=True, kw_only=True)
class ColumnDescription:
    """What is known of one column; a field that does not apply to its type, or has no value, is None or empty.

    Attributes
    ----------
    name, type : str
        The column and its Arrow type.
    count, missing : int
        Rows that have a value, and those that have none. NaN is missing.
    distinct : int or None
        Different values; None for lists, structs and binary.
    distinct_error : float
        The standard error of `distinct`, relative: 0.0 where it is exact.
    infinite : int or None
        Infinite numbers. Where there are some, `mean` and `std` are None.
    mean, std : float or None
        Of numbers and booleans; `std` divides by ``count - 1``.
    min, max : number or None
        Of numbers and booleans, in the type of the column.
    quantiles : mapping of float to float
        A value of the data for each, as `Distribution.quantile` gives it.
    quantile_error : float
        By which share of `count` a rank may be wrong; 0.0 where quantiles are exact.
    first, last : str, date, datetime, time or timedelta, or None
        Of strings, by their UTF-8 bytes, and of dates and times; text where Python has no such date.
    length_min, length_mean, length_max : number or None
        Characters of strings, elements of lists.
    top : tuple of (value, int)
        The most frequent values and their counts: of strings, booleans, and integers of few values.
    top_error : int
        By how much each of these counts may be too low; 0 where they are exact.
    """

    name: str
    type: str
    count: int
    missing: int
    distinct: int | None = None
    distinct_error: float = 0.0
    infinite: int | None = None
    mean: float | None = None
    std: float | None = None
    min: Any = None
    max: Any = None
    quantiles: Mapping[float, float] = field(default_factory=dict)
    quantile_error: float = 0.0
    first: Any = None
    last: Any = None
    length_min: int | None = None
    length_mean: float | None = None
    length_max: int | None = None
    top: Top = ()
    top_error: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return what applies as JSON has it: numbers, text, lists; dates as ISO text, an infinity as ``"inf"``."""
        told = {each.name: _plain(getattr(self, each.name)) for each in fields(self) if each.name != "name"}
        errors = {"distinct_error": "distinct", "quantile_error": "quantiles", "top_error": "top"}
        gone = {name for name, value in told.items() if value is None or value in ({}, [])}
        gone |= {error for error, of in errors.items() if of in gone}
        return {name: value for name, value in told.items() if name not in gone}


@dataclass(frozen=True)
class DataDescription(Displayed):
    """What `Dataset.describe` returns: the number of rows, and a :class:`ColumnDescription` of each column.

    Examples
    --------
    >>> column = ColumnDescription(name="x", type="int64", count=2, missing=1, distinct=2, min=1, max=3)
    >>> description = DataDescription(3, (column,))
    >>> description["x"].max, description.to_dict()["columns"]["x"]["missing"]
    (3, 1)
    """

    rows: int
    columns: tuple[ColumnDescription, ...]
    _display = "penstock.report.notebook.descriptions:description_html"

    def __getitem__(self, name: str) -> ColumnDescription:
        """Return the description of one column; SchemaError for one that was not described."""
        for column in self.columns:
            if column.name == name:
                return column
        names = [column.name for column in self.columns]
        raise SchemaError(
            f"column {name!r} was not described, expected one of {len(names)}.{did_you_mean(name, names)}", column=name
        )

    def to_dict(self) -> dict[str, Any]:
        """Return ``rows``, and ``columns`` by name, each as `ColumnDescription.to_dict` has it: ready for JSON."""
        return {"rows": self.rows, "columns": {column.name: column.to_dict() for column in self.columns}}

    def to_polars(self) -> pl.DataFrame:
        """Return one row a column; ``25%`` and the like are quantiles, ``first`` and ``last`` text, as values of `top`.

        ``min`` and ``max`` are float64, so that whole numbers beyond 2**53 are rounded; here they are not.
        """
        levels = {level: f"{100 * level:.12g}%" for column in self.columns for level in column.quantiles}
        schema = _schema(levels.values())
        rows = [_row(column, levels) for column in self.columns]
        return pl.DataFrame(rows, schema=schema, orient="row", strict=False) if rows else pl.DataFrame(schema=schema)

    def __repr__(self) -> str:
        """Return the table as text; characters that a terminal obeys are escaped."""
        told = self.to_dict()["columns"]
        return f"{self.rows:,} rows, {len(self.columns):,} columns\n{aligned(*text_table(told))}"


def _schema(levels: Iterable[str]) -> dict[str, pl.DataType]:
    """Return the types of `DataDescription.to_polars`, in the order of its columns."""
    numbers = dict.fromkeys(("mean", "std", "min", *levels, "max"), pl.Float64())
    return {
        **dict.fromkeys(("column", "type"), pl.String()),
        **dict.fromkeys(("count", "missing", "distinct"), pl.Int64()),
        "distinct_error": pl.Float64(),
        "infinite": pl.Int64(),
        **numbers,
        **dict.fromkeys(("first", "last"), pl.String()),
        "length_min": pl.Int64(),
        "length_mean": pl.Float64(),
        "length_max": pl.Int64(),
        "top": pl.List(pl.Struct({"value": pl.String(), "count": pl.Int64()})),
        "top_error": pl.Int64(),
    }


def _row(column: ColumnDescription, levels: Mapping[float, str]) -> dict[str, Any]:
    told: dict[str, Any] = {each.name: getattr(column, each.name) for each in fields(column)}
    told |= {name: None if told[name] is None else float(told[name]) for name in ("min", "max")}
    told |= {name: None if told[name] is None else str(_plain(told[name])) for name in ("first", "last")}
    told |= {levels[level]: value for level, value in column.quantiles.items()}
    told["top"] = [{"value": _text(value), "count": count} for value, count in column.top]
    told["distinct_error"] = None if column.distinct is None else column.distinct_error
    told["top_error"] = column.top_error if column.top else None
    return {"column": told.pop("name"), **told}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Mapping):
        return {f"{key:.12g}": _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    number = float(value) if isinstance(value, Decimal) else value
    return str(number) if isinstance(number, float) and not math.isfinite(number) else number
