"""How often known texts occur, exactly; and which others do, in memory of a fixed size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.statistics.base import State, Statistic, merge_fields
from penstock.statistics.bin_counts import add_tables
from penstock.statistics.counts import Count
from penstock.statistics.distinct.frequent_items import most_frequent


@dataclass(frozen=True, eq=False)
class KnownValueCount(Count):
    """The values of a column, of which some are known.

    Attributes
    ----------
    rows, nulls : int
    known : numpy.ndarray of shape (n_known,), int64
        Rows of each known value, in their order; exact.
    others : mapping of str to int
        Other values, frequent ones if there are many, and in how many rows they are.
    others_error : int
        By how much each count of these may be too low, and how often a value is there at most that is not told; 0 where
        all are told.
    """

    known: np.ndarray
    others: Mapping[str, int]
    others_error: int

    @property
    def other(self) -> int:
        """Rows that have a value that is not known."""
        return self.valid - int(self.known.sum())


@dataclass(frozen=True)
class KnownValues(Statistic):
    """The :class:`KnownValueCount` of each column of strings.

    Parameters
    ----------
    columns : tuple of str
    values : tuple of tuple of str
        The known values of each column, none twice.
    size : int, default 256
        How many others are kept, at most. Up to so many counts of them are exact; of n rows with more they are too low
        by at most ``n / (size + 1)``, by the summary of Misra and Gries.

    Raises
    ------
    ConfigError
        There are not as many values as columns.

    Examples
    --------
    >>> counts = KnownValues(("c",), (("a", "b"),))
    >>> found = counts.finish(counts.summarise(frames.from_arrow(pa.table({"c": ["a", "z", None, "a"]}))))["c"]
    >>> found.known.tolist(), found.others, found.nulls
    ([2, 0], {'z': 1}, 1)
    """

    merges_slices = True

    values: tuple[tuple[str, ...], ...]
    size: int = 256

    def __post_init__(self) -> None:
        if len(self.values) != len(self.columns):
            raise ConfigError(f"there are values of {len(self.values)} columns, expected {len(self.columns)}")

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the values of one partition."""
        counted = frames.value_counts(frame, self.columns)
        parts = [self._part(counted[name], known) for name, known in zip(self.columns, self.values, strict=True)]
        known = [np.empty(0, np.int64), *(found for found, _ in parts)]
        return {
            "rows": len(frame),
            "known": pa.table({"count": np.concatenate(known)}),
            "others": [others for _, others in parts],
        }

    def _part(self, table: pa.Table, known: Sequence[str]) -> tuple[np.ndarray, State]:
        """Return the counts of known values, and the state of the others, with the rows that have a value."""
        places = pc.index_in(table["value"], pa.array(known, table.schema.field("value").type)).combine_chunks()
        counts, is_known = table["count"].to_numpy(), places.is_valid().to_numpy(zero_copy_only=False)
        found = np.zeros(len(known), np.int64)
        found[places.drop_null().to_numpy()] = counts[is_known]
        return found, _state(table, ~is_known, self.size)

    def merge(self, states: Sequence[State]) -> State:
        """Add up, and keep the most frequent of the others."""
        return merge_fields(states, rows=sum, known=add_tables, others=self._merged)

    def _merged(self, states: Sequence[Sequence[State]]) -> list[State]:
        keep = partial(_most_frequent, size=self.size)
        return [keep(parts) for parts in zip(*states, strict=True)]

    def finish(self, state: State) -> dict[str, KnownValueCount]:
        """Return the counts by column."""
        ends = np.cumsum([len(values) for values in self.values])
        known = np.split(state["known"]["count"].to_numpy(), ends[:-1])
        parts = zip(self.columns, known, state["others"], strict=True)
        return {name: _finished(state["rows"], counts, others) for name, counts, others in parts}


def _state(table: pa.Table, is_other: np.ndarray, size: int) -> State:
    """Return the state of values that are not known, the most frequent ones; texts that are not kept are not copied."""
    counts = table["count"].to_numpy()
    others = counts[is_other]
    surplus = int(np.partition(others, -size - 1)[-size - 1]) if len(others) > size else 0
    kept = table.filter(pa.array(is_other & (counts > surplus)))
    lowered = kept.set_column(1, "count", pc.subtract(kept["count"], surplus))
    return {"rows": int(counts.sum()), "error": surplus, "table": lowered}


def _most_frequent(parts: Sequence[State], size: int) -> State:
    sums = {each: sum(part[each] for part in parts) for each in ("rows", "error")}
    return most_frequent(frames.sum_by_key([part["table"] for part in parts], ["value"]), size, sums)


def _finished(rows: int, known: np.ndarray, others: State) -> KnownValueCount:
    table = others["table"].sort_by([("count", "descending"), ("value", "ascending")])
    told = dict(zip(table["value"].to_pylist(), table["count"].to_pylist(), strict=True))
    return KnownValueCount(rows, rows - others["rows"], known, told, others["error"])
