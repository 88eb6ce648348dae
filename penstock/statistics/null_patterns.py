"""Which columns are null together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.statistics.base import State, Statistic, merge_fields
from penstock.statistics.distinct.frequent_items import most_frequent

_BITS = 62
"""Columns whose nulls are told by one int64."""


@dataclass(frozen=True)
class NullPattern:
    """Columns that are null together, and no others, and in how many rows they are."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class PatternCounts:
    """The patterns of nulls, most frequent first; that of rows without a null among them.

    Counts may be too low, each by no more than `error`: patterns of no more rows than that may be missing.
    """

    patterns: tuple[NullPattern, ...]
    error: int


@dataclass(frozen=True)
class NullPatterns(Statistic):
    """The :class:`PatternCounts` of columns of any type.

    Parameters
    ----------
    columns : tuple of str
    size : int, default=1000
        How many patterns are kept, at most; up to so many all counts are exact, and beyond they are too low by at most
        ``n / (size + 1)`` of n rows, see :class:`~penstock.statistics.distinct.frequent_items.FrequentItems`.

    Examples
    --------
    >>> patterns = NullPatterns(("x", "y"))
    >>> table = pa.table({"x": [1, None, None], "y": [1, None, None]})
    >>> patterns.finish(patterns.summarise(frames.from_arrow(table))).patterns[0]
    NullPattern(columns=('x', 'y'), rows=2)
    """

    merges_slices = True

    size: int = 1000

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError(f"size is {self.size}, expected at least 1")

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the patterns of one partition; a pattern is the places of its columns as text."""
        places = [place for place, name in enumerate(self.columns) if frame[name].null_count()]
        if not places:
            return self._state(pa.table({"value": [""], "count": [len(frame)]}), 0)
        words = [places[first : first + _BITS] for first in range(0, len(places), _BITS)]
        masks = {str(number): self._mask(word) for number, word in enumerate(words)}
        grouped = frame.select(**masks).group_by(*masks).agg(nw.len().alias("count"))
        rows = frames.to_arrow(grouped).to_pylist()
        found = {_spelled([row[name] for name in masks], words): row["count"] for row in rows}
        counts = pa.array([found[key] for key in sorted(found)], pa.int64())
        return self._state(pa.table({"value": sorted(found), "count": counts}), 0)

    def _mask(self, places: Sequence[int]) -> nw.Expr:
        bits = [nw.col(self.columns[place]).is_null().cast(nw.Int64) * 2**bit for bit, place in enumerate(places)]
        return reduce(add, bits)

    def _state(self, table: pa.Table, error: int) -> State:
        return most_frequent(table, self.size, {"error": error})

    def merge(self, states: Sequence[State]) -> State:
        """Add up the counts of equal patterns, and keep the most frequent."""
        table = frames.sum_by_key([state["table"] for state in states], ["value"])
        return self._state(table, **merge_fields(states, error=sum))

    def finish(self, state: State) -> PatternCounts:
        """Return the patterns by their columns."""
        rows = sorted(state["table"].to_pylist(), key=lambda row: (-row["count"], row["value"]))
        patterns = [NullPattern(self._named(row["value"]), row["count"]) for row in rows if row["count"]]
        return PatternCounts(tuple(patterns), state["error"])

    def _named(self, pattern: str) -> tuple[str, ...]:
        return tuple(self.columns[int(place)] for place in pattern.split(",") if place)


def _spelled(masks: Sequence[int], words: Sequence[Sequence[int]]) -> str:
    bits = zip(masks, words, strict=True)
    return ",".join(str(place) for mask, word in bits for bit, place in enumerate(word) if mask >> bit & 1)
