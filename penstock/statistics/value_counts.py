"""How often each value occurs: vocabularies, modes, frequency encodings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.statistics import shards
from penstock.statistics.aggregates import aggregate
from penstock.statistics.base import ColumnStatistic, State
from penstock.statistics.frequencies import NOTHING, Frequencies, Others, ShardedFrequencies, rows_of
from penstock.statistics.keep import ALL, Keep

_ROWS = 2**18
"""Rows of the slices that long partitions are grouped by, which takes several times the memory of the values."""


@dataclass(frozen=True)
class ValueCounts(ColumnStatistic):
    """The :class:`Frequencies` of each column, exact; the state grows with the number of distinct values.

    The state of a column holds ``nulls`` and either a ``table`` or, when it has very many rows, ``shards``: such tables
    by the hash of the values, see :mod:`penstock.statistics.shards`. Their rows are in no particular order; those of
    the result are. Values that were not kept are told by their numbers, as ``others``.

    Parameters
    ----------
    columns : tuple of str
        The columns.
    keep : Keep
        The values that are asked for; all, unless told. Others may be there too, and nobody relies on them: they are
        left out where that spares the way from the workers to the driver.

    Examples
    --------
    >>> from penstock import frames
    >>> counts = ValueCounts(("c",))
    >>> result = counts.finish(counts.summarise(frames.from_arrow(pa.table({"c": ["a", None, "b", "b"]}))))
    >>> result["c"].table.to_pylist(), result["c"].nulls
    ([{'value': 'b', 'count': 2}, {'value': 'a', 'count': 1}], 1)
    """

    keep: Keep = ALL

    counts_values: ClassVar[bool] = True

    def wanted(self) -> Mapping[str, Keep]:
        """Return what to keep of each column."""
        return dict.fromkeys(self.columns, self.keep)

    def family(self) -> Self:
        """Return the counts of no column, whatever is kept of them."""
        return replace(self, columns=(), keep=ALL)

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

    def cut_column(self, state: State, parts: int) -> list[State]:
        """Cut by the hash of the values, if they have one; the nulls are in the first part."""
        tables = _tables(state)
        if parts == 1 or not shards.divisible(tables[0].schema.field("value").type):
            return [state]
        cut = shards.cut(tables, parts) if "shards" in state else [[each] for each in shards.split(tables[0], parts)]
        return [_state(part, 0 if place else state["nulls"]) for place, part in enumerate(cut)]

    def trim_column(self, state: State, keep: Keep) -> State:
        """Leave out what is not to be kept, but for the numbers of it; the state is not to be merged any more."""
        tables = _tables(state)
        kept = [keep.of(table) for table in tables]
        if keep.top is not None and len(kept) > 1:
            kept = [keep.of(pa.concat_tables(kept))]
        gone = [sum(map(count, tables)) - sum(map(count, kept)) for count in (len, rows_of)]
        return {**_state(kept, state["nulls"]), "others": gone} if gone[0] else state

    def join_column(self, parts: list[State]) -> State:
        """Put parts together, which have no value in common."""
        tables = [table for part in parts for table in _tables(part)]
        joined = _state(tables if _are_few(tables) else _by_place(parts), sum(part["nulls"] for part in parts))
        others = [part["others"] for part in parts if "others" in part]
        return {**joined, "others": [sum(numbers) for numbers in zip(*others, strict=True)]} if others else joined

    def finish_column(self, name: str, state: State) -> Frequencies:
        """Put the values of one column in order, or see that they will be."""
        others = Others(*state.get("others", NOTHING))
        if "shards" in state:
            return ShardedFrequencies(state["shards"], state["nulls"], others)
        return Frequencies(state["table"].sort_by(shards.ORDER).combine_chunks(), state["nulls"], others)


def _tables(state: State) -> list[pa.Table]:
    return list(state["shards"]) if "shards" in state else [state["table"]]


def _are_few(tables: Sequence[pa.Table]) -> bool:
    rows = sum(table.num_rows for table in tables)
    return rows <= shards.LIMIT or not shards.divisible(tables[0].schema.field("value").type)


def _shards(state: State) -> list[pa.Table]:
    return list(state["shards"]) if "shards" in state else shards.split(state["table"])


def _by_place(parts: Sequence[State]) -> list[pa.Table]:
    """Return the shards of states that have no value in common."""
    return [pa.concat_tables(of_place) for of_place in zip(*map(_shards, parts), strict=True)]


def _state(tables: list[pa.Table], nulls: int) -> State:
    """Return the state of tables that have no value in common: one is whole, several are shards."""
    if _are_few(tables):
        return {"table": pa.concat_tables(tables) if len(tables) > 1 else tables[0], "nulls": nulls}
    return {"shards": shards.split(tables[0]) if len(tables) == 1 else tables, "nulls": nulls}
