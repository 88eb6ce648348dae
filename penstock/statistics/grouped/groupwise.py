"""A statistic of each of many groups of rows: computed one by one, or for all groups at once where there is a way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import narwhals as nw
import numpy as np

from penstock.statistics.base import State, Statistic


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
