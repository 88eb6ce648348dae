"""A classifier of several classes: how often its labels are right, by class and in all, and its probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.schemas import require
from penstock.core.selectors import is_numeric
from penstock.stages.base import wrong_type
from penstock.stages.evaluation.base import CONVERT, Evaluator
from penstock.stages.evaluation.known_classes import are_labels, check_classes, check_label, is_text, known_classes
from penstock.stages.evaluation.result import Evaluation
from penstock.statistics.base import Statistic
from penstock.statistics.evaluation.class_probabilities import ClassProbabilities, ProbabilityScores
from penstock.statistics.evaluation.confusion import Confusion
from penstock.statistics.evaluation.confusion_matrix import ConfusionMatrix
from penstock.statistics.vectors import element_types

_OF_PROBABILITY = ("logLoss", "topKAccuracy")
_OPTIONAL = "probability"
_MOST = 500


@dataclass(frozen=True)
class MulticlassClassificationEvaluator(Evaluator):
    """The fourteen metrics of MLlib's evaluator, three measures of agreement and top-k accuracy, with weights.

    Parameters
    ----------
    label : str, default "label"
        Numbers, booleans or strings; no nulls.
    prediction : str, default "prediction"
        Numbers or booleans where the labels are, which are then compared as float64, otherwise strings; no nulls.
    weight : str, optional
        Finite weights of 0 or more; without it every row weighs 1.
    probability : str or None, default "probability"
        Lists with the probability of each class, or numbers, the probability of class 1 of two; no nulls. Needed for
        ``logLoss`` and ``topKAccuracy``: unless `metrics` asks for one of them, or the column was given another name,
        the data may lack it, and the two are None, with a reason.
    metric_label : float, bool or str, optional
        The label that the metrics ``...ByLabel`` are of, compared by value: the first of the classes unless given, or
        0.0 where these are not known. ``labels`` of the result says it.
    beta : float, default 1.0
        How many times recall counts against precision in ``weightedFMeasure`` and ``fMeasureByLabel``, above 0; ``f1``
        has 1 always.
    eps : float, default 1e-15
        For ``logLoss``, probabilities are clipped to ``[eps, 1 - eps]``.
    top_k : int, default 2
        How many of the most probable classes ``topKAccuracy`` looks at; all that tie with the last one count.
    classes : sequence, optional
        The classes in the order of their probabilities, texts or numbers, compared with labels by value. Scores of a
        model that is evaluated know them. Without both, labels are places: 0, 1, and so on, and ``logLoss`` and
        ``topKAccuracy`` are None, with a reason, for strings, and where no label is 0.
    metrics : sequence of str, optional
        Some of the eighteen; all unless given.

    Raises
    ------
    ConfigError
        A metric is not known or has no column, or a number is out of range.

    Notes
    -----
    The values are those of MLlib's evaluator: the averages ``weighted...`` are over the true labels by their weight,
    and the precision of a label that is never predicted is 0. A label whose rows all weigh 0 does not occur, where
    MLlib gives NaN. Where MLlib fails, as for a `metric_label` that is no row's true label, or gives NaN, as for false
    positive rates when there is one true label, the metric is None, with a reason. ``balancedAccuracy`` is the mean
    recall over true labels; it, ``matthewsCorrelation`` and ``cohensKappa`` are those of scikit-learn, but None where
    they divide 0 by 0.

    Tables: ``confusionMatrix``, the weight of each pair of ``label`` and ``prediction`` that occurs; ``byLabel``, the
    ``weight``, ``precision``, ``recall``, ``falsePositiveRate`` and ``fMeasure`` of each label. Of each the 500 rows of
    the largest weight.

    Examples
    --------
    >>> import penstock as ps
    >>> scored = ps.LocalEngine(device="cpu").from_arrow(pa.table({"label": ["a", "b"], "prediction": ["a", "a"]}))
    >>> MulticlassClassificationEvaluator(metrics=["f1", "recallByLabel"], metric_label="b").evaluate(scored)
    {'f1': 0.3333333333333333, 'recallByLabel': 0.0}
    """

    label: str = "label"
    prediction: str = "prediction"
    weight: str | None = None
    probability: str | None = _OPTIONAL
    metric_label: float | str | None = None
    beta: float = 1.0
    eps: float = 1e-15
    top_k: int = 2
    classes: tuple[Any, ...] | None = None
    larger_better: ClassVar[Mapping[str, bool]] = {
        "f1": True,
        "accuracy": True,
        "weightedPrecision": True,
        "weightedRecall": True,
        "weightedTruePositiveRate": True,
        "weightedFalsePositiveRate": False,
        "weightedFMeasure": True,
        "truePositiveRateByLabel": True,
        "falsePositiveRateByLabel": False,
        "precisionByLabel": True,
        "recallByLabel": True,
        "fMeasureByLabel": True,
        "logLoss": False,
        "hammingLoss": False,
        "matthewsCorrelation": True,
        "cohensKappa": True,
        "balancedAccuracy": True,
        "topKAccuracy": True,
    }

    def __post_init__(self) -> None:
        """Refuse metrics and numbers that make no sense."""
        super().__post_init__()
        missing = [name for name in self.metrics or () if name in _OF_PROBABILITY and self.probability is None]
        if missing:
            raise ConfigError(f"metric {missing[0]!r} needs a column, but probability is None", stage=self.title)
        if not self.beta > 0:
            raise ConfigError(f"beta is {self.beta}, expected a number above 0", stage=self.title)
        check_classes(self)
        self._probabilities(_OPTIONAL)

    def columns(self) -> tuple[str, ...]:
        """Return those of the prediction, the label, the probability and the weight that the metrics need."""
        prediction = [self.prediction] if self._asks_labels() else []
        probability = [self.probability] if self.probability is not None and self._asks_probability() else []
        return (*prediction, self.label, *probability, *self._weights)

    def bind(self, schema: pa.Schema) -> Self:
        """Return the evaluator, checked; without a column of probabilities if that is optional and not there.

        Raises
        ------
        SchemaError
            A column is missing or of the wrong type: label and prediction are both numbers or booleans, or both
            strings; the labels for metrics of probabilities, the weights and the probabilities are numbers or
            booleans, and the probabilities may be lists.
        """
        optional = self.metrics is None and self.probability == _OPTIONAL
        bound = replace(self, probability=None) if optional and _OPTIONAL not in schema.names else self
        require(schema, bound.columns(), stage=self.title)
        classes = known_classes(bound, schema, [bound.probability])
        first = None if is_text(schema, self.label) else 0.0
        if classes and are_labels(classes, schema, self.label):
            first = classes[0]
        bound = replace(bound, metric_label=first if self.metric_label is None else self.metric_label)
        bound._check_labels(schema, classes)
        numbers = [name for name in bound.columns() if name not in (self.label, self.prediction)]
        kinds = element_types(schema, [name for name in numbers if name == bound.probability])
        for name in numbers:
            self._check_number(schema.field(name), kinds.field(name).type)
        return replace(bound, classes=classes or None)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the confusion matrix, whose state grows with the pairs that occur, and the probabilities."""
        found: dict[str, Statistic] = {}
        if self._asks_labels():
            found["confusion"] = Confusion((self.prediction, self.label, *self._weights))
        places = self.classes or not is_text(schema, self.label)
        if self.probability is not None and self._asks_probability() and places:
            found["probabilities"] = self._probabilities(self.probability)
        return found

    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the metrics and their tables."""
        parts = [self._of_labels(results["confusion"])] if "confusion" in results else []
        if self._asks_probability():
            parts.append(self._of_probabilities(results.get("probabilities")))
        whole = Evaluation.joined(parts)
        return self.report(whole, whole.reasons, tables=whole.tables, labels=whole.labels)

    def _of_labels(self, matrix: ConfusionMatrix) -> Evaluation:
        label: Any = self.metric_label
        beta = self.beta
        by_label = [name for name in self.larger_better if name.endswith("ByLabel")]
        reason = matrix.label_reason(label) if label is not None else "metric_label names no label, and nothing does"
        reasons = {
            **dict.fromkeys(self.larger_better, matrix.reason),
            **dict.fromkeys(by_label, reason),
            "weightedFalsePositiveRate": matrix.one_label_reason,
            "falsePositiveRateByLabel": reason or matrix.one_label_reason,
            "matthewsCorrelation": matrix.one_class_reason,
            "cohensKappa": matrix.one_label_reason,
        }
        values = {
            "f1": matrix.weighted_f_measure(),
            "accuracy": matrix.accuracy,
            "weightedPrecision": matrix.weighted_precision,
            "weightedRecall": matrix.weighted_recall,
            "weightedTruePositiveRate": matrix.weighted_recall,
            "weightedFalsePositiveRate": matrix.weighted_false_positive_rate,
            "weightedFMeasure": matrix.weighted_f_measure(beta),
            "truePositiveRateByLabel": matrix.recall(label),
            "falsePositiveRateByLabel": matrix.false_positive_rate(label),
            "precisionByLabel": matrix.precision(label),
            "recallByLabel": matrix.recall(label),
            "fMeasureByLabel": matrix.f_measure(label, beta),
            "hammingLoss": matrix.hamming_loss,
            "matthewsCorrelation": matrix.matthews_correlation,
            "cohensKappa": matrix.cohens_kappa,
            "balancedAccuracy": matrix.balanced_accuracy,
        }
        tables = {"confusionMatrix": matrix.cells(_MOST), "byLabel": matrix.by_label(_MOST, beta)}
        labels = {} if label is None else dict.fromkeys(by_label, label)
        return Evaluation(values, {name: why for name, why in reasons.items() if why}, tables=tables, labels=labels)

    def _of_probabilities(self, scores: ProbabilityScores | None) -> Evaluation:
        if scores is None:
            absent = "the classes of strings are not known" if self.probability else f"there is no column {_OPTIONAL!r}"
            return Evaluation(dict.fromkeys(_OF_PROBABILITY), dict.fromkeys(_OF_PROBABILITY, absent))
        values = dict(zip(_OF_PROBABILITY, (scores.log_loss, scores.top_k_accuracy), strict=True))
        return Evaluation(values, dict.fromkeys(values, scores.reason) if scores.reason else {})

    def _asks_labels(self) -> bool:
        return not set(self.names) <= set(_OF_PROBABILITY)

    def _asks_probability(self) -> bool:
        return not set(self.names).isdisjoint(_OF_PROBABILITY)

    def _probabilities(self, name: str) -> ClassProbabilities:
        columns = (name, self.label, *self._weights)
        return ClassProbabilities(columns, self.eps, self.top_k, classes=self.classes)

    def _check_labels(self, schema: pa.Schema, classes: tuple[Any, ...] | None) -> None:
        text = is_text(schema, self.label)
        if self._asks_probability():
            check_label(self, schema, classes)
        if text and classes is None and self.metrics is not None and self._asks_probability():
            expected = f"class indices as labels for {' and '.join(_OF_PROBABILITY)}, or strings among known classes"
            hint = 'Name the classes in the order of their probabilities: classes=("no", "yes").'
            raise wrong_type(self.title, self.label, schema.field(self.label).type, expected, hint)
        if self._asks_labels() and text != is_text(schema, self.prediction):
            expected = "predictions of strings" if text else "predictions of numbers or booleans"
            self._refuse(schema.field(self.prediction), f"{expected}, as the labels in {self.label!r} are")
        if not text:
            for name in [self.label, *([self.prediction] if self._asks_labels() else [])]:
                self._check_number(schema.field(name), schema.field(name).type)

    def _check_number(self, field: pa.Field, kind: pa.DataType) -> None:
        if not is_numeric(kind):
            lists = ", or lists of numbers" if field.name == self.probability else ""
            self._refuse(field, f"numbers and booleans{lists}")

    def _refuse(self, field: pa.Field, expected: str) -> None:
        raise wrong_type(self.title, field.name, field.type, expected, CONVERT)
