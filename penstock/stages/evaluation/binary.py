"""A binary classifier: areas under its curves, and how good its probabilities are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.schemas import require, with_fields
from penstock.stages.evaluation.base import Evaluator
from penstock.stages.evaluation.known_classes import Known, check_classes, check_label, known_classes, shown
from penstock.stages.evaluation.result import Evaluation
from penstock.statistics.base import Statistic
from penstock.statistics.evaluation.binary import BinaryCurve
from penstock.statistics.evaluation.calibration import Calibration, Probabilities
from penstock.statistics.evaluation.curves import Curve
from penstock.statistics.vectors import element_types

_OF_CURVE = {"areaUnderROC": ("area_under_roc", "roc"), "areaUnderPR": ("area_under_pr", "pr"), "ks": ("ks", "gains")}
"""By metric: its property of `Curve`, after which its bound is named, and its table."""
_OF_PROBABILITY = ("logLoss", "brierScore", "expectedCalibrationError")
_OPTIONAL = "probability"
_REPLICATE_BINS = 1000


@dataclass(frozen=True)
class BinaryClassificationEvaluator(Evaluator):
    """Areas under the ROC and precision-recall curves, log loss, Brier score, KS distance and calibration error.

    Parameters
    ----------
    label : str, default "label"
        One of the two classes, of which the second is the positive one; no nulls.
    raw_prediction : str, default "rawPrediction"
        A number that is larger for rows more likely positive, a margin or a probability; or lists of two, of which the
        second is taken. No nulls. Infinite only with ``num_bins=0``.
    weight : str, optional
        Weights from 0 to 1e150; without it every row weighs 1.
    probability : str or None, default "probability"
        The probability of the positive class, from 0 to 1; or lists of two, of which the second is taken. No nulls.
        Needed for ``logLoss``, ``brierScore`` and ``expectedCalibrationError``: unless `metrics` asks for one of them,
        or the column was given another name, the data may lack it, and they are None, with a reason.
    num_bins : int, default 0
        0 for exact curves, from every distinct score: about 16 bytes each are kept. Otherwise, at least 2, the most
        cells of equal width that scores are put in, whatever the number of rows.
    calibration_bins : int, default 10
        Bins of equal width that [0, 1] is cut into for the calibration, from 1 to 500.
    eps : float, default 1e-15
        For ``logLoss``, probabilities are clipped to ``[eps, 1 - eps]``.
    classes : sequence, optional
        The classes in the order of their scores, texts or numbers, compared with labels by value. Scores of a model
        that is evaluated know them; without both, labels are 0 and 1, or booleans.
    metrics : sequence of str, optional
        Some of the six; all unless given.

    Raises
    ------
    ConfigError
        A metric is not known or has no column, or a number is out of range; when it evaluates, scores are of more
        classes than two.

    Notes
    -----
    The areas are those of MLlib's evaluator with ``numBins=0``. The one under the precision-recall curve is a trapezoid
    from (0, precision of the first threshold), not scikit-learn's ``average_precision_score``. Where only one class has
    weight the areas and ``ks`` are None, with a reason.

    With `num_bins` the areas and ``ks`` are approximate, and ``bounds`` of the result says how far each can be from the
    exact one, given what is in the cells; for the area under the ROC curve that is half the share of the pairs of a
    positive and a negative row that share a cell. The cells, and so the metrics, do not depend on how rows are
    partitioned. MLlib's ``numBins``, 1000 unless set, is another thing: it joins neighbouring distinct scores inside
    each partition of its sorted scores, so that its areas change with the partitioning, and it says no bound.

    Replicates of a bootstrap take cells too, 1,000 unless `num_bins` is set: their intervals are approximate, and the
    metrics themselves are not.

    Tables of the result: ``roc`` with ``areaUnderROC``, ``pr`` with ``areaUnderPR`` and ``gains`` with ``ks``, those of
    `penstock.statistics.Curve`; and ``calibration``, that of `penstock.statistics.Calibration`.

    Examples
    --------
    >>> import penstock as ps
    >>> table = pa.table({"label": [1, 0, 1], "rawPrediction": [0.9, 0.4, 0.1], "probability": [0.75, 0.5, 0.25]})
    >>> scored = ps.LocalEngine(device="cpu").from_arrow(table)
    >>> BinaryClassificationEvaluator(metrics=["areaUnderROC", "brierScore", "ks"]).evaluate(scored)
    {'areaUnderROC': 0.5, 'brierScore': 0.2916666666666667, 'ks': 0.5}
    """

    label: str = "label"
    raw_prediction: str = "rawPrediction"
    weight: str | None = None
    probability: str | None = _OPTIONAL
    num_bins: int = 0
    calibration_bins: int = 10
    eps: float = 1e-15
    classes: tuple[Any, ...] | None = None
    larger_better: ClassVar[Mapping[str, bool]] = {
        "areaUnderROC": True,
        "areaUnderPR": True,
        "logLoss": False,
        "brierScore": False,
        "ks": True,
        "expectedCalibrationError": False,
    }

    def __post_init__(self) -> None:
        """Refuse metrics and numbers that make no sense."""
        super().__post_init__()
        missing = [name for name in self.metrics or () if name in _OF_PROBABILITY and self.probability is None]
        if missing:
            raise ConfigError(f"metric {missing[0]!r} needs a column, but probability is None", stage=self.title)
        check_classes(self, most=2)
        self._curve()
        self._probabilities()

    def columns(self) -> tuple[str, ...]:
        """Return those of the score, the label, the probability and the weight that the metrics need."""
        score = [self.raw_prediction] if self._asks(_OF_CURVE) else []
        probability = [self.probability] if self.probability is not None and self._asks(_OF_PROBABILITY) else []
        return (*score, self.label, *probability, *self._weights)

    def bind(self, schema: pa.Schema) -> Self:
        """Return the evaluator, checked; without a column of probabilities if that is optional and not there.

        Raises
        ------
        SchemaError
            A column is missing, or holds neither numbers nor booleans; scores and probabilities may be lists, and
            labels texts where the classes are.
        ConfigError
            Scores are of more classes than two.
        """
        optional = self.metrics is None and self.probability == _OPTIONAL
        bound = replace(self, probability=None) if optional and _OPTIONAL not in schema.names else self
        scores = [name for name in (bound.raw_prediction, bound.probability) if name in bound.columns()]
        require(schema, bound.columns(), stage=self.title)
        classes, numbers = known_classes(bound, schema, scores), element_types(schema, scores)
        check_label(bound, schema, classes)
        if classes and len(classes) != 2:
            problem = f"{self.title} takes scores of two classes, and the model has {len(classes)}: {shown(classes)}"
            raise ConfigError(problem, hint="Take a MulticlassClassificationEvaluator.", stage=self.title)
        Evaluator.bind(bound, numbers if classes is None else with_fields(numbers, {self.label: pa.float64()}))
        return replace(bound, classes=classes or None)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the curve, whose state grows with the number of distinct scores, and the probabilities."""
        found: dict[str, Statistic] = {"curve": self._curve()} if self._asks(_OF_CURVE) else {}
        probabilities = self._probabilities()
        return found | ({"calibration": probabilities} if probabilities and self._asks(_OF_PROBABILITY) else {})

    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the metrics and their tables."""
        asked = [metric for metric in _OF_CURVE if metric in self.names]
        parts = [_curve_report(results["curve"], asked)] if "curve" in results else []
        if "calibration" in results:
            parts.append(_calibration_report(results["calibration"]))
        elif self._asks(_OF_PROBABILITY):
            absent = f"there is no column {_OPTIONAL!r}"
            parts.append(Evaluation(dict.fromkeys(_OF_PROBABILITY), dict.fromkeys(_OF_PROBABILITY, absent)))
        whole = Evaluation.joined(parts)
        return self.report(whole, whole.reasons, tables=whole.tables, bounds=whole.bounds)

    def reweighted(self, weight: str) -> Self:
        """Return the evaluator of a replicate; its curves are of cells, so that its state is small."""
        return replace(self, weight=weight, num_bins=self.num_bins or _REPLICATE_BINS)

    def _asks(self, metrics: Iterable[str]) -> bool:
        return not set(metrics).isdisjoint(self.names)

    @property
    def _values(self) -> Known:
        """The classes, unless they are their own places, which takes less to find."""
        return None if self.classes == (0, 1) else self.classes

    def _curve(self) -> BinaryCurve:
        columns = (self.raw_prediction, self.label, *self._weights)
        return BinaryCurve(columns, self.num_bins, classes=self._values)

    def _probabilities(self) -> Probabilities | None:
        if self.probability is None:
            return None
        columns = (self.probability, self.label, *self._weights)
        return Probabilities(columns, self.calibration_bins, self.eps, classes=self._values)


def _curve_report(curve: Curve, asked: Sequence[str]) -> Evaluation:
    """Return some metrics with their tables: each takes passes of its own over all thresholds."""
    far = {metric: getattr(curve, f"{_OF_CURVE[metric][0]}_bound") for metric in asked if curve.binned}
    tables = [_OF_CURVE[metric][1] for metric in asked]
    return Evaluation(
        {metric: getattr(curve, _OF_CURVE[metric][0]) for metric in asked},
        dict.fromkeys(asked, curve.reason) if curve.reason else {},
        tables={table: getattr(curve, f"{table}_table")() for table in tables},
        bounds={metric: bound for metric, bound in far.items() if bound is not None},
    )


def _calibration_report(found: Calibration) -> Evaluation:
    values = (found.log_loss, found.brier_score, found.expected_calibration_error)
    reasons = dict.fromkeys(_OF_PROBABILITY, found.reason) if found.reason else {}
    metrics = dict(zip(_OF_PROBABILITY, values, strict=True))
    return Evaluation(metrics, reasons, tables={"calibration": found.table()})
