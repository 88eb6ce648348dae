"""What is gathered at one place for all statistics that are asked for there: each thing once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.statistics.base import ColumnStatistic, State, Statistic
from penstock.statistics.distinct.counts_provider import CountsProvider, provided_counts
from penstock.statistics.distinct.value_counts import ValueCounts

_COUNTS = ValueCounts(())


@dataclass(frozen=True)
class Fusion:
    """The statistics that are gathered for others: equal ones once, and those of one kind over all their columns.

    How often values occur is not counted where it can be read off something else that is gathered of the same column.

    Examples
    --------
    >>> from penstock.statistics.grouped.group_sums import GroupSums
    >>> sums = GroupSums(("a",), "y", "infinite")
    >>> Fusion.of([ValueCounts(("a", "b")), sums, ValueCounts(("c",))]).gathered == (ValueCounts(("b", "c")), sums)
    True
    """

    gathered: tuple[Statistic, ...]

    @classmethod
    def of(cls, wanted: Iterable[Statistic]) -> Fusion:
        """Return what is gathered for statistics of the same rows."""
        fused: dict[Statistic, Statistic] = {}
        for statistic in wanted:
            key = _family(statistic)
            fused[key] = _joined(fused.get(key), statistic)
        counted = fused.get(_COUNTS, _COUNTS).columns
        told = {name for key, each in fused.items() if key != _COUNTS for name in provided_counts(each)}
        fused[_COUNTS] = ValueCounts(tuple(name for name in counted if name not in told))
        return cls(tuple(each for each in fused.values() if each != _COUNTS))

    def state(self, statistic: Statistic, states: Sequence[State]) -> State:
        """Return the state of a statistic, which may be of more columns, from those of all that are gathered."""
        if _family(statistic) != _COUNTS:
            held = {_family(each): state for each, state in zip(self.gathered, states, strict=True)}
            return held[_family(statistic)]
        counts: dict[str, State] = {}
        for each, state in zip(self.gathered, states, strict=True):
            names = [name for name in statistic.columns if self._teller(name) == each]
            if names and isinstance(each, CountsProvider):
                counts |= each.value_counts(state, names)
        return counts

    def serves(self, gathered: Statistic, statistic: Statistic) -> bool:
        """Return whether one of the gathered statistics is what another, or a part of it, is read off."""
        if _family(statistic) != _COUNTS:
            return _family(gathered) == _family(statistic)
        return any(self._teller(name) == gathered for name in statistic.columns)

    def _teller(self, name: str) -> Statistic:
        """Return what the counts of a column are read off."""
        return next(each for each in self.gathered if name in provided_counts(each))


def _family(statistic: Statistic) -> Statistic:
    return statistic.template() if isinstance(statistic, ColumnStatistic) else statistic


def _joined(known: Statistic | None, statistic: Statistic) -> Statistic:
    if not isinstance(statistic, ColumnStatistic):
        return statistic
    names = [*(() if known is None else known.columns), *statistic.columns]
    return statistic.template().with_columns(tuple(dict.fromkeys(names)))
