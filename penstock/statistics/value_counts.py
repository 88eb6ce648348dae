"""How often each value occurs: vocabularies, modes, frequency encodings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.statistics.aggregates import aggregate
from penstock.statistics.base import ColumnStatistic, State


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
        return self.table["value"][0].as_py() if self.distinct else None

    def at_least(self, min_count: int) -> Frequencies:
        """Return the values that occur `min_count` times or more."""
        return self.top(int(np.count_nonzero(self.table["count"].to_numpy() >= min_count)))

    def top(self, k: int) -> Frequencies:
        """Return the first `k` values of :attr:`table`."""
        return Frequencies(self.table.slice(0, k), self.nulls)


@dataclass(frozen=True)
class ValueCounts(ColumnStatistic):
    """The :class:`Frequencies` of each column, exact; the state grows with the number of distinct values.

    The rows of a state's ``table`` are in no particular order; those of the result are.

    Examples
    --------
    >>> from penstock import frames
    >>> counts = ValueCounts(("c",))
    >>> result = counts.finish(counts.summarise(frames.from_arrow(pa.table({"c": ["a", None, "b", "b"]}))))
    >>> result["c"].table.to_pylist(), result["c"].nulls
    ([{'value': 'b', 'count': 2}, {'value': 'a', 'count': 1}], 1)
    """

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the values of one partition, all columns in one call."""
        tables = frames.value_counts(frame, self.columns)
        nulls = aggregate(frame, {name: nw.col(name).null_count() for name in self.columns})
        return {name: {"table": tables[name], "nulls": nulls[name]} for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Add up the counts of equal values."""
        table = frames.sum_by_key([state["table"] for state in states], ["value"])
        return {"table": table, "nulls": sum(state["nulls"] for state in states)}

    def finish_column(self, name: str, state: State) -> Frequencies:
        """Put the values of one column in order."""
        ordered = state["table"].sort_by([("count", "descending"), ("value", "ascending")])
        return Frequencies(ordered.combine_chunks(), state["nulls"])
