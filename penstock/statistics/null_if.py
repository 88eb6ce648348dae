"""Statistics of columns in which one value stands for null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw

from penstock.statistics.base import ColumnStatistic, State
from penstock.statistics.distinct.footprint import Found, Held
from penstock.statistics.distinct.partitionable import Partitionable, as_partitionable
from penstock.statistics.distinct.top_k import TopK


@dataclass(frozen=True)
class NullIf(ColumnStatistic, Partitionable):
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

    @classmethod
    def of(cls, statistic: ColumnStatistic, value: float | str | bool) -> Self:
        """Return it over the columns of another statistic."""
        return cls(statistic.columns, statistic.with_columns(()), value)

    @property
    def _of_columns(self) -> ColumnStatistic:
        return self.statistic.with_columns(self.columns)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Summarise one partition with null in place of the value."""
        rows = frame.select(*[null_if(frame, name, self.value) for name in self.columns])
        return self._of_columns.summarise(rows)

    def merge_column(self, states: Sequence[State]) -> State:
        """Merge as the other does."""
        return self.statistic.merge_column(states)

    def finish_column(self, name: str, state: State) -> Any:
        """Return the result of the other."""
        return self.statistic.finish_column(name, state)

    @property
    def _partitionable(self) -> Partitionable:
        return as_partitionable(self._of_columns)

    def footprints(self) -> Mapping[str, Held]:
        """Return what a state of the other has for each value."""
        return self._partitionable.footprints()

    def cardinalities(self, result: Any) -> Mapping[str, Found]:
        """Return how many values the other has."""
        return self._partitionable.cardinalities(result)

    def retention(self) -> Mapping[str, TopK]:
        """Return what the other asks for."""
        return self._partitionable.retention()

    def partition(self, state: State, parts: Mapping[str, int]) -> list[State]:
        """Partition as the other does."""
        return self._partitionable.partition(state, parts)

    def merge_consuming(self, states: list[State]) -> State:
        """Merge as the other does."""
        return self._partitionable.merge_consuming(states)

    def prune(self, state: State, retention: Mapping[str, TopK]) -> State:
        """Prune as the other does."""
        return self._partitionable.prune(state, retention)

    def concat(self, parts: Sequence[State]) -> State:
        """Put parts together as the other does."""
        return self._partitionable.concat(parts)

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
    return nw.when(column != nw.lit(value, frame.schema[name])).then(column).alias(name)
