"""Errors of predicted numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from penstock.stages.evaluation.base import Evaluator
from penstock.stages.evaluation.result import Evaluation
from penstock.statistics.base import Statistic
from penstock.statistics.evaluation.histogram import ResidualDistribution, Residuals
from penstock.statistics.evaluation.regression import Errors, RegressionErrors, check_quantile

_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_FROM_DISTRIBUTION = "medianAbsoluteError"


@dataclass(frozen=True)
class RegressionEvaluator(Evaluator):
    """MLlib's ``rmse``, ``mse``, ``r2``, ``mae`` and ``var``, relative, quantile and largest errors, and residuals.

    Parameters
    ----------
    label : str, default "label"
        Finite numbers, no nulls.
    prediction : str, default "prediction"
        Finite numbers, no nulls.
    weight : str, optional
        Finite weights of 0 or more; without it every row weighs 1.
    through_origin : bool, default False
        Compare with predicting 0 for ``r2``, not with predicting the mean label.
    quantile : float, default 0.5
        Which quantile of the label the predictions are, for ``pinballLoss``.
    metrics : sequence of str, optional
        Some of those named here; all unless given.

    Raises
    ------
    ConfigError
        `quantile` is outside [0, 1], or a metric is not known.

    Notes
    -----
    The first five values are those of MLlib's evaluator. ``var`` is the mean squared distance of the predictions from
    the mean label, not scikit-learn's ``explained_variance_score``; ``r2`` with weights is not scikit-learn's
    ``r2_score``, see `penstock.statistics.Errors`. ``r2`` is None, with a reason, where the labels do not vary.

    The others are scikit-learn's: ``mape`` (``mean_absolute_percentage_error``: 0.1 is 10 %; None, with a reason, where
    a label is 0), ``pinballLoss`` (``mean_pinball_loss``), ``maxError`` (``max_error``, of the rows with weight) and
    ``medianAbsoluteError``, which is approximate: its bound says how far it can be from the weighted median, of two
    values in the middle the lower one. Everything is None where no row has weight.

    With ``medianAbsoluteError`` come the tables ``residuals`` (``label - prediction`` in cells of the prediction:
    lower, upper, weight, mean, std), ``residualHistogram`` (lower, upper, weight) and ``residualQuantiles`` (quantile,
    value; within the same bound); without it predictions are not sorted, and that saves most of the time.

    Examples
    --------
    >>> import penstock as ps
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"label": [1.0, 3.0], "prediction": [1.0, 2.0]}))
    >>> RegressionEvaluator(metrics=["mse", "mae", "r2", "maxError"]).evaluate(data)
    {'mse': 0.5, 'mae': 0.5, 'r2': 0.5, 'maxError': 1.0}
    """

    label: str = "label"
    prediction: str = "prediction"
    weight: str | None = None
    through_origin: bool = False
    quantile: float = 0.5
    larger_better: ClassVar[Mapping[str, bool]] = {
        "rmse": False,
        "mse": False,
        "r2": True,
        "mae": False,
        "var": True,
        "mape": False,
        "pinballLoss": False,
        "maxError": False,
        "medianAbsoluteError": False,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_quantile(self.quantile)

    def columns(self) -> tuple[str, ...]:
        """Return the prediction, the label, and the weight if there is one."""
        return (self.prediction, self.label, *self._weights)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the errors, whose state is a few numbers, and the residuals, at most 10,100 cells."""
        wanted: dict[str, Statistic] = {}
        if set(self.names) - {_FROM_DISTRIBUTION}:
            wanted["errors"] = RegressionErrors(self.columns())
        if _FROM_DISTRIBUTION in self.names:
            wanted["residuals"] = Residuals(self.columns())
        return wanted

    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the metrics, and the tables of residuals."""
        values: dict[str, float | None] = {}
        reasons: dict[str, str | None] = {}
        if "errors" in results:
            values, reasons = self._from_errors(results["errors"])
        residuals: ResidualDistribution | None = results.get("residuals")
        if residuals is None:
            return self.report(values, reasons)
        values[_FROM_DISTRIBUTION], reasons[_FROM_DISTRIBUTION] = residuals.median_absolute, residuals.reason
        bounds = {_FROM_DISTRIBUTION: residuals.width}
        return self.report(values, reasons, tables=_tables(residuals), bounds=bounds)

    def _from_errors(self, errors: Errors) -> tuple[dict[str, float | None], dict[str, str | None]]:
        values = {
            "rmse": errors.rmse,
            "mse": errors.mse,
            "r2": errors.r2(self.through_origin),
            "mae": errors.mae,
            "var": errors.var,
            "mape": errors.mape,
            "pinballLoss": errors.pinball(self.quantile),
            "maxError": errors.max_error,
        }
        reasons = dict.fromkeys(values, errors.reason(self.through_origin))
        return values, {**reasons, "mape": errors.mape_reason}


def _tables(residuals: ResidualDistribution) -> dict[str, pa.Table]:
    values = pa.array([residuals.quantile(q) for q in _QUANTILES], pa.float64())
    return {
        "residuals": residuals.ranges(),
        "residualHistogram": residuals.histogram(),
        "residualQuantiles": pa.table({"quantile": pa.array(_QUANTILES), "value": values}),
    }
