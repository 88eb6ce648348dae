"""The most frequent values of a column, from a sketch of fixed size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.statistics.base import ColumnStatistic, State
from penstock.statistics.distinct import shards
from penstock.statistics.distinct.footprint import Found, Held
from penstock.statistics.distinct.frequencies import Frequencies, Others, rows_of
from penstock.statistics.distinct.partitionable import Partitionable
from penstock.statistics.distinct.value_counts import ValueCounts


@dataclass(frozen=True)
class SketchedFrequencies(Frequencies):
    """The :class:`Frequencies` of frequent values, whose counts may be too low, by no more than `error`.

    Rows that are not in the counts are in :attr:`others`; of how many values they are is not known.
    """

    error: int = 0


@dataclass(frozen=True)
class FrequentItems(ColumnStatistic, Partitionable):
    """The :class:`SketchedFrequencies` of each column: of n rows, counts are too low by at most ``n / (size + 1)``.

    So every value of more rows than that is among them, and up to `size` different values all counts are exact.

    Parameters
    ----------
    columns : tuple of str
        The columns.
    size : int
        How many values are kept, at most.

    Raises
    ------
    ConfigError
        `size` is less than 1.

    Notes
    -----
    The summary of Misra and Gries, merged as in Agarwal et al., "Mergeable summaries" (PODS 2012): of more than `size`
    values the largest count that does not fit is taken off every count, and what is left of none is gone. That hangs on
    what is merged with what, which is the same on every engine, and another for fragments of another size.

    Examples
    --------
    >>> items = FrequentItems(("c",), size=2)
    >>> column = pa.table({"c": ["a"] * 5 + ["b"] * 3 + ["c", None]})
    >>> found = items.finish(items.summarise(frames.from_arrow(column)))["c"]
    >>> found.table.to_pylist(), found.error, found.total
    ([{'value': 'a', 'count': 4}, {'value': 'b', 'count': 2}], 1, 9)
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError(f"size of a sketch is {self.size}, expected at least 1")

    def footprints(self) -> Mapping[str, Held]:
        """Return what a state has of each column: no more than `size` values."""
        return dict.fromkeys(self.columns, Held(most=self.size))

    def cardinalities(self, result: Any) -> Mapping[str, Found]:
        """Return by how much counts may be too low; of how many values there were nothing is known."""
        return {name: Found(None, result[name].error) for name in self.columns}

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the values of one partition, and keep the most frequent."""
        counted = ValueCounts(self.columns).finish(ValueCounts(self.columns).summarise(frame))
        return {
            name: most_frequent(
                found.top(self.size + 1).table, self.size, {"rows": found.total, "nulls": found.nulls, "error": 0}
            )
            for name, found in counted.items()
        }

    def merge_column(self, states: Sequence[State]) -> State:
        """Add up the counts of equal values, and keep the most frequent."""
        sums = {each: sum(state[each] for state in states) for each in ("rows", "nulls", "error")}
        return most_frequent(frames.sum_by_key([state["table"] for state in states], ["value"]), self.size, sums)

    def finish_column(self, name: str, state: State) -> SketchedFrequencies:
        """Put the values of one column in order."""
        table = state["table"].sort_by(shards.ORDER).combine_chunks()
        return SketchedFrequencies(table, state["nulls"], Others(0, state["rows"] - rows_of(table)), state["error"])


def most_frequent(table: pa.Table, size: int, sums: dict[str, Any]) -> State:
    """Return a state of at most `size` values of a table; what does not fit is taken off all counts, and is an error.

    Parameters
    ----------
    table : pyarrow.Table
        ``value``, none twice, and ``count``.
    size : int
    sums : dict
        What else the state has, ``error`` among it.

    Examples
    --------
    >>> most_frequent(pa.table({"value": ["a", "b", "c"], "count": [5, 3, 1]}), 2, {"error": 0})["table"].to_pylist()
    [{'value': 'a', 'count': 4}, {'value': 'b', 'count': 2}]
    """
    if table.num_rows <= size:
        return {**sums, "table": table}
    counts = table["count"].to_numpy()
    surplus = int(np.partition(counts, -size - 1)[-size - 1])
    kept = table.filter(pa.array(counts > surplus))
    lowered = kept.set_column(1, "count", pc.subtract(kept["count"], surplus))
    return {**sums, "table": lowered, "error": sums["error"] + surplus}
