"""Statistics whose states have very many values: each can be partitioned by value, so that no worker has them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import narwhals as nw

from penstock.statistics.base import State, Statistic, merges_slices
from penstock.statistics.distinct.footprint import Found, Held
from penstock.statistics.distinct.top_k import TopK


@dataclass(frozen=True)
class Partitionable(Statistic):
    """A statistic of the different values of columns, which can be merged in parts; in one part unless overridden.

    `footprints` says beforehand what a state takes, so that the number of parts can be chosen, and `retention` which
    values are asked for. `partition` divides the state of each fragment; each part is merged with its like of other
    fragments, cut down by `prune`, and `concat` puts them together. `cardinalities` says at the end what there was.
    """

    def footprints(self) -> Mapping[str, Held]:
        """Return what a state has for each different value of a column, for those of which there may be very many."""
        return {}

    def cardinalities(self, result: Any) -> Mapping[str, Found]:
        """Return how many values of each column of `footprints` a result has."""
        return {}

    def retention(self) -> Mapping[str, TopK]:
        """Return by column which of the values are asked for, where that can be said."""
        return {}

    def partition(self, state: State, parts: Mapping[str, int]) -> list[State]:
        """Return a state in parts, of which `parts` says by column how many there are.

        What is not of single values is in every part, and `concat` takes that of the first.
        """
        return [state]

    def merge_consuming(self, states: list[State]) -> State:
        """Merge states and empty their list, so that memory can be let go on the way; none of them is changed."""
        merged = self.merge(states)
        states.clear()
        return merged

    def prune(self, state: State, retention: Mapping[str, TopK]) -> State:
        """Return a merged part without the values that nobody asks for; it is not to be merged any more."""
        return state

    def concat(self, parts: Sequence[State]) -> State:
        """Return the state of which these are the merged parts."""
        return parts[0]


@dataclass(frozen=True)
class InOnePart(Partitionable):
    """Another statistic, which cannot be partitioned."""

    statistic: Statistic

    @property
    def merges_slices(self) -> bool:
        """Whether slices of the wrapped statistic do."""
        return merges_slices(self.statistic)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Summarise as the other does."""
        return self.statistic.summarise(frame)

    def merge(self, states: Sequence[State]) -> State:
        """Merge as the other does."""
        return self.statistic.merge(states)

    def finish(self, state: State) -> Any:
        """Return the result of the other."""
        return self.statistic.finish(state)


@runtime_checkable
class Delegating(Protocol):
    """A statistic whose states are those of another: they are partitioned, merged and put together as that does it."""

    @property
    def partitioned_as(self) -> Statistic:
        """The other."""


def as_partitionable(statistic: Statistic) -> Partitionable:
    """Return a statistic that can be merged in parts: itself, or that whose states it has; else one of a single part.

    Examples
    --------
    >>> from penstock.statistics import Counts, ValueCounts
    >>> as_partitionable(ValueCounts(("c",))), as_partitionable(Counts(("c",))).partition("state", {"c": 2})
    (ValueCounts(columns=('c',), keep=TopK(top=None, at_least=1)), ['state'])
    """
    if isinstance(statistic, Partitionable):
        return statistic
    if isinstance(statistic, Delegating):
        return as_partitionable(statistic.partitioned_as)
    return InOnePart(statistic.columns, statistic)


def partitionable_among(statistics: Iterable[Statistic]) -> list[Partitionable]:
    """Return those of several statistics that can be merged in parts, as `as_partitionable` gives them."""
    return [as_partitionable(each) for each in statistics if isinstance(each, Partitionable | Delegating)]


class Absent(Enum):
    """What parts but the first have of a statistic that is in one part; a state may be None."""

    ABSENT = "absent"


def pad(parts: Sequence[State], number: int) -> list[State]:
    """Return so many parts, those that there are not as absent.

    Examples
    --------
    >>> pad(["state"], 2)
    ['state', <Absent.ABSENT: 'absent'>]
    """
    return [*parts, *[Absent.ABSENT] * (number - len(parts))]


def present(parts: Iterable[State]) -> list[State]:
    """Return the parts that are not absent."""
    return [part for part in parts if part is not Absent.ABSENT]
