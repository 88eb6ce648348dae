"""One row through the stages of a model, without an engine: what online serving stands on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.errors import DataValueError, PenstockError, SchemaDriftError, SchemaError, did_you_mean
from penstock.stages.base import RowFunction
from penstock.stages.step import StageStep
from penstock.steps import RowLog, output_schema, prune, run

_MOST_SINGLE = 8
"""Rows up to which one after the other takes less time than a frame of them all."""


@dataclass(frozen=True)
class RowScorer:
    """Applies fitted stages to rows given as dicts of Python values; prepared once, then called for every row.

    A stage that has a `row_function` for the types of its columns is called with plain values, any other with a frame
    of one row. Both give the same numbers, to the bit: the conformance suite compares them.

    Attributes
    ----------
    columns : tuple of str
        What is returned.
    """

    columns: tuple[str, ...]
    _takes: Mapping[str, Callable[[Any], Any]]
    _schema: pa.Schema
    _functions: tuple[RowFunction, ...]
    _steps: tuple[StageStep, ...]

    @classmethod
    def of(cls, steps: Sequence[StageStep], schema: pa.Schema, columns: Sequence[str]) -> RowScorer:
        """Return what gives `columns` of rows of `schema`, by the fitted stages that they depend on.

        Raises
        ------
        SchemaError
            A column is neither in the data nor made by a stage.
        """
        names = output_schema(steps, schema).names
        for name in columns:
            if name not in names:
                raise SchemaError(f"the model gives no column {name!r}.{did_you_mean(name, names)}", column=name)
        kept, need = prune(steps, columns)
        stages = [step for step in kept if isinstance(step, StageStep)]
        given = pa.schema([field for field in schema if field.name in need])
        functions, known = [], given
        for step in stages:
            functions.append(_function(step, known))
            known = step.output_schema(known)
        takes = {field.name: _taking(field) for field in given}
        return cls(tuple(columns), takes, given, tuple(functions), tuple(stages))

    def one(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of one row."""
        values = self._taken(row)
        for function in self._functions:
            function(values)
        return {name: values[name] for name in self.columns}

    def many(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the columns of each row, in order; many go through the stages as one frame."""
        if len(rows) <= _MOST_SINGLE or not self._steps:
            return [self.one(row) for row in rows]
        taken = [self._taken(row) for row in rows]
        log = RowLog()
        frame = run(self._steps, frames.from_arrow(pa.Table.from_pylist(taken, self._schema)), log)
        if len(frame) != len(rows):
            raise _left_out(log)
        made: list[dict[str, Any]] = frames.to_arrow(frame.select(list(self.columns))).to_pylist()
        return made

    def _taken(self, row: Mapping[str, Any]) -> dict[str, Any]:
        missing = [name for name in self._takes if name not in row]
        if missing:
            raise SchemaDriftError(
                f"the row lacks {len(missing)} column(s) that the model needs: {', '.join(missing)}."
                + did_you_mean(missing[0], row),
                hint="Pass None for a value that is not known.",
                column=missing[0],
            )
        return {name: take(row[name]) for name, take in self._takes.items()}


def _function(step: StageStep, schema: pa.Schema) -> RowFunction:
    assert step.fitted is not None
    found = step.stage.row_function(schema, step.fitted)
    return _told(step, found if found is not None else _by_frame(step, schema))


def _told(step: StageStep, function: RowFunction) -> RowFunction:
    def call(row: dict[str, Any]) -> None:
        try:
            function(row)
        except PenstockError as error:
            raise error.at(stage=step.label) from error.__cause__

    return call


def _by_frame(step: StageStep, schema: pa.Schema) -> RowFunction:
    """Return a row function that makes a frame of the row's inputs."""
    inputs = pa.schema([schema.field(name) for name in step.stage.inputs()])
    outputs = list(step.stage.outputs())

    def call(row: dict[str, Any]) -> None:
        log = RowLog()
        given = pa.table([pa.array([row[field.name]], field.type) for field in inputs], schema=inputs)
        made = step.apply(frames.from_arrow(given), log)
        if len(made) != 1:
            raise _left_out(log)
        if outputs:
            row.update(frames.to_arrow(made.select(outputs)).to_pylist()[0])

    return call


def _left_out(log: RowLog) -> DataValueError:
    reasons = {**log.dropped, **log.quarantined}
    told = ", ".join(f"{rows} by {reason!r}" for reason, rows in reasons.items())
    return DataValueError(
        f"there is no prediction for {sum(reasons.values())} row(s), which the model leaves out: {told}",
        hint="Check the row before; a batch of rows would have set it aside.",
    )


def _taking(field: pa.Field) -> Callable[[Any], Any]:
    """Return what turns a value into one of the column's type, NaN into None, and refuses any other."""
    convert = _converter(field.type)

    def take(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
            raise SchemaError(
                f"the row has {value!r:.100} ({type(value).__name__}) in column {field.name!r}, expected {field.type}",
                hint="Pass a value of the type that the model was fitted on, or None.",
                column=field.name,
            ) from error

    return take


def _converter(kind: pa.DataType) -> Callable[[Any], Any]:
    if pa.types.is_float64(kind):
        return _float
    if pa.types.is_float32(kind):
        return lambda value: None if (number := _float(value)) is None else float(np.float32(number))
    if pa.types.is_int64(kind):
        return lambda value: _whole(value, -(2**63), 2**63)
    if pa.types.is_int32(kind):
        return lambda value: _whole(value, -(2**31), 2**31)
    if pa.types.is_string(kind):
        return _text
    return lambda value: pa.scalar(value, kind).as_py()


def _float(value: Any) -> float | None:
    if isinstance(value, str):
        raise TypeError(value)
    number = float(value)
    return None if math.isnan(number) else number


def _whole(value: Any, low: int, stop: int) -> int | None:
    if isinstance(value, str | bool | np.bool_) or not low <= value < stop:
        if value != value:  # NaN, which is missing
            return None
        raise ValueError(value)
    number = int(value)
    if number != value:
        raise ValueError(value)
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
