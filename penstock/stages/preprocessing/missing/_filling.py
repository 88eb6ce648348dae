"""What stages share that put a value of the column in place of null."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.stages.base import ColumnStage, Fitted
from penstock.stages.onnx_graph import OnnxGraph, Tensor, dtype_of
from penstock.stages.preprocessing.columns import cast_to, output_kinds


@dataclass(frozen=True)
class FillingStage(ColumnStage):
    """A stage that learns ``values``: what is put in, by column."""

    @abstractmethod
    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``values``, and what else it learns."""

    def fill(self, name: str, kind: pa.DataType, fitted: Fitted) -> Any:
        """Return what is put into column `name`, of type `kind` after it."""
        return fitted["values"][name]

    def known(self, frame: nw.DataFrame[Any], name: str) -> nw.Expr:
        """Return a column with null where something is put in."""
        return nw.col(name)

    def fills(self) -> list[tuple[str, str]]:
        """Return all pairs of columns."""
        return self.pairs()

    def filled(self, frame: nw.DataFrame[Any], fitted: Fitted) -> list[nw.Expr]:
        """Return the columns without nulls; with them, as long as nothing is learned."""
        kinds = output_kinds(self, frame)
        dtypes = frames.dtypes(pa.schema(kinds))
        if not fitted:
            return [self.known(frame, name).cast(dtypes[name]).alias(out) for name, out in self.pairs()]
        fills = {name: nw.lit(self.fill(name, kind, fitted), dtypes[name]) for name, kind in kinds.items()}
        return [
            self.known(frame, name).cast(dtypes[name]).fill_null(fills[name]).alias(out) for name, out in self.pairs()
        ]

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Fill all columns in one list of expressions."""
        return frame.with_columns(*self.filled(frame, fitted))

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        graph.assign({out: self._filled_in(graph, name, fitted) for name, out in self.pairs()})

    def _filled_in(self, graph: OnnxGraph, name: str, fitted: Fitted) -> Tensor:
        kind = self.output_type(graph.schema.field(name).type)
        dtype, given = dtype_of(name, kind), graph.columns[name]
        if given.dtype != "str" and not given.is_floating:
            return graph.cast(given, dtype)  # it has no null
        fill = graph.constant(self.fill(name, kind, fitted), given.dtype)
        return graph.cast(graph.where(graph.missing(name), fill, given), dtype)

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Fill one value."""
        made = self.output_type(kind)
        fill = self.fill(name, made, fitted)
        if made == kind and not pa.types.is_floating(kind):
            return lambda value: fill if value is None else value
        cast = cast_to(made)
        return None if cast is None else lambda value: cast(fill if value is None else value)
