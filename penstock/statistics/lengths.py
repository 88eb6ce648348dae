"""How long lists are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.statistics.aggregates import aggregate
from penstock.statistics.base import ColumnStatistic, State


@dataclass(frozen=True)
class Length:
    """The shortest, the mean and the longest length of the values of a column; all None when there are none."""

    min: int | None
    mean: float | None
    max: int | None


@dataclass(frozen=True)
class Lengths(ColumnStatistic):
    """The :class:`Length` of each column of lists, in elements; null lists are left out, null elements are not.

    Sums are whole numbers, so that a mean is rounded once.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> lengths = Lengths(("w",))
    >>> lengths.finish(lengths.summarise(frames.from_arrow(pa.table({"w": [[1, 2], None, [3, None, 4, 5]]}))))
    {'w': Length(min=2, mean=3.0, max=4)}
    """

    merges_slices = True

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Measure the values of one partition, all columns in one select."""
        sizes = {name: nw.col(name).list.len().cast(nw.Int64) for name in self.columns}
        parts = {
            (name, part): getattr(size, part)()
            for name, size in sizes.items()
            for part in ("count", "sum", "min", "max")
        }
        found = aggregate(frame, parts)
        return {name: {part: found[name, part] for part in ("count", "sum", "min", "max")} for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Add up, and take the ends."""
        valid = [state for state in states if state["count"]] or [states[0]]
        joined = {part: sum(state[part] for state in valid) for part in ("count", "sum")}
        return {**joined, **{part: of(state[part] for state in valid) for part, of in (("min", min), ("max", max))}}

    def finish_column(self, name: str, state: State) -> Length:
        """Return the lengths of one column."""
        if not state["count"]:
            return Length(None, None, None)
        return Length(state["min"], state["sum"] / state["count"], state["max"])
