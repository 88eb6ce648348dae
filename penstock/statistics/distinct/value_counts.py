"""How often each value occurs: vocabularies, modes, frequency encodings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.statistics.base import State
from penstock.statistics.distinct import shards
from penstock.statistics.distinct.by_value import ByValue, state_of, tables_of
from penstock.statistics.distinct.footprint import Held
from penstock.statistics.distinct.frequencies import NOTHING, Frequencies, Others, ShardedFrequencies, rows_of
from penstock.statistics.distinct.top_k import ALL, TopK

_ROWS = 2**18
"""Rows of the slices that long partitions are grouped by, which takes several times the memory of the values."""


@dataclass(frozen=True)
class ValueCounts(ByValue):
    """The :class:`Frequencies` of each column, exact; the state grows with the number of distinct values.

    The state of a column holds ``nulls`` and either a ``table`` or, when it has very many rows, ``shards``: such tables
    by the hash of the values, see :mod:`penstock.statistics.distinct.shards`. Their rows are in no particular order;
    those of the result are. Values that were not kept are told by their numbers, as ``others``.

    Parameters
    ----------
    columns : tuple of str
        The columns.
    keep : TopK
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

    merges_slices = True

    beside: ClassVar = {"nulls": sum}
    keep: TopK = ALL

    def retention(self) -> Mapping[str, TopK]:
        """Return what to keep of each column."""
        return dict.fromkeys(self.columns, self.keep)

    def template(self) -> Self:
        """Return the counts of no column, whatever is kept of them."""
        return replace(self, columns=(), keep=ALL)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the values of one partition, all columns in one call; of a long one on a CPU by slices."""
        if len(frame) <= 2 * _ROWS or frames.is_gpu(frame):
            return self._counted(frame)
        slices = (frame[first : first + _ROWS] for first in range(0, len(frame), _ROWS))
        return self.merge_consuming([self._counted(rows) for rows in slices])

    def _counted(self, rows: nw.DataFrame[Any]) -> State:
        tables = frames.value_counts(rows, self.columns)
        nulls = {name: len(rows) - rows_of(table) for name, table in tables.items()}
        return {name: state_of([tables[name]], {"nulls": nulls[name]}) for name in self.columns}

    def add(self, tables: list[pa.Table], beside: State) -> pa.Table:
        """Add up the counts of equal values."""
        kinds = {table.schema.field("value").type for table in tables}
        if len(tables) == 2 and len(kinds) == 1 and all(map(_is_exact, kinds)):
            return _added(*sorted(tables, key=len, reverse=True))
        return frames.sum_by_key(tables, ["value"])

    def provides_counts_of(self) -> tuple[str, ...]:
        """Return all columns."""
        return self.columns

    def value_counts(self, state: State, columns: Sequence[str]) -> dict[str, State]:
        """Return the states as they are."""
        return {name: state[name] for name in columns}

    def footprint(self) -> Held:
        """Return what a state has for each value: its count."""
        return Held(prunable=True)

    def prune_column(self, state: State, keep: TopK) -> State:
        """Leave out what is not to be kept, but for the numbers of it; the state is not to be merged any more."""
        tables = tables_of(state)
        kept = [keep.of(table) for table in tables]
        if keep.top is not None and len(kept) > 1:
            kept = [keep.of(pa.concat_tables(kept))]
        gone = [sum(map(count, tables)) - sum(map(count, kept)) for count in (len, rows_of)]
        return state_of(kept, {"nulls": state["nulls"], "others": gone}) if gone[0] else state

    def concat_column(self, parts: list[State]) -> State:
        """Put parts together, which have no value in common."""
        others = [part["others"] for part in parts if "others" in part]
        joined = super().concat_column(parts)
        return {**joined, "others": [sum(numbers) for numbers in zip(*others, strict=True)]} if others else joined

    def finish_column(self, name: str, state: State) -> Frequencies:
        """Put the values of one column in order, or see that they will be."""
        others = Others(*state.get("others", NOTHING))
        if "shards" in state:
            return ShardedFrequencies(state["shards"], state["nulls"], others)
        return Frequencies(state["table"].sort_by(shards.ORDER).combine_chunks(), state["nulls"], others)


def _is_exact(kind: pa.DataType) -> bool:
    """Return whether values of a type are equal if, and only if, their bytes are."""
    return bool(pa.types.is_string(kind) or pa.types.is_integer(kind))


def _added(counts: pa.Table, more: pa.Table) -> pa.Table:
    """Return the sums of two tables, in each of which no value occurs twice.

    The smaller is looked up in the larger, as days are in what was counted before: a fifth of what grouping both takes.
    """
    place = pc.index_in(more["value"], value_set=counts["value"]).combine_chunks()
    is_known = place.is_valid().to_numpy(zero_copy_only=False)
    sums = counts["count"].to_numpy().copy()
    sums[place.drop_null().to_numpy()] += more["count"].to_numpy()[is_known]
    known = pa.table({"value": counts["value"], "count": sums}, counts.schema)
    return pa.concat_tables([known, more.filter(pa.array(~is_known))])
