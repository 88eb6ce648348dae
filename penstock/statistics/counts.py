"""How many rows there are, and how many values are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.statistics.aggregates import null_counts
from penstock.statistics.base import ColumnStatistic, State, Statistic, merge_fields


@dataclass(frozen=True)
class Count:
    """Rows of a column, and how many of them are null.

    Examples
    --------
    >>> Count(rows=3, nulls=1).valid
    2
    """

    rows: int
    nulls: int

    @property
    def valid(self) -> int:
        """Rows that are not null."""
        return self.rows - self.nulls


@dataclass(frozen=True)
class Counts(ColumnStatistic):
    """A :class:`Count` of each column, of any type.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> counts = Counts(("x",))
    >>> counts.finish(counts.summarise(frames.from_arrow(pa.table({"x": [1, None]}))))
    {'x': Count(rows=2, nulls=1)}
    """

    merges_slices = True

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the rows and nulls of one partition."""
        nulls = null_counts(frame, self.columns)
        return {name: {"rows": len(frame), "nulls": nulls[name]} for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Add up."""
        return merge_fields(states, rows=sum, nulls=sum)

    def fill_column(self, state: State, value: Any, count: int) -> State:
        """Count so many nulls less."""
        return {"rows": state["rows"], "nulls": state["nulls"] - count}

    def finish_column(self, name: str, state: State) -> Count:
        """Return the counts of one column."""
        return Count(**state)


@dataclass(frozen=True)
class RowCount(Statistic):
    """How many rows there are; it reads no column.

    Examples
    --------
    >>> count = RowCount()
    >>> count.finish(count.merge([2, 3]))
    5
    """

    merges_slices = True

    columns: tuple[str, ...] = ()

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the rows of one partition."""
        return len(frame)

    def merge(self, states: Sequence[State]) -> State:
        """Add up."""
        return sum(states)

    def finish(self, state: State) -> int:
        """Return the number of rows."""
        return int(state)
