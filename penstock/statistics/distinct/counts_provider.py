"""Statistics off which the counts of values can be read, so that those need not be gathered beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from penstock.statistics.base import State


@runtime_checkable
class CountsProvider(Protocol):
    """A statistic that has, among other things, how often each value of some columns occurs."""

    def provides_counts_of(self) -> tuple[str, ...]:
        """Return the columns whose :class:`ValueCounts` need not be gathered, as `value_counts` reads them off."""

    def value_counts(self, state: State, columns: Sequence[str]) -> dict[str, State]:
        """Return the states of :class:`ValueCounts` of some columns of `provides_counts_of`."""


def provided_counts(statistic: object) -> tuple[str, ...]:
    """Return the columns whose counts can be read off a statistic; none, of most."""
    return statistic.provides_counts_of() if isinstance(statistic, CountsProvider) else ()
