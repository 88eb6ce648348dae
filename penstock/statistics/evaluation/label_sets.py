"""How well predicted sets of labels match true ones: per document, per label, and over all labels together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.frames import lists
from penstock.statistics.aggregates import aggregate, sums
from penstock.statistics.base import State, merge_fields
from penstock.statistics.evaluation.lists import LABEL, PREDICTION, WEIGHT, ListPairs
from penstock.statistics.moments import total
from penstock.statistics.rules import ColumnRules, Rule

_COMMON = "common"
_PARTS = ("true_positives", "false_positives", "false_negatives")
_COUNTS = ("count", "blank", "unlabelled")
_SUMS = ("weight", "exact", "jaccards", "precisions", "recalls", "f1s", "differences")


@dataclass(frozen=True)
class LabelScore:
    """Weights of the right and wrong predictions of a label, or of all; a property is None where it would be 0 / 0.

    Examples
    --------
    >>> score = LabelScore(true_positives=1.0, false_positives=3.0, false_negatives=0.0)
    >>> score.precision, score.recall, score.f1_measure
    (0.25, 1.0, 0.4)
    """

    true_positives: float
    false_positives: float
    false_negatives: float

    @property
    def precision(self) -> float | None:
        """Share of the predictions that are right; None when there are none."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float | None:
        """Share of the true labels that are predicted; None when there are none."""
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1_measure(self) -> float | None:
        """Harmonic mean of the two; None when there are neither predictions nor true labels."""
        return _ratio(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True, eq=False)
class LabelScores:
    """Sums over documents and labels; every property is None where it would be 0 / 0.

    Parameters
    ----------
    count : int
        Documents of a weight above 0.
    blank, unlabelled : int
        Those of them with neither labels nor predictions, and those without labels.
    weight : float
        Sum of the weights of the documents.
    exact : float
        Weight of the documents whose prediction is their set of labels.
    jaccards, precisions, recalls, f1s : float
        Weighted sums of the measure of each document, over those for which it is defined. The precision of an empty
        prediction is 0, as is that of MLlib.
    differences : float
        Weighted sum of how many labels are either predicted or true, but not both.
    labels : pyarrow.Table
        ``label``, ascending, with the weights ``true_positives``, ``false_positives`` and ``false_negatives``.

    Notes
    -----
    The definitions are those of MLlib's ``MultilabelMetrics``, but for `subset_accuracy`: to MLlib a prediction is
    exact only if it names the labels in their order. What is None here is NaN, infinite or an exception there.

    Examples
    --------
    >>> statistic = LabelSets(("prediction", "label"))
    >>> frame = frames.from_arrow(pa.table({"prediction": [[1, 2], [3]], "label": [[1], [3]]}))
    >>> scores = statistic.finish(statistic.summarise(frame))
    >>> scores.accuracy, scores.hamming_loss, scores.micro.precision, scores.of(2).precision
    (0.75, 0.25, 0.6666666666666666, 0.0)
    """

    count: int
    blank: int
    unlabelled: int
    weight: float
    exact: float
    jaccards: float
    precisions: float
    recalls: float
    f1s: float
    differences: float
    labels: pa.Table

    @property
    def subset_accuracy(self) -> float | None:
        """Share of the documents whose prediction is their set of labels."""
        return self._mean(self.exact)

    @property
    def accuracy(self) -> float | None:
        """Mean Jaccard index of prediction and labels; None also when a document has neither."""
        return None if self.blank else self._mean(self.jaccards)

    @property
    def precision(self) -> float | None:
        """Mean share of a document's predictions that are right."""
        return self._mean(self.precisions)

    @property
    def recall(self) -> float | None:
        """Mean share of a document's labels that are predicted; None also when a document has no labels."""
        return None if self.unlabelled else self._mean(self.recalls)

    @property
    def f1_measure(self) -> float | None:
        """Mean of the F1 measures of the documents; None also when a document has neither prediction nor labels."""
        return None if self.blank else self._mean(self.f1s)

    @property
    def hamming_loss(self) -> float | None:
        """Mean of the labels that differ, over the number of distinct true labels; it can be above 1."""
        true = self._part("true_positives") + self._part("false_negatives")
        return _ratio(self.differences, self.weight * int(np.count_nonzero(true)))

    @cached_property
    def micro(self) -> LabelScore:
        """The score of all labels together."""
        return LabelScore(*(math.fsum(self._part(name)) for name in _PARTS))

    def of(self, label: Any) -> LabelScore:
        """Return the score of the label that is equal to `label`; all its weights are 0 when it does not occur."""
        labels = self.labels["label"].to_pylist()
        if label not in labels:
            return LabelScore(0.0, 0.0, 0.0)
        place = labels.index(label)
        return LabelScore(*(float(self._part(name)[place]) for name in _PARTS))

    def by_label(self, most: int) -> pa.Table:
        """Return ``label``, ``weight``, ``precision``, ``recall`` and ``f1Measure`` of the heaviest labels.

        The weight is that of the documents that have the label; labels of equal weight are in ascending order.
        """
        right, excess, missed = (self._part(name) for name in _PARTS)
        weight = right + missed
        first = np.argsort(-weight, kind="stable")[:most]
        measures = {
            "precision": (right, right + excess),
            "recall": (right, weight),
            "f1Measure": (2 * right, 2 * right + excess + missed),
        }
        ratios = {name: _ratios(part[first], whole[first]) for name, (part, whole) in measures.items()}
        return pa.table({"label": self.labels["label"].take(pa.array(first)), "weight": weight[first], **ratios})

    def _part(self, name: str) -> np.ndarray:
        return self.labels[name].to_numpy()

    def _mean(self, summed: float) -> float | None:
        return _ratio(summed, self.weight)


def _ratios(part: np.ndarray, whole: np.ndarray) -> pa.Array:
    ratio = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return pa.array(ratio, mask=whole == 0)


@dataclass(frozen=True)
class LabelSets(ListPairs):
    """The :class:`LabelScores` of a column of predicted lists of labels; the state grows with the distinct labels.

    A list is a set: its order does not matter, and it holds each label once. Lists of frames on a GPU are matched on
    the host.

    Parameters
    ----------
    columns : tuple of str
        The prediction and the labels (lists of numbers or of strings, which may be empty), and the weight (finite, 0
        or more) if there is one; without it every document weighs 1. A document of weight 0 is as if absent.

    Raises
    ------
    ConfigError
        `columns` has not two or three names.

    Examples
    --------
    >>> statistic = LabelSets(("prediction", "label", "weight"))
    >>> table = pa.table({"prediction": [["a"], ["a", "b"]], "label": [["a"], ["c"]], "weight": [3.0, 1.0]})
    >>> statistic.finish(statistic.summarise(frames.from_arrow(table))).subset_accuracy
    0.75
    """

    @property
    def checks(self) -> ColumnRules:
        """The rules that the columns keep; each list is a set."""
        return [*super().checks, *((name, Rule("lists_with_repeats")) for name in self.columns[:2])]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return sums over the documents, the weights of each label, and how many rows break which rule."""
        valid, invalid = self.valid(frame)
        matched = lists.with_intersection(valid, PREDICTION, LABEL, _COMMON)
        return {"invalid": invalid, **_documents(matched), "labels": _labels(matched, weighted=len(self.columns) == 3)}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the sums, and the weights of equal labels."""
        numbers = dict.fromkeys(_COUNTS, sum) | dict.fromkeys(_SUMS, total)
        by_label = partial(frames.sum_by_key, keys=["label"])
        return merge_fields(states, invalid=self.merge_invalid, **numbers, labels=by_label)

    def finish(self, state: State) -> LabelScores:
        """Return the scores.

        Raises
        ------
        DataValueError
            A list is null, has a null or NaN element or one element twice, or a weight is null, negative or infinite;
            names the column and the count, and its ``predicate`` is true for the bad rows (None on a GPU).
        """
        self.refuse_invalid(state["invalid"])
        held = {field.name: state[field.name] for field in fields(LabelScores)}
        return LabelScores(**{**held, "labels": state["labels"].sort_by("label")})


def _documents(matched: nw.DataFrame[Any]) -> dict[str, Any]:
    lengths = [nw.col(name).list.len().cast(nw.Float64) for name in (PREDICTION, LABEL, _COMMON)]
    sizes = matched.select(nw.col(WEIGHT), *lengths)
    weight, predicted, true, common = (nw.col(name) for name in (WEIGHT, PREDICTION, LABEL, _COMMON))
    both = predicted + true
    terms = (
        weight,
        nw.when((common == predicted) & (common == true)).then(weight),
        weight * _share(common, both - common),
        weight * _share(common, predicted),
        weight * _share(common, true),
        weight * _share(common * 2, both),
        weight * (both - common * 2),
    )
    found = aggregate(sizes, {"blank": (both == 0).sum(), "unlabelled": (true == 0).sum()})
    return {"count": len(sizes), **found, **sums(sizes, dict(zip(_SUMS, terms, strict=True)))}


def _share(part: nw.Expr, whole: nw.Expr) -> nw.Expr:
    return nw.when(whole > 0).then(part / whole)


def _labels(matched: nw.DataFrame[Any], weighted: bool) -> pa.Table:
    """Return the weights of each label; a difference of two sums is rounded, and never let below 0."""
    names = (PREDICTION, LABEL, _COMMON)
    summed = [lists.element_sums(matched, name, WEIGHT if weighted else None) for name in names]
    zeros = [pa.array(np.zeros(len(table))) for table in summed]
    wide = [
        pa.table({"element": table["element"], **{each: table["weight"] if each == name else zero for each in names}})
        for name, table, zero in zip(names, summed, zeros, strict=True)
    ]
    joined = frames.sum_by_key(wide, ["element"])
    predicted, true, common = (joined[name].to_numpy() for name in names)
    weights = (common, np.maximum(predicted - common, 0.0), np.maximum(true - common, 0.0))
    return pa.table({"label": joined["element"], **dict(zip(_PARTS, weights, strict=True))})
