"""Sums of columns: of integers and decimals exact, whatever their size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals as nw

from penstock.statistics.aggregates import aggregate, sums
from penstock.statistics.base import ColumnStatistic, State, merge_fields

_HALF = 2**32


@dataclass(frozen=True)
class ColumnSum:
    """The sum of the values of a column that are not null, 0 of none, and how many there are.

    Examples
    --------
    >>> ColumnSum(count=2, sum=7).sum
    7
    """

    count: int
    sum: int | float | Decimal


@dataclass(frozen=True)
class ColumnSums(ColumnStatistic):
    """The :class:`ColumnSum` of each column of numbers or booleans; nulls are left out.

    Integers, booleans and decimals are added exactly; floats in float64, pairwise within a partition.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> sums = ColumnSums(("x",))
    >>> state = sums.summarise(frames.from_arrow(pa.table({"x": [2**62, 2**62, None]})))
    >>> sums.finish(state)["x"].sum == 2**63
    True
    """

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Add up one partition."""
        counts = aggregate(frame, {name: nw.col(name).count() for name in self.columns})
        return {name: {"count": counts[name], "sum": _sum(frame, name)} for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Add up."""
        return merge_fields(states, count=sum, sum=_total)

    def finish_column(self, name: str, state: State) -> ColumnSum:
        """Return the sum of one column."""
        return ColumnSum(**state)


def _sum(frame: nw.DataFrame[Any], name: str) -> int | float | Decimal:
    column, dtype = nw.col(name), frame.schema[name]
    if dtype.is_float():
        return sums(frame, {name: column.cast(nw.Float64)})[name]
    if dtype.is_decimal():
        return aggregate(frame, {name: column.sum()})[name] or Decimal(0)
    number = column.cast(nw.Int8) if dtype == nw.Boolean else column
    wide = number if dtype == nw.UInt64 else number.cast(nw.Int64)
    # By halves, neither of which overflows: of so many rows no frame is.
    halves = aggregate(frame, {"high": (wide // _HALF).sum(), "low": (wide % _HALF).sum()})
    return (halves["high"] or 0) * _HALF + (halves["low"] or 0)


def _total(values: list[Any]) -> int | float | Decimal:
    return math.fsum(values) if isinstance(values[0], float) else sum(values)
