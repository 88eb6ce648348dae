"""One row through the stages of a model, without an engine: what online serving stands on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError, PenstockError, SchemaDriftError, did_you_mean
from penstock.dataset.steps import RowLog
from penstock.pipeline.planned_steps import Applied, planned, steps_for
from penstock.pipeline.row_values import REFUSALS, taking, taking_all
from penstock.stages.base import RowFunction
from penstock.stages.step import StageStep
from penstock.stages.vectors import over

MOST_SINGLE = 8
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
    _takes_all: Mapping[str, Callable[[Sequence[Any]], pa.Array]]
    _schema: pa.Schema
    _functions: tuple[RowFunction, ...]
    _steps: tuple[Applied, ...]

    @classmethod
    def of(cls, steps: Sequence[StageStep], schema: pa.Schema, columns: Sequence[str]) -> RowScorer:
        """Return what gives `columns` of rows of `schema`, by the fitted stages that they depend on.

        Raises
        ------
        SchemaError
            A column is neither in the data nor made by a stage.
        """
        stages, given = steps_for(columns, steps, schema)
        functions, known = [], given
        for step in stages:
            functions.append(_function(step, known))
            known = step.output_schema(known)
        takes, all_ = ({field.name: make(field) for field in given} for make in (taking, taking_all))
        return cls(tuple(columns), takes, all_, given, tuple(functions), tuple(planned(stages, given)))

    def one(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of one row."""
        values = self._taken(row)
        for function in self._functions:
            function(values)
        return {name: values[name] for name in self.columns}

    def many(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the columns of each row, in order; many go through the stages as one frame."""
        rows = list(rows) if isinstance(rows, Iterable) else [rows]
        if len(rows) <= MOST_SINGLE or not self._steps:
            return [self.one(row) for row in rows]
        table = self._by_columns(rows)
        if table is None:
            table = pa.Table.from_pylist([self._taken(row) for row in rows], self._schema)
        return self._scored(table)

    def of_table(self, table: pa.Table) -> list[dict[str, Any]]:
        """Return the columns of each row of a table; one in the types of the model needs no rows to be made."""
        given = table.select([name for name in self._takes if name in table.column_names])
        if given.num_rows <= MOST_SINGLE or not self._steps or given.schema != self._schema:
            return self.many(given.to_pylist())
        return self._scored(given)

    def _scored(self, table: pa.Table) -> list[dict[str, Any]]:
        frame, log = frames.from_arrow(table), RowLog()
        for apply in self._steps:
            frame = apply(frame, log)
        if len(frame) != table.num_rows:
            raise _left_out(log)
        return frames.to_arrow(frame.select(list(self.columns))).to_pylist()

    def _by_columns(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table | None:
        """Return the rows made column by column, which is quicker; None where a row is to be refused."""
        try:
            columns = [take([row[name] for row in rows]) for name, take in self._takes_all.items()]
        except REFUSALS:
            return None
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _taken(self, row: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(row, Mapping):
            raise ConfigError(
                f"a row is {row!r:.100} ({type(row).__name__}), expected a mapping of columns to values",
                hint="Pass a dict, a list of dicts, or a frame of pandas, Polars or Arrow.",
            )
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
    found = over.row_function(step.stage, schema, step.fitted)
    return _told(step, found if found is not None else _by_frame(step, schema))


def _told(step: StageStep, function: RowFunction) -> RowFunction:
    def call(row: dict[str, Any]) -> None:
        try:
            function(row)
        except PenstockError as error:
            raise step.blamed(error).at(stage=step.label) from error.__cause__

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
