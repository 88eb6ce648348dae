"""How lopsided the values of columns are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals as nw

from penstock.statistics.aggregates import sum_of
from penstock.statistics.base import ColumnStatistic, State

_LARGEST = 1e100
"""Cubes of larger numbers overflow float64."""
_SPREAD = 1e-13
"""Of the mean: a smaller spread is that of rounding."""


@dataclass(frozen=True)
class Skewness(ColumnStatistic):
    """The third standardised moment of each column of numbers or booleans, ``m3 / m2**1.5`` of the population.

    0 of symmetric values, 2 of exponential ones, above where there is a longer tail of large values; None where values
    are fewer than 3, or all the same. Nulls are left out, and so are numbers beyond 1e100, infinite ones among them.
    Computed in float64 about the mean; partitions are joined by the update of Pebay, "Formulas for robust, one-pass
    parallel computation of covariances and arbitrary-order statistical moments", SAND2008-6212, 2008.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> skewness = Skewness(("x",))
    >>> found = skewness.finish(skewness.summarise(frames.from_arrow(pa.table({"x": [1.0, 1.0, 4.0, None]}))))
    >>> round(found["x"], 12)
    0.707106781187
    """

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return count, mean and the centred sums of one partition, column by column."""
        return {name: _summarised(frame[name].cast(nw.Float64)) for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Join two by two, in their order."""
        return reduce(_joined, states)

    def finish_column(self, name: str, state: State) -> float | None:
        """Return the skewness of one column."""
        count, m2, m3 = (state[key] for key in ("count", "m2", "m3"))
        if count < 3 or m2 <= count * (_SPREAD * (state["mean"] + state["rest"])) ** 2:
            return None
        return float(math.sqrt(count) * m3 / m2**1.5)


def _summarised(values: nw.Series[Any]) -> State:
    values = values.filter((values.abs() <= _LARGEST).fill_null(False))
    count = len(values)
    if not count:
        return {"count": 0, "mean": 0.0, "rest": 0.0, "m2": 0.0, "m3": 0.0}
    origin = sum_of(values) / count
    apart = values - origin
    square = apart * apart
    first, second, third = sum_of(apart) / count, sum_of(square), sum_of(square * apart)
    m3 = third - 3 * first * second + 2 * count * first**3  # the true mean is `first` beside the rounded one
    return {"count": count, "mean": origin, "rest": first, "m2": second - count * first * first, "m3": m3}


def _joined(left: State, right: State) -> State:
    if not left["count"] or not right["count"]:
        return left if left["count"] else right
    one, other = left["count"], right["count"]
    count, apart = one + other, (right["mean"] - left["mean"]) + (right["rest"] - left["rest"])
    m3 = left["m3"] + right["m3"] + apart**3 * one * other * (one - other) / count**2
    m3 += 3 * apart * (one * right["m2"] - other * left["m2"]) / count
    m2 = left["m2"] + right["m2"] + apart * apart * one * other / count
    return {"count": count, "mean": left["mean"], "rest": left["rest"] + apart * other / count, "m2": m2, "m3": m3}
