"""The different values of a column in memory of a fixed size: exact while they are few, sketches beyond."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from penstock.statistics.distinct.frequencies import rows_of
from penstock.statistics.distinct.frequent_items import most_frequent
from penstock.statistics.distinct.hyperloglog import ERROR, DistinctCounts, sketched
from penstock.statistics.lengths import Length

_WIDTH = 64
"""Bytes of a value, on average, up to which `size` of them are kept; of longer ones so many fewer."""
_SKETCH = DistinctCounts(())


@dataclass(frozen=True)
class ValueSummary:
    """How many different values a column has, and those that were kept, with their counts.

    Attributes
    ----------
    distinct : int
        How many there are; an estimate where `distinct_error` is above 0.
    distinct_error : float
        The standard error of `distinct`, relative; 0.0 where it is exact.
    table : pyarrow.Table
        ``value`` and ``count``, in no particular order: all values where `distinct` is exact, else frequent ones.
    count_error : int
        By how much each count may be too low, and how often a value occurs at most that is not in the table.
    rows : int
        Rows that have a value.
    first, last : str or None
        Of strings, by their UTF-8 bytes.
    length : Length or None
        Characters of strings.
    """

    distinct: int
    distinct_error: float
    table: pa.Table
    count_error: int
    rows: int
    first: str | None = None
    last: str | None = None
    length: Length | None = None

    def top(self, k: int) -> list[tuple[Any, int]]:
        """Return the `k` most frequent values with their counts, the smallest of equally frequent ones first."""
        counts = self.table["count"].to_numpy()
        least = np.partition(counts, -k)[-k] if 0 < k < len(counts) else 0
        leading = self.table.filter(pa.array(counts >= least)).sort_by(shards.ORDER).slice(0, k)
        return list(zip(leading["value"].to_pylist(), leading["count"].to_pylist(), strict=True))


@dataclass(frozen=True)
class DistinctValues(ColumnStatistic):
    """The :class:`ValueSummary` of each column of numbers, booleans, strings, dates or times; nulls do not count.

    Up to `size` different values all is exact. Of more, the number of values is estimated by HyperLogLog
    (:class:`~penstock.statistics.distinct.hyperloglog.DistinctCounts`, standard error 0.8 %), and the most frequent are
    kept by the summary of Misra and Gries (:class:`~penstock.statistics.distinct.frequent_items.FrequentItems`): of n
    rows, counts are too low by at most ``n / (size + 1)``. Both come from one count of the values of a partition,
    and so do the ends and the lengths of strings, at the price of the different ones.

    Parameters
    ----------
    columns : tuple of str
        The columns.
    size : int, default 10_000
        How many values are kept, at most, of at most 64 bytes on average; of longer ones as many as take that memory.

    Raises
    ------
    ConfigError
        `size` is less than 1.

    Examples
    --------
    >>> values = DistinctValues(("c",))
    >>> found = values.finish(values.summarise(frames.from_arrow(pa.table({"c": ["b", "a", None, "b"]}))))["c"]
    >>> found.distinct, found.distinct_error, found.top(1)
    (2, 0.0, [('b', 2)])
    """

    size: int = 10_000

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError(f"size is {self.size}, expected at least 1")

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the values of one partition, and sketch them where they are many."""
        counted = frames.value_counts(frame, self.columns)
        return {name: self._counted(counted[name]) for name in self.columns}

    def _counted(self, table: pa.Table) -> State:
        return {**self._state(table, rows_of(table), 0, None), "text": _text(table)}

    def merge_column(self, states: Sequence[State]) -> State:
        """Add up the counts of equal values; sketch what was exact where it must be."""
        table = frames.sum_by_key([state["table"] for state in states], ["value"])
        rows, error = (sum(state[each] for state in states) for each in ("rows", "error"))
        exact = all(state["sketch"] is None for state in states)
        sketch = None if exact else _SKETCH.merge_column([_sketch(state) for state in states])
        return {**self._state(table, rows, error, sketch), "text": _merged([state["text"] for state in states])}

    def _state(self, table: pa.Table, rows: int, error: int, sketch: State | None) -> State:
        """Return the state of values, cut to what is kept; `sketch` is None where `table` has all of them."""
        size = min(self.size, max(1, self.size * _WIDTH * table.num_rows // max(1, table["value"].nbytes)))
        if table.num_rows > size and sketch is None:
            sketch = sketched(table["value"], rows)
        return most_frequent(table, size, {"rows": rows, "error": error, "sketch": sketch})

    def finish_column(self, name: str, state: State) -> ValueSummary:
        """Return what is known of the values of one column."""
        table, rows, error, text = (state[part] for part in ("table", "rows", "error", "text"))
        told = () if text is None else (text["first"], text["last"], _length(text, rows))
        if state["sketch"] is None:
            return ValueSummary(table.num_rows, 0.0, table, error, rows, *told)
        distinct = min(round(_SKETCH.finish_column(name, state["sketch"]).distinct), rows)
        return ValueSummary(max(distinct, table.num_rows), ERROR, table, error, rows, *told)


def _sketch(state: State) -> State:
    """Return the sketch of a state; one that is exact is sketched."""
    return state["sketch"] or sketched(state["table"]["value"], state["rows"])


def _text(table: pa.Table) -> dict[str, Any] | None:
    """Return the ends of strings, and their lengths, from the different ones; None of other values."""
    if not pa.types.is_string(table["value"].type):
        return None
    lengths = pc.utf8_length(table["value"]).cast(pa.int64())
    ends, sizes = pc.min_max(table["value"]).as_py(), pc.min_max(lengths).as_py()
    characters = pc.sum(pc.multiply(lengths, table["count"])).as_py() or 0
    return {"first": ends["min"], "last": ends["max"], **sizes, "characters": characters}


def _merged(texts: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    known = [text for text in texts if text is not None and text["first"] is not None]
    if not known:
        return texts[0]
    ends: dict[str, Callable[..., Any]] = {"first": min, "last": max, "min": min, "max": max, "characters": sum}
    return {part: of(text[part] for text in known) for part, of in ends.items()}


def _length(text: dict[str, Any], rows: int) -> Length:
    return Length(text["min"], text["characters"] / rows if rows else None, text["max"])
