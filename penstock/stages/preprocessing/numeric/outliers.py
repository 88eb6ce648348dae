"""What stages share that know outliers: the bounds of each column, learned in one scan."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.stages.base import Fitted, Stage, Tags, check_number
from penstock.stages.parameter_checks import one_of, wrong_parameter
from penstock.stages.preprocessing.scaling.affine import check_quality, quality
from penstock.stages.shapes import Fields, Number, Shape, by_column
from penstock.statistics import Counts, Distribution, Extremes, Moments, Quantiles, Statistic

_FOLDS = {"gaussian": 3.0, "iqr": 1.5, "mad": 3.29, "quantiles": 0.05}
_NORMAL_MAD = 0.67449
"""The median distance from the median of a normal distribution, in standard deviations."""


@dataclass(frozen=True)
class Spread:
    """Where the bulk of a column lies, and how wide it is: bounds are `fold` scales beyond its ends."""

    low: float
    high: float
    scale: float

    def bounds(self, fold: float) -> tuple[float, float]:
        """Return the lower and the upper bound; one that float64 cannot hold is its largest number.

        Examples
        --------
        >>> Spread(low=1.0, high=3.0, scale=2.0).bounds(1.5)
        (-2.0, 6.0)
        """
        largest = sys.float_info.max
        return max(self.low - fold * self.scale, -largest), min(self.high + fold * self.scale, largest)


@dataclass(frozen=True)
class OutlierStage(Stage):
    """A stage that learns bounds of columns of numbers: ``lower`` and ``upper``, see :class:`Winsorizer`."""

    _: KW_ONLY
    capping_method: str = field(default="gaussian", metadata=one_of(*_FOLDS))
    tail: str = field(default="right", metadata=one_of("right", "left", "both"))
    fold: float | str = "auto"

    tags: ClassVar[Tags] = Tags(accepts="numeric", lazy=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        fold: Any = self.fold
        if fold == "auto":
            return
        check_number(self, "fold", above=0)
        if fold > sys.float_info.max or (self.capping_method == "quantiles" and fold >= 0.5):
            hint = "0.05 stands for the 5th and the 95th percentile; other methods take multiples."
            raise wrong_parameter(self, "fold", "a finite number, below 0.5 for quantiles", hint)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for moments and extremes, or for quantiles."""
        columns = self.inputs()
        if self.capping_method == "gaussian":
            return {"counts": Counts(columns), "moments": Moments(columns), "extremes": Extremes(columns)}
        return {**quality(columns, schema), "quantiles": Quantiles(columns)}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``lower`` and ``upper``, by column; empty for a tail that is left alone."""
        check_quality(results)
        bounds = {name: self._bounds(name, results) for name in self.inputs()}
        return {
            "lower": {name: low for name, (low, _) in bounds.items() if self.tail != "right"},
            "upper": {name: high for name, (_, high) in bounds.items() if self.tail != "left"},
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        lower, upper = self.tail != "right", self.tail != "left"
        sides = {"lower": lower, "upper": upper}
        return Fields({side: by_column(self.inputs() if each else (), Number()) for side, each in sides.items()})

    def _bounds(self, name: str, results: Mapping[str, Any]) -> tuple[float, float]:
        fold = _FOLDS[self.capping_method] if self.fold == "auto" else float(self.fold)
        if self.capping_method == "gaussian":
            moment, extreme = results["moments"][name], results["extremes"][name]
            ends, spread = (float(extreme.min), float(extreme.max)), Spread(moment.mean, moment.mean, moment.std())
        else:
            values = results["quantiles"][name]
            ends, spread = (values.quantile(0.0), values.quantile(1.0)), _SPREADS[self.capping_method](values, fold)
        if ends[0] == ends[1]:
            return ends
        if not spread.scale:
            raise self._no_spread(name)
        return (spread.low, spread.high) if self.capping_method == "quantiles" else spread.bounds(fold)

    def _no_spread(self, name: str) -> DataValueError:
        return DataValueError(
            f"column {name!r} varies too little for {self.title} by {self.capping_method!r}: its bounds would be equal,"
            " though its values are not",
            hint='Leave the column out, or pass another capping_method, "gaussian" say.',
            column=name,
        )


def between(values: Distribution, low: float, high: float) -> Spread:
    """Return the range between two quantiles.

    Examples
    --------
    >>> between(Distribution(np.array([1.0, 2.0, 5.0, 7.0]), np.ones(4, np.int64), error=0), 0.25, 0.75)
    Spread(low=1.0, high=5.0, scale=4.0)
    """
    ends = [values.quantile(low) or 0.0, values.quantile(high) or 0.0]
    return Spread(ends[0], ends[1], ends[1] - ends[0])


def _around_median(values: Distribution) -> Spread:
    """Return the median, and the median distance from it.

    Where ranks in `values` are wrong by at most an error, the rank of a distance is by at most two: those not further
    than d from a point are the difference of two ranks.
    """
    middle = values.median or 0.0
    with np.errstate(over="ignore"):
        distances = np.abs(values.values - middle)
    order = np.argsort(distances, kind="stable")
    distance = Distribution(distances[order], values.weights[order], 2 * values.error).median or 0.0
    return Spread(middle, middle, distance / _NORMAL_MAD)


_SPREADS: Mapping[str, Callable[[Distribution, float], Spread]] = {
    "iqr": lambda values, fold: between(values, 0.25, 0.75),
    "mad": lambda values, fold: _around_median(values),
    "quantiles": lambda values, fold: between(values, fold, 1 - fold),
}
