"""Several statistics of the rows of each key, for very many keys, which are found in the same scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.statistics.base import State, Statistic
from penstock.statistics.gram import Gram
from penstock.statistics.grouped.base import union
from penstock.statistics.grouped.group_grams import GroupGrams
from penstock.statistics.grouped.key_places import key_places, plain_keys

MOST = 100_000
"""Each key has a state of its own, some kilobytes or more."""
_AT_ONCE: Mapping[type[Statistic], Callable[[Any], Groupwise]] = {Gram: GroupGrams}
"""The statistics that are computed for all groups at once; what is derived of one may be another statistic."""


@dataclass(frozen=True, eq=False)
class KeyResults:
    """What is known of the rows of each key.

    Parameters
    ----------
    keys : pyarrow.Table
        A row a key, ascending, strings by their UTF-8 bytes; the columns are those of the keys.
    results : tuple of mapping, or DataValueError
        The results of each key by their names; the error that a statistic raised of the key's rows in their place.
    nulls : int
        Rows of no key, as part of it is null.
    """

    keys: pa.Table
    results: tuple[Mapping[str, Any] | DataValueError, ...]
    nulls: int


@dataclass(frozen=True)
class ByKey(Statistic):
    """The :class:`KeyResults` of statistics; rows with a null key are counted, and no more.

    Whatever a statistic promises holds of it for each key: states are merged key by key, in the order of fragments.

    Parameters
    ----------
    columns : tuple of str
        All that is read.
    names : tuple of str
        What the results of the statistics are called.
    statistics : tuple of Statistic
    by : tuple of str
        Strings, integers or booleans.
    limit : int, default 100_000
        The most keys.

    Examples
    --------
    >>> from penstock.statistics import Counts
    >>> counts = ByKey.of(["shop"], {"counts": Counts(("x",))})
    >>> frame = frames.from_arrow(pa.table({"shop": ["b", "a", "b", None], "x": [1, None, 3, 5]}))
    >>> found = counts.finish(counts.summarise(frame))
    >>> found.keys["shop"].to_pylist(), found.results[1], found.nulls
    (['a', 'b'], {'counts': {'x': Count(rows=2, nulls=0)}}, 1)
    """

    names: tuple[str, ...]
    statistics: tuple[Statistic, ...]
    by: tuple[str, ...]
    limit: int = MOST

    @classmethod
    def of(cls, by: Sequence[str], statistics: Mapping[str, Statistic], *, limit: int = MOST) -> ByKey:
        """Return these statistics of the rows of each key."""
        return cls(union([*statistics.values()], *by), tuple(statistics), tuple(statistics.values()), tuple(by), limit)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the keys, and the states of each.

        Raises
        ------
        DataValueError
            There are more keys than the limit; so does `merge`.
        """
        keys = plain_keys(frames.to_arrow(frame.select(*self.by)).columns)
        known = reduce(pc.and_, [key.is_valid() for key in keys])
        keys, rows = [key.filter(known) for key in keys], np.flatnonzero(known.to_numpy())
        first, place = self._places(keys)
        ordered = frame.select(*self.columns)[rows[np.argsort(place, kind="stable")]]
        counts = np.bincount(place, minlength=len(first))
        states = [each.summarise(ordered, counts) for each in self._groupwise]
        return {"nulls": len(frame) - len(rows), "keys": self._table(keys, first), "states": states}

    def merge(self, states: Sequence[State]) -> State:
        """Merge key by key."""
        keys = pa.concat_tables([state["keys"] for state in states])
        first, place = self._places(keys.columns)
        places = np.split(place, np.cumsum([state["keys"].num_rows for state in states])[:-1])
        merged = [
            each.merge([state["states"][which] for state in states], places, len(first))
            for which, each in enumerate(self._groupwise)
        ]
        nulls = sum(state["nulls"] for state in states)
        return {"nulls": nulls, "keys": self._table(keys.columns, first), "states": merged}

    def finish(self, state: State) -> KeyResults:
        """Return the results of each key, and what went wrong with those that have none."""
        order = pc.sort_indices(state["keys"], [(name, "ascending") for name in self.by])
        finish = [each.finish(of_each) for each, of_each in zip(self._groupwise, state["states"], strict=True)]
        results = tuple(self._finished(finish, place) for place in order.to_pylist())
        return KeyResults(state["keys"].take(order), results, state["nulls"])

    def _finished(self, finish: Sequence[Callable[[int], Any]], place: int) -> Mapping[str, Any] | DataValueError:
        try:
            return {name: result(place) for name, result in zip(self.names, finish, strict=True)}
        except DataValueError as error:
            return error

    @property
    def _groupwise(self) -> list[Groupwise]:
        return [_AT_ONCE.get(type(each), EachGroup)(each) for each in self.statistics]

    def _table(self, keys: Sequence[pa.ChunkedArray], first: np.ndarray) -> pa.Table:
        rows = pa.array(first)
        return pa.table([key.take(rows) for key in keys], list(self.by))

    def _places(self, keys: Sequence[pa.ChunkedArray]) -> tuple[np.ndarray, np.ndarray]:
        first, place = key_places(keys)
        if len(first) > self.limit:
            raise DataValueError(
                f"{' and '.join(map(repr, self.by))} have {len(first):,} keys or more, expected at most {self.limit:,}",
                hint="Take a key that more rows share: a region in place of a customer, say.",
                column=self.by[0],
            )
        return first, place


class Groupwise(Protocol):
    """A statistic of groups, each of which has a number from 0; one state is that of all groups."""

    def summarise(self, rows: nw.DataFrame[Any], counts: np.ndarray) -> State:
        """Return the state of the groups of one partition: `rows` are group by group, `counts` of them each."""

    def merge(self, states: Sequence[State], places: Sequence[np.ndarray], number: int) -> State:
        """Return the state of `number` groups; `places` has, for each state, what number its groups have in it."""

    def finish(self, state: State) -> Callable[[int], Any]:
        """Return what gives the result of a group, by its number."""


@dataclass(frozen=True)
class EachGroup:
    """Any statistic, group by group; the state is a list of a state for each.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from penstock import frames
    >>> from penstock.statistics import Counts
    >>> counts = EachGroup(Counts(("x",)))
    >>> state = counts.summarise(frames.from_arrow(pa.table({"x": [1, None, 3]})), np.array([1, 2]))
    >>> merged = counts.merge([state, state], [np.array([0, 1]), np.array([1, 0])], 2)
    >>> counts.finish(state)(1), counts.finish(merged)(1)
    ({'x': Count(rows=2, nulls=1)}, {'x': Count(rows=3, nulls=1)})
    """

    statistic: Statistic

    def summarise(self, rows: nw.DataFrame[Any], counts: np.ndarray) -> State:
        """Return the states of the groups."""
        ends = [0, *np.cumsum(counts).tolist()]
        return [self.statistic.summarise(rows[start:end]) for start, end in pairwise(ends)]

    def merge(self, states: Sequence[State], places: Sequence[np.ndarray], number: int) -> State:
        """Merge the states of each group, in their order."""
        parts: list[list[State]] = [[] for _ in range(number)]
        for state, place in zip(states, places, strict=True):
            for each, at in zip(state, place.tolist(), strict=True):
                parts[at].append(each)
        return [self.statistic.merge(each) for each in parts]

    def finish(self, state: State) -> Callable[[int], Any]:
        """Return what gives the result of a group."""
        return lambda place: self.statistic.finish(state[place])
