"""Columns under other names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import narwhals as nw
import pyarrow as pa

from penstock.dataset.rowwise.rename import RenameColumns, checked_names
from penstock.dataset.steps import RowLog
from penstock.stages.base import Fitted, RowFunction, Stage
from penstock.stages.onnx_graph import OnnxGraph
from penstock.stages.parameter_checks import wrong_parameter


@dataclass(frozen=True)
class Rename(Stage):
    """Gives columns other names, in their places; stages after it know them by these.

    Parameters
    ----------
    columns : mapping of str to str
        New names by old ones; two columns may swap theirs.

    Raises
    ------
    ConfigError
        Two columns would have one name.
    SchemaError
        Before reading: a column is missing, or a new name is one that Penstock keeps.

    Notes
    -----
    Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"PULocationID": [1], "fare": [9.5]}))
    >>> ps.Pipeline(st.Rename({"PULocationID": "zone"})).fit(data).transform(data).columns
    ['zone', 'fare']
    """

    columns: Mapping[str, str] = field(hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.columns, Mapping):
            raise wrong_parameter(self, "columns", "a mapping of names to new names")
        object.__setattr__(self, "columns", dict(self.columns))

    def _step(self) -> RenameColumns:
        return RenameColumns(tuple(self.columns), tuple(self.columns.values()))

    def bind(self, schema: pa.Schema) -> Self:
        """Check the names."""
        checked_names(self.columns, schema, stage=self.title)
        return self

    def inputs(self) -> tuple[str, ...]:
        """Return the old names."""
        return tuple(self.columns)

    def outputs(self) -> tuple[str, ...]:
        """Return the new names."""
        return tuple(self.columns.values())

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the new names."""
        return self._step().output_schema(schema)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Rename the columns."""
        return self._step().apply(frame, RowLog())

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Rename the values of one row."""
        names = dict(self.columns)

        def call(row: dict[str, Any]) -> None:
            row.update({new: row.pop(old) for old, new in names.items()})

        return call

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        graph.assign({new: graph.columns[old] for old, new in self.columns.items()})
