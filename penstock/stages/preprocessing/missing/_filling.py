"""What stages share that put a value of the column in place of null."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.frames.blocks import device_parameters, fits_block
from penstock.stages.base import ColumnStage, Fitted
from penstock.stages.onnx_graph import OnnxGraph, Tensor, dtype_of
from penstock.stages.preprocessing._groups import group_place, group_places
from penstock.stages.preprocessing.columns import by_block, cast_to, output_kinds
from penstock.stages.shapes import Shape, TableOf, like
from penstock.statistics.base import Statistic
from penstock.statistics.grouped.group_moments import GroupMoments
from penstock.statistics.grouped.group_value_counts import GroupValueCounts


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
        """Fill all columns in one list of expressions, or of a GPU in one block."""
        if not fits_block(frame, self.inputs()):
            return frame.with_columns(*self.filled(frame, fitted))
        if not fitted:
            return by_block(self, frame, lambda rows: rows)
        fills = device_parameters([[self.fill(name, kind, fitted)] for name, kind in output_kinds(self, frame).items()])
        return by_block(self, frame, lambda rows: np.where(np.isnan(rows), fills, rows))

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


@dataclass(frozen=True)
class GroupFills:
    """The mean, the median or the mode of the rows of each group, column by column.

    Learned are ``groups``, a table of the keys, and ``fills``, a table of a row for each of them and a column
    ``fill_<i>`` for column i, null where a group has no value.

    Parameters
    ----------
    keys, columns : tuple of str
    strategy : {"mean", "median", "mode"}
    """

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    strategy: str

    def statistic(self) -> Statistic:
        """Ask for what the strategy needs of each group."""
        kind = GroupMoments if self.strategy == "mean" else GroupValueCounts
        return kind((*self.keys, *self.columns), keys=len(self.keys))

    def learned(self, found: Any) -> dict[str, pa.Table]:
        """Return ``groups`` and ``fills``."""
        groups = found.known()
        arrays = [groups.of(name, self.strategy) for name in self.columns]
        numbers = [each.cast(pa.float64(), safe=False) if self.strategy == "median" else each for each in arrays]
        return {"groups": groups.keys, "fills": pa.table(dict(zip(self._names, numbers, strict=True)))}

    @property
    def _names(self) -> list[str]:
        return [f"fill_{place}" for place in range(len(self.columns))]

    def shapes(self, schema: pa.Schema, fitted: Fitted) -> dict[str, Shape]:
        """Return the shapes of what is learned of columns of these types."""
        kinds = {name: schema.field(name).type for name in (*self.keys, *self.columns)}
        of_mode = self.strategy == "mode"
        tests = [like(kinds[name]) if of_mode else pa.types.is_floating for name in self.columns]
        return {
            "groups": TableOf({name: like(kinds[name]) for name in self.keys}, unique=self.keys),
            "fills": TableOf(
                dict(zip(self._names, tests, strict=True)), rows=fitted["groups"].num_rows, nullable=self._names
            ),
        }

    def _arrays(self, fitted: Fitted) -> dict[str, pa.Array]:
        """Return what is put in by column: of each group, and at the end null, for rows in none of them."""
        fills = [fitted["fills"][name].combine_chunks() for name in self._names]
        return {
            name: pa.concat_arrays([fill, pa.nulls(1, fill.type)])
            for name, fill in zip(self.columns, fills, strict=True)
        }

    def columns_of(
        self, frame: nw.DataFrame[Any], fitted: Fitted, kinds: Mapping[str, pa.DataType]
    ) -> dict[str, nw.Series[Any]]:
        """Return what is put into each row by column, of these types; null where that is not known."""
        place = group_places(frame, fitted["groups"])
        arrays = {name: array.cast(kinds[name], safe=False) for name, array in self._arrays(fitted).items()}
        return {name: frames.decode(place, array).alias(name) for name, array in arrays.items()}

    def of_row(self, fitted: Fitted) -> Callable[[dict[str, Any]], dict[str, Any]]:
        """Return what `columns_of` does, as a function of one row."""
        place = group_place(fitted["groups"])
        values = {name: array.to_pylist() for name, array in self._arrays(fitted).items()}

        def call(row: dict[str, Any]) -> dict[str, Any]:
            at = place(row)
            return {name: each[at] for name, each in values.items()}

        return call
