"""Platt's calibration: the sigmoid of a score that is likeliest, found by Newton's method."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from penstock.stages.training.linear._log_loss import sigmoid

_MOST_STEPS = 100
_NEAR = 1e-6
"""A mean gradient below which Newton's method converges by itself, until only rounding is left."""


@dataclass(frozen=True)
class Sigmoid:
    """The probability ``1 / (1 + exp(-(slope * score + intercept)))``.

    Platt's A and B, and scikit-learn's ``a_`` and ``b_``, are the negatives of these.

    Examples
    --------
    >>> Sigmoid(2.0, -1.0).values(np.array([0.5]))
    array([0.5])
    """

    slope: float
    intercept: float

    @classmethod
    def fitted(cls, scores: np.ndarray, positives: np.ndarray, negatives: np.ndarray) -> Self:
        """Return the likeliest sigmoid where a positive is one but for ``1 / (n + 2)``, and so a negative none.

        Parameters
        ----------
        scores : numpy.ndarray of shape (n_scores,)
            Distinct, one at least.
        positives, negatives : numpy.ndarray of shape (n_scores,)
            The weight of each there, together above 0.
        """
        weights, (n_positive, n_negative) = positives + negatives, (float(positives.sum()), float(negatives.sum()))
        hits = positives * ((n_positive + 1) / (n_positive + 2)) + negatives / (n_negative + 2)
        centre = float(weights @ scores / weights.sum())
        scale = float(np.abs(scores - centre).max())
        share = float(hits.sum() / weights.sum())
        start = np.array([0.0, math.log(share / (1 - share))])
        if not scale:
            return cls(0.0, float(start[1]))
        slope, intercept = _minimised((scores - centre) / scale, weights, hits, start)
        return cls(float(slope / scale), float(intercept - slope / scale * centre))

    def values(self, scores: Any) -> Any:
        """Return the probabilities of an array of scores; NaN for NaN."""
        return sigmoid(self.slope * scores + self.intercept)


def _minimised(scores: np.ndarray, weights: np.ndarray, hits: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return slope and intercept of the least log loss, by Newton's method with steps that are halved.

    Sums are NumPy's: those of BLAS would depend on how many threads there are.
    """
    before, loss = np.inf, _loss(scores, weights, hits, x)
    for _ in range(_MOST_STEPS):
        probability = sigmoid(x[0] * scores + x[1])
        excess, spread = weights * probability - hits, weights * probability * (1 - probability)
        gradient = np.array([(excess * scores).sum(), excess.sum()])
        size = float(np.abs(gradient).max() / weights.sum())
        if not size or (size < _NEAR and size > before / 2):
            break
        mixed = (spread * scores).sum()
        curvature = np.array([[(spread * scores * scores).sum(), mixed], [mixed, spread.sum()]])
        step = np.linalg.solve(curvature + 1e-14 * np.trace(curvature) * np.eye(2), gradient)
        while size >= _NEAR and _loss(scores, weights, hits, x - step) > loss:
            step = step / 2
        x, before = x - step, size
        loss = _loss(scores, weights, hits, x)
    return x


def _loss(scores: np.ndarray, weights: np.ndarray, hits: np.ndarray, x: np.ndarray) -> float:
    margins = x[0] * scores + x[1]
    return float((weights * np.logaddexp(0.0, margins) - hits * margins).sum())
