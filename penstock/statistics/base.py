"""A statistic: a small value made from one partition, joined with others, and read at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw

from penstock.core.errors import ConfigError
from penstock.core.names import column_names

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

    @abstractmethod
    def finish(self, state: State) -> Any:
        """Return what the statistic is asked for."""


def merges_slices(statistic: Statistic) -> bool:
    """Return whether states of slices of `SLICE_ROWS` rows merge to the state of all rows, to the bit on a CPU.

    A statistic says so by an attribute of this name. Only then is a fragment that does not fit in memory worked on in
    parts.

    Examples
    --------
    >>> from penstock.statistics import Counts, Gram
    >>> merges_slices(Counts(("x",))), merges_slices(Gram(("x", "y")))
    (True, False)
    """
    return bool(getattr(statistic, "merges_slices", False))


def check_statistics(statistics: Iterable[object], source: str) -> None:
    """Raise ConfigError for what `source` asks for, if it is no statistic or does not name its columns by a tuple."""
    for statistic in statistics:
        if not isinstance(statistic, Statistic):
            raise ConfigError(
                f"{source} asks for {statistic!r}, expected a Statistic", hint='Write {"name": Moments(...)}.'
            )
        if not isinstance(statistic.reads, tuple):
            raise ConfigError(
                f"{type(statistic).__name__}.reads is {statistic.reads!r}, expected a tuple of column names",
                hint="Put @property above it." if callable(statistic.reads) else "Write ('x',) for one column.",
            )


def merge_fields(states: Sequence[State], /, **how: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """Return the state of all `states`, which are mappings, field by field: what `how` makes of the field's values.

    Examples
    --------
    >>> merge_fields([{"rows": 2, "largest": 7.0}, {"rows": 3, "largest": 1.5}], rows=sum, largest=max)
    {'rows': 5, 'largest': 7.0}
    """
    return {name: merge([state[name] for state in states]) for name, merge in how.items()}


@dataclass(frozen=True)
class ColumnStatistic(Statistic):
    """A statistic of each column by itself: its state and its result are mappings by column.

    Two that differ in nothing but their columns are gathered as one over the union of the columns.
    """

    @abstractmethod
    def merge_column(self, states: Sequence[State]) -> State:
        """Return the state of one column from the states of its partitions."""

    def merge(self, states: Sequence[State]) -> State:
        """Merge column by column; a part of a state has not all of them."""
        names = [name for name in self.columns if name in states[0]]
        return {name: self.merge_column([state[name] for state in states]) for name in names}

    def finish(self, state: State) -> Mapping[str, Any]:
        """Return the result of each column; the state may be one fused over more columns."""
        return {name: self.finish_column(name, state[name]) for name in self.columns}

    @abstractmethod
    def finish_column(self, name: str, state: State) -> Any:
        """Return the result of one column."""

    def template(self) -> Self:
        """Return what is the same of all that are gathered as one: the statistic of no column."""
        return self.with_columns(())

    def with_columns(self, columns: Sequence[str]) -> Self:
        """Return the same statistic over other columns."""
        return replace(self, columns=column_names(columns, "columns of a statistic"))
