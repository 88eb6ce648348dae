"""The mean label at each value of a column: what an isotonic regression is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from penstock.statistics.aggregates import device_numbers
from penstock.statistics.base import State, merge_fields
from penstock.statistics.evaluation.base import PredictionStatistic
from penstock.statistics.rules import ColumnRules, add_counts, refuse, rules_for, valid_rows
from penstock.statistics.tied_sums import Tied, TiedSums

LABEL = "label"
"""What the weighted labels are called among the sums."""


@dataclass(frozen=True)
class LabelsByValue(PredictionStatistic):
    """The weights and the weighted labels of the rows at each value: of every distinct one, or of cells of them.

    Computed where the frame is. The state has 20 bytes for each distinct value, and 24 with weights.

    Parameters
    ----------
    columns : tuple of str
        The column of values, the label, and the weight (0 or more) if there is one; without it every row weighs 1. A
        row of weight 0 is as if absent.
    num_bins, limit_bytes : int
        As of :class:`TiedSums`.

    Raises
    ------
    ConfigError
        `columns` has not two or three names, or a number is out of range.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from penstock import frames
    >>> statistic = LabelsByValue(("x", "y"))
    >>> frame = frames.from_arrow(pa.table({"x": [2, 1, 2], "y": [4.0, 3.0, 5.0]}))
    >>> tied = statistic.finish(statistic.summarise(frame))
    >>> tied.values.tolist(), tied.weight.tolist(), tied.sums["label"].tolist()
    ([1.0, 2.0], [1.0, 2.0], [3.0, 9.0])
    """

    predicted = "value"
    num_bins: int = 0
    limit_bytes: int = 2**30

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._adding  # which refuses numbers that are out of range

    @property
    def _adding(self) -> TiedSums:
        return TiedSums(self.columns[0], self.num_bins, self.limit_bytes)

    @property
    def _checks(self) -> ColumnRules:
        return (*rules_for(self.columns, "null", "infinite", "too_large"), *rules_for(self.columns[2:], "negative"))

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the sums of the valid rows of one partition, and how many rows break which rule.

        Raises
        ------
        ExecutionError
            The state would be larger than `limit_bytes`.
        """
        valid, invalid = valid_rows(frame, self._checks)
        value, label, *weights = (device_numbers(valid, name) for name in self.columns)
        weight = weights[0] if weights else np.ones_like(value, dtype=bool)
        return {"invalid": invalid, "sums": self._adding.summarise(value, weight, {LABEL: weight * label})}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the sums; raises as `summarise` does."""
        return merge_fields(states, invalid=add_counts, sums=self._adding.merge)

    def finish(self, state: State) -> Tied:
        """Return the sums.

        Raises
        ------
        DataValueError
            A value, label or weight is null, infinite or beyond 1e150, or a weight negative; names the column and the
            count, and its ``predicate`` is true for the bad rows.
        """
        refuse(self._checks, state["invalid"])
        return self._adding.finish(state["sums"])
