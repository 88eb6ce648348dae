"""Statistics of columns in which a value that is not known yet will stand for null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, cast

import narwhals as nw

from penstock.statistics.base import ColumnStatistic, State, Statistic, merges_slices

Copies = tuple[Any, int]
"""A value, and how many nulls it takes the place of."""


class Fillable(Protocol):
    """A statistic of columns that can be told afterwards what stands in place of nulls."""

    def fill_column(self, state: State, value: Any, count: int) -> State:
        """Return the state of a column of which `count` nulls are `value`, from that of the column with its nulls."""


def as_fillable(statistic: Statistic) -> ColumnStatistic | None:
    """Return a statistic that is `Fillable`, None for another.

    Examples
    --------
    >>> from penstock.statistics import Moments, Quantiles
    >>> as_fillable(Moments(("x",))), as_fillable(Quantiles(("x",)))
    (Moments(columns=('x',)), None)
    """
    return cast(ColumnStatistic, statistic) if hasattr(statistic, "fill_column") else None


@dataclass(frozen=True)
class Unfilled(ColumnStatistic):
    """What another statistic is of the same columns, some of whose nulls will be filled with a value each.

    So it is gathered in the pass in which the value is found, and is exact when another value is found of more rows.
    Moments are merged with those of equal values, and so differ in rounding alone from a second pass.

    Parameters
    ----------
    columns : tuple of str
    statistic : ColumnStatistic
        The other one, of no column; `Fillable`.

    Examples
    --------
    >>> from penstock import frames
    >>> from penstock.statistics import Moments
    >>> import pyarrow as pa
    >>> moments = Unfilled.of(Moments(("x",)))
    >>> known = moments.finish(moments.summarise(frames.from_arrow(pa.table({"x": [7.0, 1.0, None]}))))
    >>> known.filled({"x": (4.0, 1)})
    {'x': Moment(count=3, mean=4.0, m2=18.0)}
    """

    statistic: ColumnStatistic

    @property
    def merges_slices(self) -> bool:
        """Whether slices of the wrapped statistic do."""
        return merges_slices(self.statistic)

    @classmethod
    def of(cls, statistic: ColumnStatistic) -> Self:
        """Return it over the columns of another statistic."""
        return cls(statistic.columns, statistic.template())

    def __str__(self) -> str:
        return f"{type(self.statistic).__name__} (but for what is filled in)"

    @property
    def whole(self) -> ColumnStatistic:
        """The other, of the same columns: its states are those."""
        return self.statistic.with_columns(self.columns)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Summarise one partition with its nulls."""
        return self.whole.summarise(frame)

    def merge_column(self, states: Sequence[State]) -> State:
        """Merge as the other does."""
        return self.statistic.merge_column(states)

    def finish(self, state: State) -> UnfilledResult:  # type: ignore[override]
        """Return what gives the result once the values are known."""
        return UnfilledResult(self, state)

    def finish_column(self, name: str, state: State) -> Any:
        """Return the result of a column that has no such nulls."""
        return self.statistic.finish_column(name, state)

    def fill(self, state: State, copies: Mapping[str, Copies]) -> State:
        """Return the state with `copies` in place of nulls, by column."""
        whole = cast(Fillable, self.statistic)
        return {
            name: whole.fill_column(state[name], *copies[name]) if name in copies else state[name]
            for name in self.columns
        }

    def template(self) -> Self:
        """Return what is the same of all that are gathered as one."""
        return replace(self, columns=(), statistic=self.statistic.template())


class UnfilledResult:
    """The state of a statistic that waits for values; whoever asks for the same values has the same result."""

    def __init__(self, statistic: Unfilled, state: State) -> None:
        self._statistic, self._state = statistic, state
        self._results: dict[Any, Mapping[str, Any]] = {}

    def filled(self, copies: Mapping[str, Copies]) -> Mapping[str, Any]:
        """Return the result with `copies` in place of nulls, by column."""
        key = tuple((name, repr(value), count) for name, (value, count) in sorted(copies.items()))
        if key not in self._results:
            state = self._statistic.fill(self._state, copies)
            self._results[key] = self._statistic.whole.finish(state)
        return self._results[key]
