"""Several statistics of each of a few sets of rows, which are known before any row is read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.statistics.base import State
from penstock.statistics.distinct.counts_provider import CountsProvider, provided_counts
from penstock.statistics.distinct.footprint import Held
from penstock.statistics.distinct.partitionable import Absent, Partitionable, as_partitionable, pad, present
from penstock.statistics.distinct.value_counts import ValueCounts
from penstock.statistics.grouped.base import Grouped


@dataclass(frozen=True)
class GroupedBy(Grouped, Partitionable):
    """The same statistics of a few sets of rows, which have all rows between them: the parts of the sets' are its own.

    What cannot be partitioned is absent from all parts but the first.
    """

    @property
    @abstractmethod
    def number(self) -> int:
        """How many sets there are."""

    @abstractmethod
    def sets(self, state: State) -> list[list[State]]:
        """Return the states of each set."""

    @abstractmethod
    def of_sets(self, sets: list[list[State]], beside: State) -> State:
        """Return the state of sets, with what else is in the state `beside`."""

    def footprints(self) -> Mapping[str, Held]:
        """Return what the states of all sets have for each value."""
        of_each = [as_partitionable(statistic).footprints() for statistic in self.statistics]
        return {name: replace(each, rows=each.rows * self.number) for of in of_each for name, each in of.items()}

    def provides_counts_of(self) -> tuple[str, ...]:
        """Return the columns whose values are counted in each set."""
        return tuple(dict.fromkeys(name for statistic in self.statistics for name in provided_counts(statistic)))

    def value_counts(self, state: State, columns: Sequence[str]) -> dict[str, State]:
        """Return the counts of all sets together."""
        counts: dict[str, State] = {}
        for place, statistic in enumerate(self.statistics):
            if isinstance(statistic, CountsProvider):
                names = [name for name in columns if name in statistic.provides_counts_of()]
                of_sets = [statistic.value_counts(states[place], names) for states in self.sets(state)]
                counts |= ValueCounts(tuple(names)).merge(of_sets)
        return counts

    def partition(self, state: State, parts: Mapping[str, int]) -> list[State]:
        """Partition the states of each set."""
        of_sets = [
            [as_partitionable(each).partition(one, parts) for each, one in zip(self.statistics, states, strict=True)]
            for states in self.sets(state)
        ]
        number = max(len(pieces) for states in of_sets for pieces in states)
        return [
            self.of_sets([[pad(pieces, number)[place] for pieces in states] for states in of_sets], state)
            for place in range(number)
        ]

    def concat(self, parts: Sequence[State]) -> State:
        """Put the parts of each set together."""
        of_sets = [
            [
                as_partitionable(each).concat(present(pieces))
                for each, pieces in zip(self.statistics, zip(*of_set, strict=True), strict=True)
            ]
            for of_set in zip(*map(self.sets, parts), strict=True)
        ]
        return self.of_sets(of_sets, parts[0])

    def _merged(self, states: Sequence[Sequence[State]]) -> list[State]:
        of_each = zip(*states, strict=True)
        return [
            each.merge(present(pieces)) if present(pieces) else Absent.ABSENT
            for each, pieces in zip(self.statistics, of_each, strict=True)
        ]
