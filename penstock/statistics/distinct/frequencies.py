"""The distinct values of a column and how often each occurs, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.statistics.distinct import shards


class Others(NamedTuple):
    """Values that were counted and not kept: how many different ones, and in how many rows."""

    distinct: int
    rows: int


NOTHING = Others(0, 0)


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
    others : Others
        What is not in `table`, because nobody asked for it; nothing, unless :class:`ValueCounts` was told what to keep.

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
    others: Others = NOTHING

    @property
    def distinct(self) -> int:
        """Number of different values."""
        return int(self.table.num_rows) + self.others.distinct

    @property
    def total(self) -> int:
        """Rows that have a value."""
        return rows_of(self.table) + self.others.rows

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

    def __init__(self, parts: Sequence[pa.Table], nulls: int, others: Others = NOTHING) -> None:
        """Take tables that have no value in common, each in any order."""
        object.__setattr__(self, "nulls", nulls)
        object.__setattr__(self, "others", others)
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
        return int(sum(part.num_rows for part in self._parts)) + self.others.distinct

    @property
    def total(self) -> int:
        """Rows that have a value."""
        return sum(map(rows_of, self._parts)) + self.others.rows

    def at_least(self, min_count: int) -> Frequencies:
        """Return the values that occur `min_count` times or more."""
        if min_count <= 1:
            return self
        return ShardedFrequencies([part.filter(pc.field("count") >= min_count) for part in self._parts], self.nulls)

    def top(self, k: int) -> Frequencies:
        """Return the first `k` values of :attr:`table`."""
        if k >= sum(part.num_rows for part in self._parts):
            return self
        leading = [shards.leading(part, k) for part in self._parts]
        return Frequencies(shards.ordered(leading).slice(0, k), self.nulls)


def rows_of(table: pa.Table) -> int:
    """Return how many rows were counted.

    Examples
    --------
    >>> rows_of(pa.table({"value": ["a", "b"], "count": [2, 3]}))
    5
    """
    return int(pc.sum(table["count"]).as_py() or 0)
