"""What is predicted right and wrong at every threshold, and metrics of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from penstock.statistics.tied_sums import Tied

CELLS = ("tp", "fp", "fn", "tn")


@dataclass(frozen=True, eq=False)
class Confusions:
    """The weights of true and false positives and negatives at each threshold, from which on rows are positive.

    Parameters
    ----------
    thresholds : numpy.ndarray of shape (n_thresholds,)
        Descending: above all scores, and each score.
    tp, fp, fn, tn : numpy.ndarray of shape (n_thresholds,)

    Examples
    --------
    >>> weights = {"positive": np.array([1.0, 2.0]), "negative": np.array([3.0, 0.0])}
    >>> tied = Tied(np.array([0.2, 0.7]), np.array([0.2, 0.7]), 0.8, np.array([4.0, 2.0]), weights)
    >>> confusions = Confusions.of(tied)
    >>> confusions.tp.tolist(), confusions.fp.tolist(), METRICS["recall"](confusions, 1.0).tolist()
    ([0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.6666666666666666, 1.0])
    """

    thresholds: np.ndarray
    tp: np.ndarray
    fp: np.ndarray
    fn: np.ndarray
    tn: np.ndarray

    @classmethod
    def of(cls, tied: Tied) -> Self:
        """Return those of the weights of positive and negative rows at each score."""
        tp, fp = (np.append(0.0, np.cumsum(tied.sums[name][::-1])) for name in ("positive", "negative"))
        return cls(np.append(tied.beyond, tied.lower[::-1]), tp, fp, tp[-1] - tp, fp[-1] - fp)

    def cost(self, costs: Mapping[str, float]) -> np.ndarray:
        """Return the mean cost of a row."""
        total: np.ndarray = sum((costs.get(cell, 0.0) * getattr(self, cell) for cell in CELLS), np.zeros(len(self.tp)))
        return total / float(self.tp[-1] + self.fp[-1])


Metric = Callable[[Confusions, float], np.ndarray]


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the quotients, NaN where nothing is divided."""
    quotient: np.ndarray = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return quotient


def _recall(at: Confusions, _: float = 1.0) -> np.ndarray:
    return _ratio(at.tp, at.tp + at.fn)


def _specificity(at: Confusions, _: float = 1.0) -> np.ndarray:
    return _ratio(at.tn, at.tn + at.fp)


def _f_measure(at: Confusions, beta: float) -> np.ndarray:
    squared = beta * beta
    return _ratio((1 + squared) * at.tp, (1 + squared) * at.tp + squared * at.fn + at.fp)


def _matthews(at: Confusions, _: float) -> np.ndarray:
    roots = np.sqrt(at.tp + at.fp) * np.sqrt(at.tp + at.fn) * np.sqrt(at.tn + at.fp) * np.sqrt(at.tn + at.fn)
    return _ratio(at.tp * at.tn - at.fp * at.fn, roots)


def _kappa(at: Confusions, _: float) -> np.ndarray:
    agreement = 2 * (at.tp * at.tn - at.fp * at.fn)
    return _ratio(agreement, (at.tp + at.fp) * (at.fp + at.tn) + (at.tp + at.fn) * (at.fn + at.tn))


METRICS: Mapping[str, Metric] = {
    "accuracy": lambda at, _: (at.tp + at.tn) / (at.tp + at.fp + at.fn + at.tn),
    "balancedAccuracy": lambda at, _: (_recall(at) + _specificity(at)) / 2,
    "cohensKappa": _kappa,
    "f1": lambda at, _: _f_measure(at, 1.0),
    "fMeasure": _f_measure,
    "geometricMean": lambda at, _: np.sqrt(_recall(at) * _specificity(at)),
    "jaccard": lambda at, _: _ratio(at.tp, at.tp + at.fp + at.fn),
    "matthewsCorrelation": _matthews,
    "precision": lambda at, _: _ratio(at.tp, at.tp + at.fp),
    "recall": _recall,
    "specificity": _specificity,
    "youdensJ": lambda at, _: _recall(at) + _specificity(at) - 1,
}
"""Metrics of the positive class by confusions and the beta of the F-measure; larger is better, NaN is undefined."""
