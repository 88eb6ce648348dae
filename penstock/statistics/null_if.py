"""Statistics of columns in which one value stands for null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw

from penstock.statistics.base import ColumnStatistic, State, merges_slices


@dataclass(frozen=True)
class NullIf(ColumnStatistic):
    """What another statistic is of the same columns with null in place of a value; SQL's function of this name.

    Parameters
    ----------
    columns : tuple of str
    statistic : ColumnStatistic
        The other one, of no column.
    value : int, float, str or bool
        Taken in the type of each column: float32 rounds it.

    Examples
    --------
    >>> from penstock import frames
    >>> from penstock.statistics import Counts
    >>> import pyarrow as pa
    >>> counts = NullIf.of(Counts(("x",)), -1)
    >>> counts.finish(counts.summarise(frames.from_arrow(pa.table({"x": [7, -1, None]}))))
    {'x': Count(rows=3, nulls=2)}
    """

    statistic: ColumnStatistic
    value: float | str | bool

    @property
    def merges_slices(self) -> bool:
        """Whether slices of the wrapped statistic do."""
        return merges_slices(self.statistic)

    @classmethod
    def of(cls, statistic: ColumnStatistic, value: float | str | bool) -> Self:
        """Return it over the columns of another statistic."""
        return cls(statistic.columns, statistic.with_columns(()), value)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Summarise one partition with null in place of the value."""
        rows = frame.select(*[null_if(frame, name, self.value) for name in self.columns])
        return self.partitioned_as.summarise(rows)

    def merge_column(self, states: Sequence[State]) -> State:
        """Merge as the other does."""
        return self.statistic.merge_column(states)

    def finish_column(self, name: str, state: State) -> Any:
        """Return the result of the other."""
        return self.statistic.finish_column(name, state)

    @property
    def partitioned_as(self) -> ColumnStatistic:
        """The other, of the same columns: its states are those."""
        return self.statistic.with_columns(self.columns)

    def template(self) -> Self:
        """Return what is the same of all that are gathered as one."""
        return replace(self, columns=(), statistic=self.statistic.template())


def null_if(frame: nw.DataFrame[Any], name: str, value: float | str | bool) -> nw.Expr:
    """Return the expression for a column of a frame with null in place of a value.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> frame = frames.from_arrow(pa.table({"x": ["a", "?", None]}))
    >>> frame.select(null_if(frame, "x", "?"))["x"].to_list()
    ['a', None, None]
    """
    column = nw.col(name)
    return nw.when(column != nw.lit(value, frame.collect_schema()[name])).then(column).alias(name)
