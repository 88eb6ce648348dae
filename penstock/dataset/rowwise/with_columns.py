"""Columns computed from others of the same row."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError, SchemaError, class_name
from penstock.core.names import check_names
from penstock.core.schemas import check_type, shorten, with_fields
from penstock.dataset.steps import RowLog, Step, conform_exactly
from penstock.dataset.task_errors import described, hint_for
from penstock.expressions.guarded import guarded_part
from penstock.expressions.rowwise import check_rowwise_value, named_columns, read_columns
from penstock.expressions.values import check_width
from penstock.frames import ROW
from penstock.frames.on_host import on_device_of, on_host
from penstock.frames.overflow import HINT, overflow

_CONSTANTS = (bool, float, Decimal, datetime.date, datetime.time, datetime.timedelta)


@dataclass(frozen=True, eq=False)
class ComputedColumn:
    """One new column: its expression, the columns that this reads, and the type that it gives."""

    name: str
    value: nw.Expr
    read: pa.Schema
    dtype: pa.DataType


@dataclass(frozen=True, eq=False)
class WithColumns(Step):
    """Adds or replaces columns, each computed from the columns that come in."""

    columns: tuple[ComputedColumn, ...]
    # By columns: users of steps compare them by identity.
    _parts: dict[tuple[ComputedColumn, ...], Step] = field(
        default_factory=dict, init=False, repr=False, metadata={"fingerprint": False}
    )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.columns,)

    @property
    def label(self) -> str:
        return f"with_columns({shorten([column.name for column in self.columns])})"

    @property
    def names(self) -> frozenset[str]:
        """The columns that it makes."""
        return frozenset(column.name for column in self.columns)

    @property
    def reads(self) -> frozenset[str]:
        """The columns that expressions read."""
        return frozenset(name for column in self.columns for name in column.read.names)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, {column.name: column.dtype for column in self.columns})

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        asked = [column for column in self.columns if column.name in wanted]
        if not asked:
            return None
        others = wanted - {column.name for column in asked}
        return others | {name for column in asked for name in column.read.names}

    def only(self, wanted: frozenset[str]) -> Step:
        asked = tuple(column for column in self.columns if column.name in wanted)
        return self if len(asked) == len(self.columns) else self._parts.setdefault(asked, type(self)(asked))

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        """Compute the columns whose inputs were read: others are not asked for."""
        present = set(frame.columns)
        columns = [column for column in self.columns if present.issuperset(column.read.names)]
        try:
            made = _computed(frame, columns)
        except frames.ERRORS as error:
            for column in columns if len(columns) > 1 else ():  # one at a time, for the error to name the one at fault
                WithColumns((column,)).apply(frame, log)
            raise self._refused(frame, columns, error) from error
        schema = pa.schema([(column.name, column.dtype) for column in columns])
        checked = conform_exactly(made, schema, self.label)
        return frame.with_columns(*on_device_of(frame, checked, schema).iter_columns())

    def _refused(self, frame: nw.DataFrame, columns: list[ComputedColumn], error: BaseException) -> DataValueError:
        """Return the error with the first row that an expression cannot take."""
        begin, end = 0, len(frame)
        while end - begin > 1:
            middle = (begin + end) // 2
            begin, end = (begin, middle) if _fails(frame[begin:middle], columns) else (middle, end)
        row = int(frame[ROW][begin]) if ROW in frame.columns and end > begin else None
        beyond = overflow(str(error))
        hint = hint_for(error) or "Leave these rows out by filter, or turn texts into other types by cast."
        problem = (
            f"{self.label} raised {described(error).splitlines()[0]}" if beyond is None else f"{self.label}: {beyond}"
        )
        hint = hint if beyond is None else HINT
        return DataValueError(problem, hint=hint, predicate=nw.lit(True), row=row, stage=self.label)


def _computed(frame: nw.DataFrame, columns: list[ComputedColumn]) -> nw.DataFrame:
    names = [column.name for column in columns]
    values = [column.value.alias(column.name) for column in columns]
    read = pa.schema({field.name: field for column in columns for field in column.read}.values())
    return frames.nan_to_null(on_host(frame, read).with_columns(*values).select(names))


def _fails(frame: nw.DataFrame, columns: list[ComputedColumn]) -> bool:
    try:
        _computed(frame, columns)
    except frames.ERRORS:
        return True
    return False


def computed_columns(values: Mapping[str, Any], schema: pa.Schema) -> tuple[ComputedColumn, ...]:
    """Return new columns of the rows of `schema`, checked.

    Raises
    ------
    ConfigError
        There is none, or one is neither an expression of Narwhals nor a constant.
    SchemaError
        An expression names a column that is not there, does not fit the types, or looks at other rows; a name is kept.
    """
    if not values:
        raise ConfigError("with_columns has no column", hint='Write with_columns(total=nw.col("x") + nw.col("y")).')
    check_names(values, "with_columns")
    return tuple(_computed_column(name, value, schema) for name, value in values.items())


def _computed_column(name: str, value: Any, schema: pa.Schema) -> ComputedColumn:
    expression = _expression(name, value)
    schema = named_columns(expression, schema)
    what = f"column {name!r} of with_columns"
    try:
        read = pa.schema([schema.field(each) for each in read_columns(expression, schema)])
    except SchemaError as error:
        problem = f"{what} does not fit the data: {str(error.__cause__ or error).splitlines()[0]}"
        raise SchemaError(problem, hint=error.hint, column=name) from error
    check_rowwise_value(expression, schema, what)
    kind = _type(what, name, expression, schema)
    term = guarded_part(expression, schema)
    kind = _type(what, name, term.expr, schema) if term.is_retyped else kind
    return ComputedColumn(name, term.expr, read, kind)


def _expression(name: str, value: Any) -> nw.Expr:
    if isinstance(value, int) and not isinstance(value, bool):
        return nw.lit(value, nw.Int64)
    if isinstance(value, _CONSTANTS):
        return nw.lit(value)
    if not isinstance(value, nw.Expr):
        raise ConfigError(
            f"column {name!r} of with_columns is {class_name(value)}, expected an expression of Narwhals",
            hint='Write nw.col("x") + 1, after import narwhals as nw; texts are nw.lit("a"), a constant null'
            " nw.lit(None, nw.Int64).",
            column=name,
        )
    return value


def _type(what: str, name: str, expression: nw.Expr, schema: pa.Schema) -> pa.DataType:
    """Return the type that an expression gives, as the library says of no rows."""
    empty = frames.no_rows(schema)
    try:
        computed = empty.with_columns(expression.alias(name)).select(name)
        check_width(what, computed.schema[name])
        made = frames.to_arrow(computed)
    except SchemaError:
        raise
    except frames.ERRORS as error:
        problem = f"{what} does not fit the data: {str(error).splitlines()[0]}"
        raise SchemaError(problem, hint="Cast the columns to the types that it takes.", column=name) from error
    kind = made.schema.field(name).type
    check_type(name, kind, "with_columns")
    return kind
