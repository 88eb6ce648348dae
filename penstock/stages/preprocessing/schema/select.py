"""Some of the columns."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.names import RESERVED
from penstock.core.selectors import resolve
from penstock.stages.base import Fitted, RowFunction, SelectedColumns
from penstock.stages.onnx_graph import OnnxGraph


class _Narrowed(SelectedColumns):
    """A stage that leaves columns out, which are then not asked for, so that neither frames nor rows need it."""

    def inputs(self) -> tuple[str, ...]:
        return ()

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        return lambda row: None

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        """Do nothing: columns that nobody asks for are not in a graph."""


@dataclass(frozen=True)
class Select(_Narrowed):
    """Leaves out all columns but those it names, in the order given.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        The columns that stay: for stages after it, and in what comes out.

    Raises
    ------
    SchemaError
        Before reading: a column is missing, or a later stage names one that was left out.
    ConfigError
        There is none, or one is named twice.

    Notes
    -----
    Nothing is learned, and nothing is read for it: data to be scored may lack the columns that are left out.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"a": [1], "b": [2], "c": [3]}))
    >>> ps.Pipeline(st.Select(["c", "a"])).fit(data).transform(data).columns
    ['c', 'a']
    """

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the columns, as far as they are there."""
        return pa.schema([schema.field(name) for name in self.columns if name in schema.names])  # type: ignore[union-attr]

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Return the columns, as far as they are there, and row numbers and the like."""
        names = [*self.columns, *RESERVED]  # type: ignore[misc]
        return frame.select([name for name in names if name in frame.columns])


@dataclass(frozen=True)
class Drop(_Narrowed):
    """Leaves out the columns it names.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        The columns that do not stay.

    Raises
    ------
    SchemaError
        Before reading: a column is missing, or a later stage names one that was left out.
    ConfigError
        There is none, one is named twice, or none would be left.

    Notes
    -----
    Nothing is learned, and nothing is read for it: data to be scored may lack the columns that are left out.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"a": [1], "b": [2], "c": [3]}))
    >>> ps.Pipeline(st.Drop("b")).fit(data).transform(data).columns
    ['a', 'c']
    """

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and see that others are left."""
        names = resolve(self.columns, schema, self.title)
        if set(names) == set(schema.names):
            problem = f"{self.title} would leave no column"
            raise ConfigError(problem, hint=f"Columns are: {', '.join(schema.names)}.", stage=self.title)
        return dataclasses.replace(self, columns=names)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema without the columns."""
        return pa.schema([field for field in schema if field.name not in self.columns])  # type: ignore[operator]

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Drop the columns, as far as they are there."""
        return frame.drop([name for name in frame.columns if name in self.columns])  # type: ignore[operator]
