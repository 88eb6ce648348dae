"""Errors of predicted numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from penstock.stages.evaluation.base import Evaluation, Evaluator
from penstock.statistics.base import Statistic
from penstock.statistics.regression import RegressionErrors


@dataclass(frozen=True)
class RegressionEvaluator(Evaluator):
    """``rmse``, ``mse``, ``r2``, ``mae`` and ``var``, with weights.

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
    metrics : sequence of str, optional
        Some of the five; all unless given.

    Notes
    -----
    The values are those of MLlib's evaluator. ``var`` is the mean squared distance of the predictions from the mean
    label, not scikit-learn's ``explained_variance_score``; ``r2`` with weights is not scikit-learn's ``r2_score``, see
    `penstock.statistics.Errors`. ``r2`` is None, with a reason, where the labels do not vary, and everything is where
    no row has weight.

    Examples
    --------
    >>> import penstock as ps
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"label": [1.0, 3.0], "prediction": [1.0, 2.0]}))
    >>> RegressionEvaluator(metrics=["mse", "mae", "r2"]).evaluate(data)
    {'mse': 0.5, 'mae': 0.5, 'r2': 0.5}
    """

    label: str = "label"
    prediction: str = "prediction"
    weight: str | None = None
    through_origin: bool = False
    larger_better: ClassVar[Mapping[str, bool]] = {"rmse": False, "mse": False, "r2": True, "mae": False, "var": True}

    def columns(self) -> tuple[str, ...]:
        """Return the prediction, the label, and the weight if there is one."""
        return (self.prediction, self.label, *([self.weight] if self.weight is not None else []))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the errors; their state is a few numbers."""
        return {"errors": RegressionErrors(self.columns())}

    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the metrics."""
        errors = results["errors"]
        values = {
            "rmse": errors.rmse,
            "mse": errors.mse,
            "r2": errors.r2(self.through_origin),
            "mae": errors.mae,
            "var": errors.var,
        }
        return self._report(values, dict.fromkeys(values, errors.reason(self.through_origin)))
