"""How often each element occurs in lists, and in how many of them: vocabularies of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames, sparse
from penstock.ragged import Ragged
from penstock.statistics import shards
from penstock.statistics.base import ColumnStatistic, State


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
class ElementCounts(ColumnStatistic):
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

    counts_values: ClassVar[bool] = True

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the elements of one partition."""
        return {name: _counted(Ragged.of(frame, name).known()) for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Add up the counts of equal elements."""
        table = frames.sum_by_key([state["table"] for state in states], ["value"])
        return {"table": table, **{each: sum(state[each] for state in states) for each in ("lists", "nulls")}}

    def cut_column(self, state: State, parts: int) -> list[State]:
        """Cut by the hash of the elements, if they have one; the lists and nulls are in the first part."""
        table = state["table"]
        if parts == 1 or not shards.divisible(table.schema.field("value").type):
            return [state]
        first, *rest = shards.split(table, parts)
        return [{**state, "table": first}, *({"table": part, "lists": 0, "nulls": 0} for part in rest)]

    def join_column(self, parts: list[State]) -> State:
        """Put parts together, which have no element in common."""
        return {**parts[0], "table": pa.concat_tables([part["table"] for part in parts])}

    def finish_column(self, name: str, state: State) -> Elements:
        """Put the elements of one column in order."""
        ordered = state["table"].sort_by([("count", "descending"), ("value", "ascending")])
        return Elements(ordered.combine_chunks(), state["lists"], state["nulls"])


def _counted(lists: Ragged) -> State:
    values, codes = lists.coded()
    held = sparse.counts(codes, lists.offsets, len(values)).indices
    counted = [np.bincount(each, minlength=len(values)) for each in (codes, held)]
    nulls = int(lists.missing.sum())
    table = pa.table({"value": values, "count": pa.array(counted[0]), "lists": pa.array(counted[1])})
    return {"table": table, "lists": len(lists.missing) - nulls, "nulls": nulls}
