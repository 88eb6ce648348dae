"""Columns in other types than a model was fitted on: taken value by value where none changes, refused otherwise.

pandas has float64 for integers of which one is missing, a CSV file int64 for what was int32 in Parquet. Which types go
with which is said here once, for rows (`row_values`) and for datasets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError, SchemaDriftError, did_you_mean
from penstock.core.schemas import with_fields
from penstock.dataset.steps import RowLog, Step
from penstock.frames.on_host import on_device_of, on_host

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_taken(fitted: pa.DataType, found: pa.DataType) -> bool:
    """Return whether values of type `found` are taken for a column that was fitted on type `fitted`, if it holds them.

    Numbers are taken for numbers, decimals for decimals, times for times (with a zone, or without), and lists of one
    for lists of the other.

    Examples
    --------
    >>> is_taken(pa.int32(), pa.float64()), is_taken(pa.int32(), pa.string()), is_taken(pa.float64(), pa.bool_())
    (True, False, False)
    """
    if fitted == found or pa.types.is_null(found):
        return True
    if pa.types.is_list(fitted) and pa.types.is_list(found):
        return is_taken(fitted.value_type, found.value_type)
    if pa.types.is_timestamp(fitted) and pa.types.is_timestamp(found):
        return (fitted.tz is None) == (found.tz is None)
    if pa.types.is_decimal(fitted) and pa.types.is_decimal(found):
        return True
    return _is_number(fitted) and _is_number(found)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def bounds(kind: pa.DataType) -> tuple[int, int]:
    """Return the smallest whole number of an integer type, and the first one above its largest.

    Examples
    --------
    >>> bounds(pa.int8()), bounds(pa.uint8())
    ((-128, 128), (0, 256))
    """
    half = 1 << (kind.bit_width - 1)
    return (-half, half) if pa.types.is_signed_integer(kind) else (0, 2 * half)


def cast_as_fitted(dataset: Dataset, names: Sequence[str], fitted: pa.Schema) -> Dataset:
    """Return `dataset` with its columns `names` in the types of `fitted`; nothing is read.

    Raises
    ------
    SchemaDriftError
        A column is missing, or of a type that is not taken for the one fitted on. DataValueError, when it is read: the
        type fitted on does not hold a value.
    """
    found = dataset.schema
    _check(names, found, fitted)
    kinds = {name: (found.field(name).type, fitted.field(name).type) for name in names}
    others = {name: pair for name, pair in kinds.items() if pair[0] != pair[1]}
    if not others:
        return dataset
    before, after = ([(name, pair[side]) for name, pair in others.items()] for side in (0, 1))
    return dataset.with_step(CastAsFitted(pa.schema(before), pa.schema(after)))


def _check(names: Sequence[str], found: pa.Schema, fitted: pa.Schema) -> None:
    missing = [name for name in names if name not in found.names]
    if missing:
        raise SchemaDriftError(
            f"the data lacks {len(missing)} column(s) that the model was fitted on: {', '.join(missing)}."
            + did_you_mean(missing[0], found.names),
            hint="Columns are bound by name; their order does not matter.",
            column=missing[0],
        )
    for name in names:
        if not is_taken(fitted.field(name).type, found.field(name).type):
            raise SchemaDriftError(
                f"column {name!r} is {found.field(name).type}, but the model was fitted on {fitted.field(name).type}.",
                hint="Read it with the type it had (schema=, where files are text), or convert it before.",
                column=name,
            )


@dataclass(frozen=True)
class CastAsFitted(Step):
    """Gives columns the types that a model was fitted on.

    Parameters
    ----------
    found, fitted : pyarrow.Schema
        The same columns as they come in, and as they go out.
    """

    found: pa.Schema
    fitted: pa.Schema

    @property
    def label(self) -> str:
        return f"cast {len(self.fitted)} columns as fitted"

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, {field.name: field.type for field in self.fitted})

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return wanted if wanted & set(self.fitted.names) else None

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        """Return the frame with those of the columns it has cast, by Polars on a GPU too: cuDF refuses no value."""
        names = [name for name in self.fitted.names if name in frame.columns]
        if not names:
            return frame
        found, fitted = (pa.schema([schema.field(name) for name in names]) for schema in (self.found, self.fitted))
        rows, dtypes = on_host(frame, found), frames.dtypes(fitted)
        made = rows.select(*(self._cast(rows, name, dtypes[name]) for name in names))
        return frame.with_columns(*on_device_of(frame, made, fitted).iter_columns())

    def _cast(self, frame: nw.DataFrame, name: str, dtype: Any) -> nw.Series:
        found, fitted = self.found.field(name).type, self.fitted.field(name).type
        if pa.types.is_list(fitted) or pa.types.is_decimal(fitted):
            return _cast_back_and_forth(frame[name], fitted, dtype)
        bad = not_held(name, found, fitted, frame.schema[name], dtype)
        if bad is not None and len(rows := frame.filter(bad)[name]):
            raise _refused(name, fitted, rows.to_list()[0], f"{len(rows)} value(s)", bad)
        # By way of float64, as a number of a row goes.
        whole = pa.types.is_integer(found) and pa.types.is_float32(fitted)
        return (frame[name].cast(nw.Float64) if whole else frame[name]).cast(dtype)


def _cast_back_and_forth(series: nw.Series, fitted: pa.DataType, dtype: Any) -> nw.Series:
    try:
        cast = series.cast(dtype)
        changed = frames.first_changed(series, cast)
    except Exception as error:  # Polars and Narwhals each have their own
        raise _refused(series.name, fitted, str(error).splitlines()[0]) from error
    if changed is not None:
        raise _refused(series.name, fitted, changed)
    return cast


def _refused(
    name: str, fitted: pa.DataType, first: Any, count: str = "a value", bad: nw.Expr | None = None
) -> DataValueError:
    return DataValueError(
        f"column {name!r} has {count} that {fitted}, the type that the model was fitted on, does not hold: {first!r}",
        hint="Correct these rows or leave them out; a missing number is null or NaN.",
        column=name,
        predicate=bad,
    )


def not_held(name: str, found: pa.DataType, fitted: pa.DataType, before: Any, after: Any) -> nw.Expr | None:
    """Return the expression that is true for values that `fitted` does not hold; None where there can be none."""
    column = nw.col(name)
    if pa.types.is_timestamp(fitted) and pa.types.is_timestamp(found):
        factor = _TICKS[after.time_unit] // _TICKS[before.time_unit]
        beyond = column.cast(nw.Int64).abs() > (2**63 - 1) // factor if factor > 1 else None
        return column.cast(after).cast(before) != column if beyond is None else beyond
    if not (_is_number(fitted) and _is_number(found)):
        return None
    if pa.types.is_floating(found) and pa.types.is_floating(fitted):
        return (column.cast(after).abs() == float("inf")) & (column.abs() != float("inf"))
    if pa.types.is_integer(found) and pa.types.is_integer(fitted):
        return _outside(column, bounds(found), bounds(fitted))
    # One is of integers: what the other makes of a value has to be the value again.
    number = column.cast(nw.Float64)
    low, stop = bounds(fitted if pa.types.is_integer(fitted) else found)
    inside = (number >= float(low)) & (number < float(stop))
    whole = nw.when(inside).then(number).cast(after if pa.types.is_integer(fitted) else before)
    return ~inside | (whole.cast(nw.Float64) != number if pa.types.is_integer(fitted) else whole != column)


def _outside(column: nw.Expr, found: tuple[int, int], fitted: tuple[int, int]) -> nw.Expr | None:
    below = column < fitted[0] if fitted[0] > found[0] else None
    above = column >= fitted[1] if fitted[1] < found[1] else None
    if below is None or above is None:
        return above if below is None else below
    return below | above
