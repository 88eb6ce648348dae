"""Several statistics of each of several sets of rows: all of them, slices of them, or replicates of a bootstrap."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.statistics.base import State, Statistic


@dataclass(frozen=True)
class Grouped(Statistic):
    """The same statistics of several sets of rows; :meth:`finish` gives their results by the key of the set.

    Parameters
    ----------
    columns : tuple of str
        All that is read.
    statistics : tuple of Statistic
    """

    statistics: tuple[Statistic, ...]

    @abstractmethod
    def finish(self, state: State) -> Mapping[Hashable, tuple[Any, ...]]:
        """Return the result of every statistic, in their order, by key."""

    def _summarised(self, frame: nw.DataFrame[Any]) -> list[State]:
        return [statistic.summarise(frame) for statistic in self.statistics]

    def _merged(self, states: Sequence[Sequence[State]]) -> list[State]:
        return [each.merge([parts[place] for parts in states]) for place, each in enumerate(self.statistics)]

    def _finished(self, states: Sequence[State]) -> tuple[Any, ...]:
        return tuple(each.finish(state) for each, state in zip(self.statistics, states, strict=True))


@dataclass(frozen=True)
class Ungrouped(Grouped):
    """Statistics of all rows, under the key ``()``.

    Examples
    --------
    >>> from penstock import frames
    >>> from penstock.statistics import Counts
    >>> import pyarrow as pa
    >>> whole = Ungrouped.of([Counts(("x",))])
    >>> whole.finish(whole.summarise(frames.from_arrow(pa.table({"x": [1, None]}))))
    {(): ({'x': Count(rows=2, nulls=1)},)}
    """

    @classmethod
    def of(cls, statistics: Sequence[Statistic]) -> Ungrouped:
        """Return the statistics of all rows."""
        return cls(union(statistics), tuple(statistics))

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the states of the statistics."""
        return self._summarised(frame)

    def merge(self, states: Sequence[State]) -> State:
        """Merge statistic by statistic."""
        return self._merged(states)

    def finish(self, state: State) -> Mapping[Hashable, tuple[Any, ...]]:
        """Return the results under the key ``()``."""
        return {(): self._finished(state)}


def union(statistics: Sequence[Statistic], *more: str) -> tuple[str, ...]:
    """Return the columns of all statistics, and `more`, each once.

    Examples
    --------
    >>> from penstock.statistics import Counts
    >>> union([Counts(("a", "b")), Counts(("b",))], "c")
    ('a', 'b', 'c')
    """
    names = [name for statistic in statistics for name in statistic.reads]
    return tuple(dict.fromkeys([*names, *more]))
