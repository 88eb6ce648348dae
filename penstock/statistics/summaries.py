"""Weighted sums, means, norms and ends of columns: the metrics of MLlib's Summarizer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.core.errors import ConfigError
from penstock.statistics.aggregates import aggregate, sums
from penstock.statistics.base import State, Statistic, merge_fields
from penstock.statistics.moments import centred, combine, refuse_overflow, total
from penstock.statistics.rules import ColumnRules, add_counts, refuse, rules_for, valid_rows

_WEIGHT = "weight"
_SUMS = ("weight", "weight_squares", "sum", "norm_l1", "squares")


@dataclass(frozen=True)
class Summary:
    """What the rows of a column add up to that have a value, and a weight above 0; all None but counts without any.

    Attributes
    ----------
    count, num_nonzeros : int
        Rows, and those whose value is not 0; they are not weighted.
    weight : float
        Sum of the weights; the number of rows without weights.
    mean : float or None
        Weighted.
    variance, std : float or None
        ``m2 / (weight - weight_squares / weight)``, the unbiased estimate of reliability weights that MLlib gives;
        without weights it divides by ``count - 1``. None of a single row, where MLlib has 0.
    min, max : float or None
    norm_l1, norm_l2 : float
        Sum of ``weight * |x|``, and the root of the sum of ``weight * x**2``.
    sum : float
        Weighted.
    """

    count: int
    num_nonzeros: int
    weight: float
    mean: float | None
    variance: float | None
    std: float | None
    min: float | None
    max: float | None
    norm_l1: float
    norm_l2: float
    sum: float


@dataclass(frozen=True)
class Summaries(Statistic):
    """The :class:`Summary` of each column of numbers or booleans, in float64; nulls are left out column by column.

    Moments are joined with the update of Chan (see :class:`~penstock.statistics.Moments`), other sums rounded once.

    Parameters
    ----------
    columns : tuple of str
        The columns of numbers; and last the weight (0 or more) if it is `weighted`, otherwise every row weighs 1.
    weighted : bool, default False

    Raises
    ------
    ConfigError
        There is no column of numbers.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> summaries = Summaries(("x", "w"), weighted=True)
    >>> frame = frames.from_arrow(pa.table({"x": [1.0, 4.0, None], "w": [2.0, 1.0, 1.0]}))
    >>> found = summaries.finish(summaries.summarise(frame))["x"]
    >>> found.count, found.mean, found.norm_l1
    (2, 2.0, 6.0)
    """

    weighted: bool = False

    def __post_init__(self) -> None:
        if not self.numbers:
            raise ConfigError(f"columns are {self.columns!r}, expected at least one column of numbers")

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns but for the weight."""
        return self.columns[:-1] if self.weighted else self.columns

    @property
    def _checks(self) -> ColumnRules:
        of_numbers = rules_for(self.numbers, "infinite", "too_large")
        return [*of_numbers, *rules_for(self.columns[len(self.numbers) :], "null", "infinite", "negative")]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the sums of the valid rows of one partition, and how many rows break which rule."""
        rows, invalid = valid_rows(frame, self._checks)
        weight = nw.col(self.columns[-1]).cast(nw.Float64).alias(_WEIGHT) if self.weighted else None
        columns = {name: _summed(_terms(rows, name, weight), self.weighted) for name in self.numbers}
        return {"invalid": invalid, "columns": columns}

    def merge(self, states: Sequence[State]) -> State:
        """Add up column by column; join means and squares with Chan's update."""
        columns = {name: _merged([state["columns"][name] for state in states]) for name in self.numbers}
        return {"invalid": add_counts([state["invalid"] for state in states]), "columns": columns}

    def finish(self, state: State) -> dict[str, Summary]:
        """Return the summaries by column.

        Raises
        ------
        DataValueError
            A value is infinite or beyond 1e150, or a weight null, infinite or negative; names the column and the
            count, and its ``predicate`` is true for the bad rows.
        """
        refuse(self._checks, state["invalid"])
        return {name: _summary(name, state["columns"][name]) for name in self.numbers}


def _terms(rows: nw.DataFrame[Any], name: str, weight: nw.Expr | None) -> nw.DataFrame[Any]:
    """Return the rows of one column that count, as ``value`` and ``weight``."""
    value = nw.col(name).cast(nw.Float64).alias("value")
    if weight is None:
        return rows.select(value).drop_nulls()
    return rows.select(value, weight).drop_nulls().filter(nw.col(_WEIGHT) > 0)


def _summed(terms: nw.DataFrame[Any], weighted: bool) -> dict[str, Any]:
    value, weight = nw.col("value"), nw.col(_WEIGHT) if weighted else None
    ones = (value * 0 + 1) if weight is None else weight
    each = {"sum": value, "norm_l1": value.abs(), "squares": value * value}
    added = sums(terms, {"weight": ones, "weight_squares": ones * ones, **{key: ones * of for key, of in each.items()}})
    counted = {"num_nonzeros": (value != 0).sum(), "min": value.min(), "max": value.max()}
    moment = centred(terms, {"x": (value, weight, added["weight"])})["x"]
    return {"count": len(terms), **added, **aggregate(terms, counted), **moment}


def _merged(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    states = [state for state in states if state["count"]] or [states[0]]
    counts = merge_fields(states, count=sum, num_nonzeros=sum, min=min, max=max)
    added = merge_fields(states, **dict.fromkeys(_SUMS, total))
    return {**counts, **added, **combine([(state["weight"], state) for state in states])}


def _summary(name: str, state: dict[str, Any]) -> Summary:
    count, weight = state["count"], state["weight"]
    refuse_overflow(name, *(state[part] for part in ("m2", "squares", "weight", "weight_squares")))
    freedom = weight - state["weight_squares"] / weight if count > 1 else 0.0
    variance = state["m2"] / freedom if freedom > 0 else None
    return Summary(
        count=count,
        num_nonzeros=int(state["num_nonzeros"] or 0),
        weight=weight,
        mean=state["mean"] if count else None,
        variance=variance,
        std=None if variance is None else math.sqrt(variance),
        min=state["min"],
        max=state["max"],
        norm_l1=state["norm_l1"],
        norm_l2=math.sqrt(state["squares"]),
        sum=state["sum"],
    )
