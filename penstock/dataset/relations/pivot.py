"""Pivots: the values of a column become columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError, check_one_of
from penstock.core.names import column_names
from penstock.core.schemas import require
from penstock.core.selectors import resolve
from penstock.core.several import several

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

FUNCTIONS = ("sum", "mean", "min", "max", "std", "var", "median", "count", "len")
Names = str | Sequence[str]


def pivot(
    dataset: Dataset, on: str, index: Names, values: Names, aggregate_function: str, on_values: Sequence[Any] | None
) -> Dataset:
    """Return a row for each key, and a column for each value of another column; see `Dataset.pivot`."""
    check_one_of("aggregate_function of pivot", aggregate_function, FUNCTIONS, stage="pivot")
    schema = dataset.schema
    (on,) = require(schema, [on], stage="pivot")
    index = resolve(column_names(index, "index of pivot", stage="pivot"), schema, "pivot")
    columns = resolve(column_names(values, "values of pivot", stage="pivot"), schema, "pivot")
    if pa.types.is_nested(schema.field(on).type) or pa.types.is_floating(schema.field(on).type):
        raise SchemaError(
            f"column {on!r} is {schema.field(on).type}, whose values are no names of columns",
            hint="Name a column of strings, integers, booleans or dates.",
            column=on,
            stage="pivot",
        )
    on_values = several(on_values, "on_values", "Sequence[Any] | None")
    found = values_of(dataset, on) if on_values is None else list(on_values)
    made = {
        _name(column, value, len(columns)): _cell(on, column, value, aggregate_function)
        for value in found
        for column in columns
    }
    if len(made) != len(found) * len(columns) or not found:
        raise ConfigError(
            f"pivot has {len(found)} value(s) of {on!r}, which make {len(made)} name(s) of columns: {', '.join(made)}",
            hint="Give each value once, as on_values.",
            column=on,
            stage="pivot",
        )
    return dataset.group_by(*index).agg(**made)


def values_of(dataset: Dataset, column: str) -> list[Any]:
    """Return the values of a column, in order, by a query that runs now; null is none."""
    rows = dataset.select(column).unique(maintain_order=False).sort(column).to_arrow()
    return [value for value in rows[column].to_pylist() if value is not None]


def _name(column: str, value: Any, columns: int) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if columns == 1 else f"{column}_{text}"


def _cell(on: str, column: str, value: Any, function: str) -> nw.Expr:
    """Return the aggregate over the rows that have a value; null where there is none."""
    has = nw.col(on) == nw.lit(value)
    if function == "len":
        return nw.when(has).then(nw.lit(1)).count()
    made: nw.Expr = getattr(nw.when(has).then(nw.col(column)), function)()
    return nw.when(nw.when(has).then(nw.lit(1)).count() > 0).then(made) if function == "sum" else made
