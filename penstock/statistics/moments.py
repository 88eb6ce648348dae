"""Means and variances, exact to rounding whatever the mean of the data."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import narwhals as nw
import numpy as np

from penstock.core.errors import DataValueError
from penstock.frames.matrices import to_host, to_rows
from penstock.io.fragments import SLICE_ROWS
from penstock.statistics.aggregates import sum_of
from penstock.statistics.base import ColumnStatistic, State
from penstock.statistics.rules import Rule

Key = TypeVar("Key", bound=Hashable)
_LARGE = 1e150
"""Values beyond are named when squares overflow: the square root of what float64 holds, with room for a sum."""


@dataclass(frozen=True)
class Moment:
    """Count, mean and spread of the values of a column that are not null.

    ``mean`` is None when there are none. ``m2`` is the sum of the squared distances from the mean.

    Examples
    --------
    >>> moment = Moment(count=2, mean=3.0, m2=2.0)
    >>> moment.variance(), moment.variance(ddof=1), moment.std()
    (1.0, 2.0, 1.0)
    """

    count: int
    mean: float | None
    m2: float

    def variance(self, ddof: int = 0) -> float | None:
        """Return ``m2 / (count - ddof)``, or None when there are not more than `ddof` values."""
        return self.m2 / (self.count - ddof) if self.count > ddof else None

    def std(self, ddof: int = 0) -> float | None:
        """Return the square root of :meth:`variance`, or None when that is None."""
        variance = self.variance(ddof)
        return None if variance is None else math.sqrt(variance)


@dataclass(frozen=True)
class Moments(ColumnStatistic):
    """A :class:`Moment` of each column of numbers or booleans; nulls are left out.

    Computed in float64 whatever the type of the column, so integers cannot overflow; integers beyond 2**53 are rounded
    first. Within a partition it is the corrected two-pass algorithm, across partitions the update of Chan, both from
    Chan, Golub and LeVeque, "Algorithms for computing the sample variance", The American Statistician 37, 1983.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> moments = Moments(("x",))
    >>> moments.finish(moments.summarise(frames.from_arrow(pa.table({"x": [2, 4, None]}))))
    {'x': Moment(count=2, mean=3.0, m2=2.0)}
    """

    merges_slices = True

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return count, mean and centred squares of the finite values, and how many are infinite.

        On a GPU all columns are one block, of which a few calls compute everything.
        """
        if frame.implementation.is_cudf() and self.columns:
            return dict(zip(self.columns, _states_of_rows(to_rows(frame, self.columns)), strict=True))
        return {name: self.merge_column(list(_states_of_slices(frame[name]))) for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Join with Chan's update; one state stays as it is."""
        if len(states) == 1:
            return states[0]
        counts = {key: sum(state[key] for state in states) for key in ("infinite", "count")}
        return {**counts, **combine([(state["count"], state) for state in states])}

    def fill_column(self, state: State, value: Any, count: int) -> State:
        """Join with the moments of so many equal values."""
        copies = {"infinite": 0, "count": count, "mean": float(value), "rest": 0.0, "m2": 0.0}
        return self.merge_column([state, copies])

    def finish_column(self, name: str, state: State) -> Moment:
        """Return the moments of one column.

        Raises
        ------
        DataValueError
            Values are infinite, or so large that their squares are; its ``predicate`` is true for these values.
        """
        if state["infinite"]:
            raise Rule("infinite").error(name, state["infinite"])
        refuse_overflow(name, state["m2"])
        return Moment(state["count"], state["mean"] if state["count"] else None, state["m2"])


def _states_of_slices(series: nw.Series[Any]) -> Iterator[dict[str, Any]]:
    """Yield the states of the slices of a column, `SLICE_ROWS` rows each."""
    # The numbers of a slice stay in the processor's cache for all of its sums.
    column, buffer = nw.to_native(series.cast(nw.Float64)), np.empty(SLICE_ROWS)
    known = column.is_not_null() if column.null_count() else None  # once: a call of Polars takes as long as a slice
    for first in range(0, len(column), SLICE_ROWS):
        values = column.slice(first, SLICE_ROWS)
        values = values if known is None else values.filter(known.slice(first, SLICE_ROWS))
        yield _state(values.to_numpy(), buffer)


@np.errstate(over="ignore", invalid="ignore")
def _state(values: np.ndarray, buffer: np.ndarray) -> dict[str, Any]:
    """Return the state of numbers, NaN left out; `buffer` is overwritten."""
    count = len(values)
    origin = float(values.sum()) / (count or 1)
    apart = np.subtract(values, origin, out=buffer[:count])
    first, second = float(apart.sum()), float(np.multiply(apart, apart, out=apart).sum())
    # Infinities are looked for only where a sum is not finite: ordinary data pays nothing for them.
    if not math.isfinite(second) and not (finite := np.isfinite(values)).all():
        return {**_state(values[finite], buffer), "infinite": int(np.isinf(values).sum())}
    return {"infinite": 0, "count": count, **_moment(origin, count or 1, first, second)}


@np.errstate(over="ignore", invalid="ignore")
def _states_of_rows(rows: Any) -> list[dict[str, Any]]:
    """Return the state of each row of a matrix, NaN for null."""
    finite = np.isfinite(rows)
    count = finite.sum(axis=1, keepdims=True)
    values = np.where(finite, rows, 0.0)
    origin = values.sum(axis=1, keepdims=True) / count.clip(1, None)
    apart = np.where(finite, values - origin, 0.0)
    infinite, first, second = (each.sum(axis=1, keepdims=True) for each in (np.isinf(rows), apart, apart * apart))
    sums = to_host(np.concatenate([infinite, count, origin, first, second], axis=1)).tolist()
    return [
        {"infinite": int(infinite), "count": int(count), **_moment(origin, count or 1, first, second)}
        for infinite, count, origin, first, second in sums
    ]


def refuse_overflow(name: str, *squares: float) -> None:
    """Raise DataValueError when one of the sums of `squares` of column `name` is not finite."""
    if all(math.isfinite(each) for each in squares):
        return
    raise DataValueError(
        f"column {name!r} has values so large that the sum of their squares overflows float64",
        hint="Rescale the column, or take logarithms, before this step.",
        column=name,
        predicate=Rule("not_between", (-_LARGE, _LARGE)).broken(name),
    )


def centred(
    frame: nw.DataFrame[Any], quantities: Mapping[Key, tuple[nw.Expr, nw.Expr | None, float]]
) -> dict[Key, dict[str, float]]:
    """Return the weighted ``mean`` and ``m2`` of expressions, each given with its weight and the sum of the weights.

    A weight of None is 1. ``rest`` is what float64 rounds off the mean: without it, merging would lose the low digits
    of the variance of data far from zero.
    """
    found = {}
    for key, (value, weight, total_weight) in quantities.items():
        terms = frame.select(value.alias("value"), *([] if weight is None else [weight.alias("weight")]))
        found[key] = _about_mean(terms["value"], None if weight is None else terms["weight"], total_weight)
    return found


def _about_mean(values: nw.Series[Any], weight: nw.Series[Any] | None, total_weight: float) -> dict[str, float]:
    origin = sum_of(_weighted(values, weight)) / (total_weight or 1)
    apart = values - origin
    first, second = sum_of(_weighted(apart, weight)), sum_of(_weighted(apart * apart, weight))
    return _moment(origin, total_weight or 1, first, second)


def _weighted(values: nw.Series[Any], weight: nw.Series[Any] | None) -> nw.Series[Any]:
    return values if weight is None else values * weight


def _moment(origin: float, weight: float, first: float, second: float) -> dict[str, float]:
    """Return the moment from sums of distances from `origin` and of their squares."""
    if not (math.isfinite(origin) and math.isfinite(second)):
        return {"mean": 0.0, "rest": 0.0, "m2": math.inf}
    return {**_split(origin, first / weight), "m2": max(second - first * first / weight, 0.0)}


def _split(origin: float, shift: float) -> dict[str, float]:
    mean = origin + shift
    return {"mean": mean, "rest": (origin - mean) + shift}


def combine(parts: Sequence[tuple[float, Mapping[str, float]]]) -> dict[str, float]:
    """Return ``mean``, ``rest`` and ``m2`` of parts together, each given as its total weight and its own three.

    Examples
    --------
    >>> low, high = ({"mean": mean, "rest": 0.0, "m2": 0.0} for mean in (2.0, 4.0))
    >>> combine([(1, low), (1, high)])
    {'mean': 3.0, 'rest': 0.0, 'm2': 2.0}
    """
    weights = total(weight for weight, _ in parts)
    origin = next((part["mean"] for weight, part in parts if weight), 0.0)
    shifts = [part["mean"] - origin + part["rest"] for _, part in parts]
    shift = total(weight * each for (weight, _), each in zip(parts, shifts, strict=True)) / (weights or 1)
    between = (weight * (each - shift) * (each - shift) for (weight, _), each in zip(parts, shifts, strict=True))
    return {**_split(origin, shift), "m2": total(part["m2"] for _, part in parts) + total(between)}


def total(terms: Iterable[float]) -> float:
    """Return the sum, rounded once; infinity where it overflows.

    Examples
    --------
    >>> total([1e100, 1.0, -1e100])
    1.0
    """
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):  # ValueError: infinities of both signs
        return math.inf
