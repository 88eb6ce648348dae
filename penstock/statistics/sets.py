"""Several statistics of each of a few sets of rows, which are known before any row is read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.statistics.base import State
from penstock.statistics.groups import Grouped
from penstock.statistics.held import Held
from penstock.statistics.value_counts import ValueCounts


@dataclass(frozen=True)
class Sets(Grouped):
    """The same statistics of a few sets of rows, which have all rows between them: the parts of the sets' are its own.

    In a part of a state there is None for a statistic that cannot be cut, unless it is the first part.
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

    def counted(self) -> Mapping[str, Held]:
        """Return what is held of values, once for each set."""
        held = [statistic.counted() for statistic in self.statistics]
        return {name: replace(each, rows=each.rows * self.number) for of in held for name, each in of.items()}

    def tallied(self) -> tuple[str, ...]:
        """Return the columns whose values are counted in each set."""
        return tuple(dict.fromkeys(name for statistic in self.statistics for name in statistic.tallied()))

    def value_counts(self, state: State, columns: Sequence[str]) -> dict[str, State]:
        """Return the counts of all sets together."""
        counts: dict[str, State] = {}
        for place, statistic in enumerate(self.statistics):
            names = [name for name in columns if name in statistic.tallied()]
            found = [statistic.value_counts(states[place], names) for states in self.sets(state)]
            counts |= ValueCounts(tuple(names)).merge(found)
        return counts

    def cut(self, state: State, parts: Mapping[str, int]) -> list[State]:
        """Cut the states of each set."""
        cut = [
            [each.cut(held, parts) for each, held in zip(self.statistics, states, strict=True)]
            for states in self.sets(state)
        ]
        number = max(len(pieces) for states in cut for pieces in states)
        return [
            self.of_sets([[_at(pieces, place) for pieces in states] for states in cut], state)
            for place in range(number)
        ]

    def join(self, parts: Sequence[State]) -> State:
        """Join the parts of each set."""
        joined = [
            [each.join(_known(pieces)) for each, pieces in zip(self.statistics, zip(*of_set, strict=True), strict=True)]
            for of_set in zip(*map(self.sets, parts), strict=True)
        ]
        return self.of_sets(joined, parts[0])

    def _merged(self, states: Sequence[Sequence[State]]) -> list[State]:
        of_each = zip(*states, strict=True)
        return [
            None if pieces[0] is None else each.merge(pieces)
            for each, pieces in zip(self.statistics, of_each, strict=True)
        ]


def _at(pieces: Sequence[State], place: int) -> State | None:
    return pieces[place] if place < len(pieces) else None


def _known(pieces: Sequence[State]) -> list[State]:
    return [piece for piece in pieces if piece is not None]
