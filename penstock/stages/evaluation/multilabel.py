"""How well predicted sets of labels match true ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from penstock.stages.evaluation.list_pairs import ListPairEvaluator
from penstock.stages.evaluation.result import Evaluation
from penstock.statistics.base import Statistic
from penstock.statistics.evaluation.label_sets import LabelScores, LabelSets

_MOST = 500


@dataclass(frozen=True)
class MultilabelClassificationEvaluator(ListPairEvaluator):
    """The twelve metrics of MLlib's evaluator of predicted sets of labels, with weights.

    Parameters
    ----------
    label : str, default "label"
        Lists of numbers or of strings, which may be empty; no nulls, and each label once.
    prediction : str, default "prediction"
        Lists of the same kind.
    weight : str, optional
        Finite weights of 0 or more; without it every row weighs 1.
    metric_label : number or str, default 0.0
        The label of the metrics ``...ByLabel``, compared by value.
    metrics : sequence of str, optional
        Some of the twelve; all unless given.

    Notes
    -----
    ``f1Measure``, ``accuracy`` (the Jaccard index), ``precision`` and ``recall`` are means over rows; those that begin
    with ``micro`` are of all labels of all rows together. The values are those of MLlib's evaluator, but for
    ``subsetAccuracy``: here a list is a set, to MLlib the order counts. ``hammingLoss`` is divided by the number of
    distinct labels that rows have, not by those that are predicted too (as scikit-learn's ``hamming_loss``), so that it
    can be above 1. A row without a prediction has precision 0. None, with a reason, where MLlib gives NaN or an
    infinity, or fails: ``f1Measure`` and ``accuracy`` when a row has neither labels nor predictions; ``recall`` when a
    row has no labels; ``microPrecision`` when nothing is predicted; ``microRecall`` and ``hammingLoss`` when no row has
    a label; ``microF1Measure`` when there is neither; ``precisionByLabel`` of a label that is never predicted,
    ``recallByLabel`` of one that no row has, and ``f1MeasureByLabel`` of one that does not occur; and everything when
    no row has weight.

    Table ``byLabel``: the 500 labels of the largest weight, with ``label``, ``weight`` (of the rows that have it),
    ``precision``, ``recall`` and ``f1Measure``.

    Examples
    --------
    >>> import penstock as ps
    >>> table = pa.table({"label": [[0, 1], [2]], "prediction": [[0, 2], [2]]})
    >>> evaluator = MultilabelClassificationEvaluator(metrics=["accuracy", "hammingLoss", "microRecall"])
    >>> evaluator.evaluate(ps.LocalEngine(device="cpu").from_arrow(table))
    {'accuracy': 0.6666666666666666, 'hammingLoss': 0.3333333333333333, 'microRecall': 0.6666666666666666}
    """

    metric_label: float | str = 0.0
    larger_better: ClassVar[Mapping[str, bool]] = {
        "f1Measure": True,
        "subsetAccuracy": True,
        "accuracy": True,
        "hammingLoss": False,
        "precision": True,
        "recall": True,
        "precisionByLabel": True,
        "recallByLabel": True,
        "f1MeasureByLabel": True,
        "microPrecision": True,
        "microRecall": True,
        "microF1Measure": True,
    }

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the sums over rows and labels; their state grows with the number of distinct labels."""
        return {"labels": LabelSets(self.columns())}

    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the metrics, and the table of labels."""
        scores = results["labels"]
        one, micro = scores.of(self.metric_label), scores.micro
        values = {
            "f1Measure": scores.f1_measure,
            "subsetAccuracy": scores.subset_accuracy,
            "accuracy": scores.accuracy,
            "hammingLoss": scores.hamming_loss,
            "precision": scores.precision,
            "recall": scores.recall,
            "precisionByLabel": one.precision,
            "recallByLabel": one.recall,
            "f1MeasureByLabel": one.f1_measure,
            "microPrecision": micro.precision,
            "microRecall": micro.recall,
            "microF1Measure": micro.f1_measure,
        }
        return self.report(values, self._reasons(scores), tables={"byLabel": scores.by_label(_MOST)})

    def _reasons(self, scores: LabelScores) -> dict[str, str]:
        """Return why each metric that can be undefined is, if it is."""
        if not scores.weight:
            return dict.fromkeys(self.larger_better, "no row has a positive weight")
        blank = f"{scores.blank} rows have neither labels nor predictions"
        return {
            "f1Measure": blank,
            "accuracy": blank,
            "hammingLoss": "no row has a label",
            "recall": f"{scores.unlabelled} rows have no labels",
            "precisionByLabel": f"label {self.metric_label!r} is never predicted",
            "recallByLabel": f"no row has label {self.metric_label!r}",
            "f1MeasureByLabel": f"label {self.metric_label!r} does not occur",
            "microPrecision": "no row has a prediction",
            "microRecall": "no row has a label",
            "microF1Measure": "no row has a label or a prediction",
        }
