"""Whether values are missing, as columns of their own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.stages.base import ColumnStage, Fitted, Tags, name_taken
from penstock.stages.onnx_graph import OnnxGraph


@dataclass(frozen=True)
class MissingIndicator(ColumnStage):
    """Adds a boolean column ``<column>_missing`` for each column, true where it is null; the columns themselves stay.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of any type.
    output_columns : sequence of str, optional
        Names for the results, one a column; ``<column>_missing`` unless given. A name that the data has already is
        replaced.

    Raises
    ------
    ConfigError
        There are not as many `output_columns` as columns, or without them the data has a column of such a name.
    SchemaError
        Before reading: a column is missing.

    Notes
    -----
    NaN is read as null. Columns without a null get an indicator too, scikit-learn's ``features="all"``, so that the
    schema is known before data is read and never depends on it; its default, only columns that had a null at fit, is
    not offered. :class:`Imputer` adds the same columns with ``add_indicator=True`` where the nulls are filled as well.
    Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1.0, float("nan"), None]}))
    >>> ps.Pipeline(st.MissingIndicator("x")).fit(data).transform(data).to_polars().rows()
    [(1.0, False), (None, True), (None, True)]
    """

    made_type: ClassVar[pa.DataType | None] = pa.bool_()
    tags: ClassVar[Tags] = Tags(lazy=True)

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and name the indicators."""
        bound = super().bind(schema)
        if self.output_columns:
            return bound
        names = tuple(f"{name}_missing" for name in bound.inputs())
        for name in names:
            if name in schema.names:
                raise name_taken(self.title, name, "Rename it before, or pass output_columns.")
        return dataclasses.replace(bound, output_columns=names)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Make all indicators in one list of expressions."""
        return frame.with_columns(*[nw.col(name).is_null().alias(out) for name, out in self.pairs()])

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        graph.assign({out: graph.missing(name) for name, out in self.pairs()})

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Tell of one value."""
        return lambda value: value is None
