"""A statistic: a small value made from one partition, joined with others, and read at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw

from penstock.statistics.held import Found, Held
from penstock.statistics.keep import Keep

State = Any
"""Plain numbers, strings, and Arrow tables, in dicts and lists: it can be shipped, stored, and merged tomorrow."""


@dataclass(frozen=True)
class Statistic(ABC):
    """Which columns, with which options; hashable, so that equal statistics of several stages are gathered once.

    `merge` is associative, and commutative up to rounding; partials are always merged in fragment order with a fixed
    tree, so that the result is the same to the bit on every engine.
    """

    columns: tuple[str, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """All columns that it needs: `columns`, unless it is of these by others."""
        return self.columns

    @abstractmethod
    def summarise(self, frame: nw.DataFrame) -> State:
        """Return the state of one partition, which may have no rows. NaN does not occur; null is missing."""

    @abstractmethod
    def merge(self, states: Sequence[State]) -> State:
        """Return the state of the rows of all `states` (at least one) together."""

    def drain(self, states: list[State]) -> State:
        """Merge states and empty their list, so that memory can be let go on the way; none of them is changed."""
        merged = self.merge(states)
        states.clear()
        return merged

    def counted(self) -> Mapping[str, Held]:
        """Return the columns whose different values a state has: there may be very many, which `cut` is for."""
        return {}

    def found(self, result: Any) -> Mapping[str, Found]:
        """Return how many values of each column of `counted` a result has."""
        return {}

    def tallied(self) -> tuple[str, ...]:
        """Return the columns whose :class:`ValueCounts` need not be gathered, as `value_counts` reads them off."""
        return ()

    def value_counts(self, state: State, columns: Sequence[str]) -> dict[str, State]:
        """Return the states of :class:`ValueCounts` of some columns of `tallied`."""
        return {}

    def cut(self, state: State, parts: Mapping[str, int]) -> list[State]:
        """Return a state in parts: each is merged with its like of other partitions, and `join` puts them together.

        `parts` says by column how many there are; a statistic that cannot be cut has one. What is not of single values
        is in every part, and `join` takes that of the first.
        """
        return [state]

    def trim(self, state: State, keep: Mapping[str, Keep]) -> State:
        """Return a merged part without what nobody asks for; `keep` says by column what is needed, or nothing of it."""
        return state

    def join(self, parts: Sequence[State]) -> State:
        """Return the state of which these are the merged parts."""
        return parts[0]

    @abstractmethod
    def finish(self, state: State) -> Any:
        """Return what the statistic is asked for."""


@dataclass(frozen=True)
class ColumnStatistic(Statistic):
    """A statistic of each column by itself: its state and its result are mappings by column.

    Two that differ in nothing but their columns are gathered as one over the union of the columns.
    """

    def wanted(self) -> Mapping[str, Keep]:
        """Return by column which of the counted values are asked for, where that can be said."""
        return {}

    @abstractmethod
    def merge_column(self, states: Sequence[State]) -> State:
        """Return the state of one column from the states of its partitions."""

    def merge(self, states: Sequence[State]) -> State:
        """Merge column by column."""
        return {name: self.merge_column([state[name] for state in states]) for name in self._held(states)}

    def drain(self, states: list[State]) -> State:
        """Drain column by column."""
        by_column = {name: [state[name] for state in states] for name in self._held(states)}
        states.clear()
        return {name: self.drain_column(of_column) for name, of_column in by_column.items()}

    def drain_column(self, states: list[State]) -> State:
        """Merge the states of one column and empty their list."""
        merged = self.merge_column(states)
        states.clear()
        return merged

    def _held(self, states: Sequence[State]) -> list[str]:
        """Return the columns that the states have; a part of a state has not all."""
        return [name for name in self.columns if name in states[0]]

    def cut(self, state: State, parts: Mapping[str, int]) -> list[State]:
        """Cut column by column; a column of few parts is in the first ones."""
        cut: list[State] = [{} for _ in range(max([1, *parts.values()]))]
        for name in self.columns:
            for place, part in enumerate(self.cut_column(state[name], parts.get(name, 1))):
                cut[place][name] = part
        return cut

    def cut_column(self, state: State, parts: int) -> list[State]:
        """Return the state of one column in at most so many parts; in one unless the statistic has a way."""
        return [state]

    def trim(self, state: State, keep: Mapping[str, Keep]) -> State:
        """Trim column by column."""
        return {name: self.trim_column(held, keep[name]) if name in keep else held for name, held in state.items()}

    def trim_column(self, state: State, keep: Keep) -> State:
        """Return the state of one column without what is not to be kept; all of it unless the statistic has a way."""
        return state

    def join(self, parts: Sequence[State]) -> State:
        """Join column by column."""
        held = {name: [part[name] for part in parts if name in part] for name in self.columns}
        return {name: of[0] if len(of) == 1 else self.join_column(of) for name, of in held.items()}

    def join_column(self, parts: list[State]) -> State:
        """Return the state of one column of which these are the parts; only for those that can be cut."""
        raise NotImplementedError(type(self).__name__)

    def finish(self, state: State) -> Mapping[str, Any]:
        """Return the result of each column; the state may be one fused over more columns."""
        return {name: self.finish_column(name, state[name]) for name in self.columns}

    @abstractmethod
    def finish_column(self, name: str, state: State) -> Any:
        """Return the result of one column."""

    def family(self) -> Self:
        """Return what is the same of all that are gathered as one: the statistic of no column."""
        return self.over(())

    def over(self, columns: Sequence[str]) -> Self:
        """Return the same statistic over other columns."""
        return replace(self, columns=tuple(columns))
