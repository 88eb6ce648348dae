"""How far predictions are from numbers: the sums behind every metric of MLlib's regression evaluator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.core.errors import ConfigError
from penstock.statistics.aggregates import aggregate, sums
from penstock.statistics.base import State, merge_fields
from penstock.statistics.evaluation.base import PredictionStatistic
from penstock.statistics.moments import centred, combine, refuse_overflow, total
from penstock.statistics.rules import ColumnRules, Rule, add_counts, refuse, rules_for, valid_rows

_SUMS = (
    "weight",
    "weight_squares",
    "error",
    "squared_error",
    "absolute_error",
    "positive_error",
    "negative_error",
    "relative_error",
)
_SIDES = ("prediction", "label")
_WEIGHTLESS = "no row has a positive weight"


@dataclass(frozen=True)
class Errors:
    """Errors of predictions; every property is None, with a reason, when no row has a positive weight.

    Parameters
    ----------
    count : int
        Rows.
    weight, weight_squares : float
        Sum of the weights and of their squares.
    error, squared_error, absolute_error : float
        Weighted sums over rows of the difference ``label - prediction``, of its square and of its absolute value.
    positive_error, negative_error : float
        Weighted sums of the positive differences, and of the absolute values of the negative ones.
    relative_error : float
        Weighted sum of ``|label - prediction| / |label|`` over the rows whose label is not 0.
    zero_labels : int
        Rows of a weight above 0 whose label is 0.
    max_error : float or None
        Largest ``|label - prediction|`` of the rows of a weight above 0; None when there are none.
    label_mean : float
        Weighted mean of the labels.
    label_m2, prediction_m2 : float
        Weighted sums of the squared distances from the weighted mean.

    Notes
    -----
    The definitions are those of MLlib's ``RegressionMetrics``; `var` and the weighted `r2` are not scikit-learn's.

    Examples
    --------
    >>> statistic = RegressionErrors(("prediction", "label"))
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> frame = frames.from_arrow(pa.table({"prediction": [1.0, 3.0], "label": [2.0, 4.0]}))
    >>> errors = statistic.finish(statistic.summarise(frame))
    >>> errors.rmse, errors.mae, errors.r2(), errors.var
    (1.0, 1.0, 0.0, 2.0)
    """

    count: int
    weight: float
    weight_squares: float
    error: float
    squared_error: float
    absolute_error: float
    positive_error: float
    negative_error: float
    relative_error: float
    zero_labels: int
    max_error: float | None
    label_mean: float
    label_m2: float
    prediction_m2: float

    @property
    def mse(self) -> float | None:
        """Mean squared error."""
        return self._mean(self.squared_error)

    @property
    def rmse(self) -> float | None:
        """Square root of the mean squared error."""
        return None if self.mse is None else math.sqrt(self.mse)

    @property
    def mae(self) -> float | None:
        """Mean absolute error."""
        return self._mean(self.absolute_error)

    @property
    def mape(self) -> float | None:
        """Mean of ``|label - prediction| / |label|``, 0.1 for 10 %; None, with :attr:`mape_reason`, for labels of 0."""
        return None if self.mape_reason else self._mean(self.relative_error)

    @property
    def mape_reason(self) -> str | None:
        """Why :attr:`mape` is undefined, or None when it is defined."""
        if not self.weight:
            return _WEIGHTLESS
        if self.zero_labels:
            return f"{self.zero_labels} rows have a label of 0, relative to which there is no error"
        return None if math.isfinite(self.relative_error) else "labels are so near to 0 that relative errors overflow"

    def pinball(self, quantile: float = 0.5) -> float | None:
        """Return the mean loss of predictions meant to be a quantile of the label: of 0.5, half of :attr:`mae`.

        A label ``d`` above its prediction costs ``quantile * d``, one below it ``(1 - quantile) * d``.

        Raises
        ------
        ConfigError
            `quantile` is outside [0, 1].
        """
        check_quantile(quantile)
        return self._mean(quantile * self.positive_error + (1 - quantile) * self.negative_error)

    @property
    def var(self) -> float | None:
        """Explained variance: the mean squared distance of the predictions from the mean label."""
        bias = self._mean(self.error)
        return None if bias is None else self._mean(self.prediction_m2 + self.error * bias)

    def r2(self, through_origin: bool = False) -> float | None:
        """Return the coefficient of determination; None, with a :meth:`reason`, when the labels do not vary.

        It is ``1 - squared_error / scale``. `scale` is the weighted sum of the squared labels for a regression through
        the origin. Otherwise it is ``v * (weight - 1)`` with MLlib's unbiased variance of the labels
        ``v = label_m2 / (weight - weight_squares / weight)``: without weights that is the textbook's, with weights it
        is not, and it changes when all weights are scaled.
        """
        scale = self._scale(through_origin)
        return 1 - self.squared_error / scale if scale else None

    def reason(self, through_origin: bool = False) -> str | None:
        """Return why :meth:`r2`, or without weight everything, is undefined; None when all is defined."""
        if not self.weight:
            return _WEIGHTLESS
        if self._scale(through_origin):
            return None
        return "every label is 0" if through_origin else "the labels do not vary, or the weights sum to 1"

    def _scale(self, through_origin: bool) -> float:
        if through_origin:
            return self.label_m2 + self.weight * self.label_mean * self.label_mean
        denominator = self.weight - self.weight_squares / self.weight if self.weight else 0.0
        return self.label_m2 / denominator * (self.weight - 1) if denominator > 0 else 0.0

    def _mean(self, summed: float) -> float | None:
        return summed / self.weight if self.weight else None


def check_quantile(quantile: float) -> None:
    """Raise ConfigError unless `quantile` is a fraction."""
    if not 0 <= quantile <= 1:
        raise ConfigError(f"quantile is {quantile!r}, expected a fraction between 0 and 1")


@dataclass(frozen=True)
class RegressionErrors(PredictionStatistic):
    """The :class:`Errors` of a column of predictions, computed in float64.

    Parameters
    ----------
    columns : tuple of str
        The prediction, the label, and the weight (0 or more) if there is one; without it every row weighs 1.

    Raises
    ------
    ConfigError
        `columns` has not two or three names.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> statistic = RegressionErrors(("prediction", "label", "weight"))
    >>> frame = frames.from_arrow(pa.table({"prediction": [1, 3], "label": [2, 6], "weight": [3.0, 1.0]}))
    >>> statistic.finish(statistic.summarise(frame)).mse
    3.0
    """

    @property
    def _checks(self) -> ColumnRules:
        checks = [(name, Rule(test)) for name in self.columns for test in ("null", "infinite")]
        return [*checks, *rules_for(self.columns[2:], "negative")]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the sums of the valid rows of one partition, and how many rows break which rule."""
        valid, invalid = valid_rows(frame, self._checks)
        prediction, label, *weights = (nw.col(name).cast(nw.Float64) for name in self.columns)
        weight = weights[0] if weights else label * 0 + 1
        error = label - prediction
        absolute = weight * error.abs()
        parts = [nw.when(part).then(absolute).otherwise(0.0) for part in (error > 0, error < 0)]
        relative = nw.when(label != 0).then(absolute / label.abs()).otherwise(0.0)
        terms = (weight, weight * weight, weight * error, weight * error * error, absolute, *parts, relative)
        found = sums(valid, dict(zip(_SUMS, terms, strict=True)))
        values = {"prediction": prediction, "label": label}
        sides = centred(valid, {side: (value, weight, found["weight"]) for side, value in values.items()})
        counted = {
            "zero_labels": ((label == 0) & (weight > 0)).sum(),
            "max_error": nw.when(weight > 0).then(error.abs()).max(),
        }
        return {"invalid": invalid, "count": len(valid), **found, **aggregate(valid, counted), **sides}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the sums; join means and centred squares with Chan's update."""
        sides = {side: combine([(state["weight"], state[side]) for state in states]) for side in _SIDES}
        sums = dict.fromkeys(("count", "zero_labels"), sum) | dict.fromkeys(_SUMS, total)
        return {**merge_fields(states, invalid=add_counts, max_error=_largest, **sums), **sides}

    def finish(self, state: State) -> Errors:
        """Return the errors.

        Raises
        ------
        DataValueError
            A prediction, label or weight is null or infinite, a weight negative, or squares overflow; names the column
            and the count, and its ``predicate`` is true for the bad rows.
        """
        refuse(self._checks, state["invalid"])
        label, prediction = state["label"], state["prediction"]
        refuse_overflow(self.columns[1], label["m2"])
        refuse_overflow(self.columns[0], prediction["m2"], state["squared_error"])
        added = {name: state[name] for name in ("count", *_SUMS, "zero_labels", "max_error")}
        return Errors(**added, label_mean=label["mean"], label_m2=label["m2"], prediction_m2=prediction["m2"])


def _largest(errors: Sequence[float | None]) -> float | None:
    return max((error for error in errors if error is not None), default=None)
