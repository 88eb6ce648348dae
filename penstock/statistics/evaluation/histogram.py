"""How residuals are distributed: quantiles with a bound, bars to draw, and how they change with the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.statistics.base import State, merge_fields
from penstock.statistics.cells import Cells, finish_cells, merge_cells, summarise_cells
from penstock.statistics.evaluation.base import PredictionStatistic
from penstock.statistics.rules import ColumnRules, Rule, add_counts, refuse, rules_for, valid_rows

_BARS = 60
_RANGES = 100


@dataclass(frozen=True, eq=False)
class ResidualDistribution:
    """Residuals ``label - prediction`` in cells of equal width, of rows of a weight above 0.

    Parameters
    ----------
    fine, coarse : Cells
        Cells of the residual, with the sums ``weight`` and ``residual`` (weight times residual); the coarse ones are at
        most 60.
    by_prediction : Cells
        At most 100 cells of the prediction, with the sums ``weight``, ``residual`` and ``squared``.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = Residuals(("prediction", "label"))
    >>> frame = frames.from_arrow(pa.table({"prediction": [1.0, 1.0, 3.0], "label": [1.5, 1.25, 1.0]}))
    >>> found = statistic.finish(statistic.summarise(frame))
    >>> found.quantile(0.5), found.median_absolute, found.histogram()["weight"].to_pylist()
    (0.25, 0.5, [1.0, 1.0, 1.0])
    """

    fine: Cells
    coarse: Cells
    by_prediction: Cells

    @property
    def width(self) -> float:
        """How far :meth:`quantile` and :attr:`median_absolute` can be from the exact value: a fine cell's width."""
        return self.fine.width

    @property
    def reason(self) -> str | None:
        """Why quantiles are undefined, or None when they are defined."""
        return None if len(self.fine.lower) else "no row has a positive weight"

    def quantile(self, q: float) -> float | None:
        """Return a number less than :attr:`width` from a weighted quantile of the residuals; None without weight.

        The quantile is the smallest residual such that it and the smaller ones have at least the share `q` of the
        weight (NumPy's method ``inverted_cdf``). Its cell is found exactly, and the mean of the cell returned; where a
        cell holds a single value, as with few distinct residuals, that is the quantile itself, to rounding.

        Raises
        ------
        ConfigError
            `q` is outside [0, 1].
        """
        if not 0 <= q <= 1:
            raise ConfigError(f"q is {q!r}, expected a fraction between 0 and 1")
        return _quantile(self._means, self.fine.sums["weight"], q)

    @property
    def median_absolute(self) -> float | None:
        """A number less than :attr:`width` from the weighted median of ``|residual|``; None without weight.

        Of two values in the middle it is the lower one. No cell lies on both sides of zero.
        """
        distance = np.maximum(self.fine.lower, -self.fine.upper)
        order = np.argsort(distance, kind="stable")
        return _quantile(np.abs(self._means)[order], self.fine.sums["weight"][order], 0.5)

    def histogram(self) -> pa.Table:
        """Return the coarse cells: ``lower``, ``upper``, ``weight``, float64; empty ones between them are left out."""
        return pa.table({"lower": self.coarse.lower, "upper": self.coarse.upper, "weight": self.coarse.sums["weight"]})

    def ranges(self) -> pa.Table:
        """Return the residuals by prediction: ``lower``, ``upper``, ``weight``, ``mean`` and ``std``, float64.

        ``std`` comes from sums of squares: its relative error is about 1e-16 times the square of ``mean / std``.
        """
        cells = self.by_prediction
        weight = cells.sums["weight"]
        mean = cells.sums["residual"] / weight
        std = np.sqrt(np.maximum(cells.sums["squared"] / weight - mean * mean, 0.0))
        return pa.table({"lower": cells.lower, "upper": cells.upper, "weight": weight, "mean": mean, "std": std})

    @cached_property
    def _means(self) -> np.ndarray:
        sums = self.fine.sums
        return np.clip(sums["residual"] / sums["weight"], self.fine.lower, self.fine.upper)


def _quantile(values: np.ndarray, weights: np.ndarray, q: float) -> float | None:
    if not len(values):
        return None
    cumulative = np.cumsum(weights)
    return float(values[min(np.searchsorted(cumulative, q * cumulative[-1]), len(values) - 1)])


@dataclass(frozen=True)
class Residuals(PredictionStatistic):
    """The :class:`ResidualDistribution` of a column of predictions, computed in float64.

    Parameters
    ----------
    columns : tuple of str
        The prediction, the label, and the weight (0 or more) if there is one; without it every row weighs 1.
    most : int, default 10_000
        Cells that residuals may fill, at least 2; they are as narrow as that allows. The state grows with it.

    Raises
    ------
    ConfigError
        `columns` has not two or three names, or `most` is too small.

    Examples
    --------
    >>> from penstock import frames
    >>> statistic = Residuals(("prediction", "label", "weight"), most=2)
    >>> frame = frames.from_arrow(pa.table({"prediction": [0, 0, 4], "label": [1, 2, 8], "weight": [1.0, 1.0, 2.0]}))
    >>> statistic.finish(statistic.summarise(frame)).ranges().to_pylist()[1]
    {'lower': 4.0, 'upper': 4.000000000000001, 'weight': 2.0, 'mean': 4.0, 'std': 0.0}
    """

    most: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most < 2:
            raise ConfigError(f"most is {self.most!r}, expected at least 2")

    @property
    def _checks(self) -> ColumnRules:
        checks = [(name, Rule(test)) for name in self.columns[:2] for test in ("null", "infinite", "too_large")]
        return [*checks, *rules_for(self.columns[2:], "null", "too_large", "negative")]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the cells of the valid rows of one partition, and how many rows break which rule."""
        valid, invalid = valid_rows(frame, self._checks)
        prediction, label, weight = self.arrays(valid)
        counted = weight > 0
        prediction, residual, weight = prediction[counted], (label - prediction)[counted], weight[counted]
        weighted = weight * residual
        by_residual = {"weight": weight, "residual": weighted}
        by_prediction = {**by_residual, "squared": weighted * residual}
        return {
            "invalid": invalid,
            "residual": summarise_cells(residual, by_residual, self.most),
            "prediction": summarise_cells(prediction, by_prediction, _RANGES),
        }

    def merge(self, states: Sequence[State]) -> State:
        """Add up the cells."""
        residual, prediction = (partial(merge_cells, most=most) for most in (self.most, _RANGES))
        return merge_fields(states, invalid=add_counts, residual=residual, prediction=prediction)

    def finish(self, state: State) -> ResidualDistribution:
        """Return the distribution.

        Raises
        ------
        DataValueError
            A prediction, label or weight is null or larger than 1e150, or a weight negative; names the column and the
            count, and its ``predicate`` is true for the bad rows.
        """
        refuse(self._checks, state["invalid"])
        coarse = merge_cells([state["residual"]], _BARS)
        return ResidualDistribution(*(finish_cells(each) for each in (state["residual"], coarse, state["prediction"])))
