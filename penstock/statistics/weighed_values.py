"""Values that occur in rows of a weight above zero: whether there are two of them, as a classifier needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.statistics.base import State, Statistic

_ENOUGH = 2


@dataclass(frozen=True)
class WeighedValues(Statistic):
    """The two smallest values of a column among the rows whose weight is above 0, ascending; fewer where there are not.

    Parameters
    ----------
    columns : tuple of str
        The column and that of the weights. A null in either takes no part.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> frame = frames.from_arrow(pa.table({"label": ["b", "a", "c", None], "w": [1.0, 0.0, 0.5, 1.0]}))
    >>> labels = WeighedValues(("label", "w"))
    >>> labels.finish(labels.summarise(frame))
    ['b', 'c']
    """

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the two smallest values of one partition."""
        value, weight = self.columns
        values = frame.filter(nw.col(weight) > 0)[value].drop_nulls().unique().sort()
        return values.head(_ENOUGH).to_list()

    def merge(self, states: Sequence[State]) -> State:
        """Return the two smallest of all."""
        return sorted({value for state in states for value in state})[:_ENOUGH]

    def finish(self, state: State) -> list[Any]:
        """Return them."""
        return list(state)
