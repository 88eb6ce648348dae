"""How often each value occurs: vocabularies, modes, frequency encodings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.statistics import shards
from penstock.statistics.aggregates import aggregate
from penstock.statistics.base import ColumnStatistic, State

_ROWS = 2**18
"""Rows of the slices that long partitions are grouped by, which takes several times the memory of the values."""


@dataclass(frozen=True)
class Frequencies:
    """The distinct values of a column and how often each occurs.

    Parameters
    ----------
    table : pyarrow.Table
        ``value`` (the column's type, no nulls) and ``count`` (int64), most frequent first, values of one count in
        ascending order; strings are ordered by their UTF-8 bytes.
    nulls : int
        Rows without a value.

    Examples
    --------
    >>> frequencies = Frequencies(pa.table({"value": ["b", "a"], "count": [2, 1]}), nulls=4)
    >>> frequencies.mode, frequencies.distinct, frequencies.total
    ('b', 2, 3)
    >>> frequencies.at_least(2).table["value"].to_pylist()
    ['b']
    """

    table: pa.Table
    nulls: int

    @property
    def distinct(self) -> int:
        """Number of different values."""
        return int(self.table.num_rows)

    @property
    def total(self) -> int:
        """Rows that have a value."""
        return int(pc.sum(self.table["count"]).as_py() or 0)

    @property
    def mode(self) -> Any:
        """The most frequent value, the smallest of several; None when there is none."""
        return next(iter(self.top(1).table["value"].to_pylist()), None)

    def at_least(self, min_count: int) -> Frequencies:
        """Return the values that occur `min_count` times or more."""
        return self.top(int(np.count_nonzero(self.table["count"].to_numpy() >= min_count)))

    def top(self, k: int) -> Frequencies:
        """Return the first `k` values of :attr:`table`."""
        return Frequencies(self.table.slice(0, k), self.nulls)


class ShardedFrequencies(Frequencies):
    """The :class:`Frequencies` of very many values; they are put in order when the table is first asked for.

    Examples
    --------
    >>> parts = [pa.table({"value": ["b", "d"], "count": [2, 1]}), pa.table({"value": ["a"], "count": [2]})]
    >>> frequencies = ShardedFrequencies(parts, nulls=0)
    >>> frequencies.top(2).table["value"].to_pylist(), frequencies.table["value"].to_pylist()
    (['a', 'b'], ['a', 'b', 'd'])
    """

    _parts: tuple[pa.Table, ...]

    def __init__(self, parts: Sequence[pa.Table], nulls: int) -> None:
        """Take tables that have no value in common, each in any order."""
        object.__setattr__(self, "nulls", nulls)
        object.__setattr__(self, "_parts", tuple(parts))

    @cached_property
    def table(self) -> pa.Table:
        """All values and their counts, in order; the parts are let go while it is made, and it takes their place."""
        parts = list(self._parts)
        object.__delattr__(self, "_parts")
        table = shards.ordered(parts)
        object.__setattr__(self, "_parts", (table,))
        return table

    @property
    def distinct(self) -> int:
        """Number of different values."""
        return sum(part.num_rows for part in self._parts)

    @property
    def total(self) -> int:
        """Rows that have a value."""
        return sum(pc.sum(part["count"]).as_py() or 0 for part in self._parts)

    def at_least(self, min_count: int) -> Frequencies:
        """Return the values that occur `min_count` times or more."""
        if min_count <= 1:
            return self
        return ShardedFrequencies([part.filter(pc.field("count") >= min_count) for part in self._parts], self.nulls)

    def top(self, k: int) -> Frequencies:
        """Return the first `k` values of :attr:`table`."""
        if k >= self.distinct:
            return self
        leading = [shards.leading(part, k) for part in self._parts]
        return Frequencies(shards.ordered(leading).slice(0, k), self.nulls)


@dataclass(frozen=True)
class ValueCounts(ColumnStatistic):
    """The :class:`Frequencies` of each column, exact; the state grows with the number of distinct values.

    The state of a column holds ``nulls`` and either a ``table`` or, when it has very many rows, ``shards``: such tables
    by the hash of the values, see :mod:`penstock.statistics.shards`. Their rows are in no particular order; those of
    the result are.

    Examples
    --------
    >>> from penstock import frames
    >>> counts = ValueCounts(("c",))
    >>> result = counts.finish(counts.summarise(frames.from_arrow(pa.table({"c": ["a", None, "b", "b"]}))))
    >>> result["c"].table.to_pylist(), result["c"].nulls
    ([{'value': 'b', 'count': 2}, {'value': 'a', 'count': 1}], 1)
    """

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the values of one partition, all columns in one call; of a long one by slices."""
        if len(frame) <= 2 * _ROWS:
            return self._counted(frame)
        return self.drain([self._counted(frame[first : first + _ROWS]) for first in range(0, len(frame), _ROWS)])

    def _counted(self, rows: nw.DataFrame[Any]) -> State:
        tables = frames.value_counts(rows, self.columns)
        nulls = aggregate(rows, {name: nw.col(name).null_count() for name in self.columns})
        return {name: _state([tables[name]], nulls[name]) for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Add up the counts of equal values."""
        return self.drain_column(list(states))

    def drain_column(self, states: list[State]) -> State:
        """Add up the counts of equal values; of very many shard by shard, each of which is let go then."""
        nulls = sum(state["nulls"] for state in states)
        whole = [state["table"] for state in states if "table" in state]
        if len(whole) == len(states) and _are_few(whole):
            states.clear()
            return _state([frames.sum_by_key(whole, ["value"])], nulls)
        whole.clear()
        parts = []
        while states:
            parts.append(_shards(states.pop(0)))
        return _state(shards.add(parts), nulls)

    def finish_column(self, name: str, state: State) -> Frequencies:
        """Put the values of one column in order, or see that they will be."""
        if "shards" in state:
            return ShardedFrequencies(state["shards"], state["nulls"])
        return Frequencies(state["table"].sort_by(shards.ORDER).combine_chunks(), state["nulls"])


def _are_few(tables: Sequence[pa.Table]) -> bool:
    rows = sum(table.num_rows for table in tables)
    return rows <= shards.LIMIT or not shards.divisible(tables[0].schema.field("value").type)


def _shards(state: State) -> list[pa.Table]:
    return list(state["shards"]) if "shards" in state else shards.split(state["table"])


def _state(tables: list[pa.Table], nulls: int) -> State:
    """Return the state of tables that have no value in common: one is whole, several are shards."""
    if _are_few(tables):
        return {"table": pa.concat_tables(tables) if len(tables) > 1 else tables[0], "nulls": nulls}
    return {"shards": shards.split(tables[0]) if len(tables) == 1 else tables, "nulls": nulls}
