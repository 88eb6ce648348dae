"""How often each element occurs in lists, and in how many of them: vocabularies of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.frames import sparse
from penstock.frames.ragged import Ragged
from penstock.statistics.base import State
from penstock.statistics.distinct import shards
from penstock.statistics.distinct.by_value import ByValue, state_of, tables_of
from penstock.statistics.distinct.footprint import Held


@dataclass(frozen=True)
class Elements:
    """The distinct elements of a column of lists.

    Attributes
    ----------
    table : pyarrow.Table
        ``value`` (the type of the elements), ``count`` (int64: how often it occurs) and ``lists`` (int64: in how many
        lists); most frequent first, values of one count in ascending order, strings by their UTF-8 bytes.
    lists : int
        Rows that have a list.
    nulls : int
        Rows that have none.
    """

    table: pa.Table
    lists: int
    nulls: int

    @property
    def distinct(self) -> int:
        """Number of different elements."""
        return int(self.table.num_rows)


@dataclass(frozen=True)
class ElementCounts(ByValue):
    """The :class:`Elements` of each column of lists, exact; null elements do not count.

    The state grows with the number of distinct elements. A frame on a GPU is counted on the host.

    Examples
    --------
    >>> counts = ElementCounts(("w",))
    >>> lists = frames.from_arrow(pa.table({"w": [["b", "a", "b"], ["a"], None]}))
    >>> found = counts.finish(counts.summarise(lists))["w"]
    >>> found.table.to_pylist(), found.lists, found.nulls
    ([{'value': 'a', 'count': 2, 'lists': 2}, {'value': 'b', 'count': 2, 'lists': 1}], 2, 1)
    """

    merges_slices = True

    beside: ClassVar = {"lists": sum, "nulls": sum}

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the elements of one partition."""
        return {name: _counted(Ragged.of(frame, name).known()) for name in self.columns}

    def add(self, tables: list[pa.Table], beside: State) -> pa.Table:
        """Add up the counts of equal elements."""
        return frames.sum_by_key(tables, ["value"])

    def footprint(self) -> Held:
        """Return what a state has for each element: two counts."""
        return Held(bytes=16)

    def finish_column(self, name: str, state: State) -> Elements:
        """Put the elements of one column in order."""
        ordered = pa.concat_tables(tables_of(state)).sort_by(shards.ORDER)
        return Elements(ordered.combine_chunks(), state["lists"], state["nulls"])


def _counted(lists: Ragged) -> State:
    values, codes = lists.coded()
    held = sparse.counts(codes, lists.offsets, len(values)).indices
    counted = [np.bincount(each, minlength=len(values)) for each in (codes, held)]
    nulls = int(lists.missing.sum())
    table = pa.table({"value": values, "count": pa.array(counted[0]), "lists": pa.array(counted[1])})
    return state_of([table], {"lists": len(lists.missing) - nulls, "nulls": nulls})
