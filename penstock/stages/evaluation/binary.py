"""Areas under the curves of a binary classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from penstock.stages.evaluation.base import Evaluation, Evaluator
from penstock.statistics.base import Statistic
from penstock.statistics.binary import BinaryCurve


@dataclass(frozen=True)
class BinaryClassificationEvaluator(Evaluator):
    """``areaUnderROC`` and ``areaUnderPR``, exact and with weights.

    Parameters
    ----------
    label : str, default "label"
        0 and 1, or booleans; no nulls.
    raw_prediction : str, default "rawPrediction"
        A number that is larger for rows more likely positive: a margin or a probability. No nulls.
    weight : str, optional
        Finite weights of 0 or more; without it every row weighs 1.
    metrics : sequence of str, optional
        Some of the two; both unless given.

    Notes
    -----
    The values are those of MLlib's evaluator with ``numBins=0``; its default of 1000 bins is an approximation that
    depends on how the data is partitioned. The area under the precision-recall curve is a trapezoid from
    (0, precision of the first threshold), not scikit-learn's ``average_precision_score``. Where only one class has
    weight both are None, with a reason.

    Examples
    --------
    >>> import penstock as ps
    >>> table = pa.table({"label": [1, 0, 1], "rawPrediction": [0.9, 0.4, 0.1]})
    >>> BinaryClassificationEvaluator(metrics=["areaUnderROC"]).evaluate(ps.LocalEngine(device="cpu").from_arrow(table))
    {'areaUnderROC': 0.5}
    """

    label: str = "label"
    raw_prediction: str = "rawPrediction"
    weight: str | None = None
    larger_better: ClassVar[Mapping[str, bool]] = {"areaUnderROC": True, "areaUnderPR": True}

    def columns(self) -> tuple[str, ...]:
        """Return the score, the label, and the weight if there is one."""
        return (self.raw_prediction, self.label, *([self.weight] if self.weight is not None else []))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the curve; its state grows with the number of distinct scores."""
        return {"curve": BinaryCurve(self.columns())}

    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the areas under the curve."""
        curve = results["curve"]
        areas = {"areaUnderROC": curve.area_under_roc, "areaUnderPR": curve.area_under_pr}
        return self._report(areas, dict.fromkeys(areas, curve.reason))
