"""How often each value of a column occurs, group by group: exact medians and modes of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.statistics.base import State, Statistic
from penstock.statistics.labels import categories, refuse_more, without_minus_zero

_MOST = 2**24
"""Pairs of a group and a value that are counted: some hundred megabytes."""


@dataclass(frozen=True, eq=False)
class GroupValues:
    """Which values the rows of each group have, column by column.

    Parameters
    ----------
    tables : dict of str to pyarrow.Table
        By column, a row for each value of each group: the keys, ``value`` and ``count``, ascending in this order,
        strings by their UTF-8 bytes, null last.
    by : tuple of str
        The columns grouped by.

    Examples
    --------
    >>> statistic = GroupValueCounts(("k", "x"))
    >>> frame = frames.from_arrow(pa.table({"k": ["b", "a", "b", "b", None], "x": [1.0, 5.0, 3.0, 3.0, 2.0]}))
    >>> found = statistic.finish(statistic.summarise(frame)).known()
    >>> found.keys["k"].to_pylist(), found.of("x", "median").to_pylist(), found.of("x", "mode").to_pylist()
    (['a', 'b'], [5.0, 3.0], [5.0, 3.0])
    """

    tables: Mapping[str, pa.Table]
    by: tuple[str, ...]

    @cached_property
    def keys(self) -> pa.Table:
        """A row for each group, ascending."""
        table = next(iter(self.tables.values()))
        return table.take(_starts(table, self.by)).select(list(self.by))

    def known(self) -> GroupValues:
        """Return the groups without a null among their keys."""
        whole = {name: table.filter(_all_valid(table, self.by)) for name, table in self.tables.items()}
        return GroupValues(whole, self.by)

    def of(self, column: str, statistic: str) -> pa.Array:
        """Return a statistic of each group, in the type of the column; null of a group without a value.

        Parameters
        ----------
        statistic : {"median", "mode"}
            Of an even number of values the lower of the middle two; of several as frequent the smallest.
        """
        table = self.tables[column]
        starts = _starts(table, self.by)
        group = np.repeat(np.arange(len(starts)), np.diff([*starts, len(table)]))
        count = np.where(table["value"].is_valid().to_numpy(), table["count"].to_numpy(), 0)
        rows = (_medians if statistic == "median" else _modes)(group, count, starts)
        none = np.bincount(group, count, len(starts)) == 0
        return table["value"].combine_chunks().take(pa.array(rows, mask=none))


def _starts(table: pa.Table, by: Sequence[str]) -> np.ndarray:
    """Return the first row of each group of an ordered table."""
    codes = [table[name].combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy() for name in by]
    changes = [np.diff(each, prepend=-1) != 0 for each in codes]
    return np.flatnonzero(np.logical_or.reduce(changes))


def _all_valid(table: pa.Table, by: Sequence[str]) -> pa.Array:
    return pa.array(np.logical_and.reduce([table[name].is_valid().to_numpy() for name in by]))


def _medians(group: np.ndarray, count: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the row of each group in which half of its values are reached."""
    up_to = np.cumsum(count)
    before = (up_to - count)[starts]
    middle = before + (np.bincount(group, count, len(starts)).astype(np.int64) + 1) // 2
    return np.minimum(np.searchsorted(up_to, middle), len(count) - 1)


def _modes(group: np.ndarray, count: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the first row of the largest count of each group."""
    return np.lexsort((-count, group))[starts]  # which is stable


@dataclass(frozen=True)
class GroupValueCounts(Statistic):
    """The :class:`GroupValues` of columns; the state grows with the pairs of a group and a value. On the host.

    Parameters
    ----------
    columns : tuple of str
        Those grouped by (strings, integers or booleans), then those counted.
    keys : int, default=1
        How many columns are grouped by together.
    limit : int, default=16,777,216
        The most pairs of a group and a value of a column.

    Raises
    ------
    ConfigError
        There are no keys, or nothing to count.
    """

    keys: int = 1
    limit: int = _MOST

    def __post_init__(self) -> None:
        if not 1 <= self.keys < len(self.columns):
            raise ConfigError(
                f"keys is {self.keys} of {len(self.columns)} columns, expected at least one of both kinds"
            )

    @property
    def by(self) -> tuple[str, ...]:
        """The columns grouped by."""
        return self.columns[: self.keys]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return how often each pair occurs in one partition; DataValueError for more than the limit, as of `merge`."""
        keys = [categories(frame, name) for name in self.by]
        ones = pa.array(np.ones(len(frame), dtype=np.int64))
        names = [*self._key_names, "value", "count"]
        tables = {
            name: pa.table([*keys, without_minus_zero(categories(frame, name)), ones], names)
            for name in self.columns[self.keys :]
        }
        return {name: self._added(name, [table.slice(0, 0), table]) for name, table in tables.items()}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the counts of equal pairs."""
        return {name: self._added(name, [state[name] for state in states]) for name in states[0]}

    def finish(self, state: State) -> GroupValues:
        """Return the values in order."""
        names = [*self._key_names, "value"]
        ordered = {name: table.sort_by([(each, "ascending") for each in names]) for name, table in state.items()}
        return GroupValues({n: t.rename_columns([*self.by, "value", "count"]) for n, t in ordered.items()}, self.by)

    @property
    def _key_names(self) -> list[str]:
        """What keys are called in a state, whatever the columns are called."""
        return [f"key {place}" for place in range(self.keys)]

    def _added(self, name: str, tables: Sequence[pa.Table]) -> pa.Table:
        added = frames.sum_by_key(tables, [*self._key_names, "value"])
        hint = 'Round its values, or group by fewer: strategy="mean" of an Imputer needs none of them.'
        refuse_more(name, len(added), self.limit, f"different values of groups by {', '.join(self.by)}", "", hint)
        return added
