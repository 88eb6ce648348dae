"""Of each value of a column, the first row that has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl
import pyarrow as pa

from penstock import frames
from penstock.frames import ROW
from penstock.statistics.base import State, Statistic


@dataclass(frozen=True)
class FirstRows(Statistic):
    """The numbers of the first rows in a dataset of each value of one column, ascending; null is no value.

    A state is as large as the different values are many.

    Examples
    --------
    >>> first = FirstRows(("x",))
    >>> parts = [{"x": ["b", None], ROW: [4, 5]}, {"x": ["a", "b"], ROW: [6, 7]}]
    >>> first.finish(first.merge([first.summarise(frames.from_arrow(pa.table(part))) for part in parts]))
    [4, 6]
    """

    @property
    def reads(self) -> tuple[str, ...]:
        """The column, and row numbers."""
        return (*self.columns, ROW)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Find the first rows of one partition."""
        rows = frame.select(value=nw.col(*self.columns), row=nw.col(ROW)).drop_nulls()
        return self.merge([frames.to_arrow(rows)])

    def merge(self, states: Sequence[State]) -> State:
        """Keep the smaller number of each value."""
        rows = pl.DataFrame(pa.concat_tables(states)).group_by("value", maintain_order=True).agg(pl.col("row").min())
        merged: State = rows.to_arrow().cast(states[0].schema)
        return merged

    def finish(self, state: State) -> list[int]:
        """Return the numbers."""
        return sorted(state["row"].to_pylist())
