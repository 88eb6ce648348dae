"""What is put in place of what is missing, by the group of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.stages.base import Fitted
from penstock.stages.preprocessing._groups import group_place, group_places
from penstock.stages.shapes import Shape, TableOf, like
from penstock.statistics.base import Statistic
from penstock.statistics.grouped.group_moments import GroupMoments
from penstock.statistics.grouped.group_value_counts import GroupValueCounts


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
