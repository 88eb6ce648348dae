"""The formulas of naive Bayes: what is learned from the moments of classes, and the score of every class for a row.

Those of MLlib's ``NaiveBayes``. Scores are added up feature by feature and not by a matrix product, whose last digits
would depend on how many rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.frames import Kind, matrices
from penstock.statistics.class_moments import MomentsByClass

MODEL_TYPES = ("multinomial", "complement", "bernoulli", "gaussian")
_BOOST = 1e-9
"""What part of the largest variance of all features is added to every one, as in MLlib and scikit-learn."""

_ROWS = {"cpu": 2**12, "gpu": 2**17}
"""Rows scored at a time: a block of them, turned so that features are contiguous, stays near the processor; on a GPU so
many that calls cost little."""


def learn(model_type: str, moments: MomentsByClass, smoothing: float) -> tuple[np.ndarray, ...]:
    """Return ``pi`` (n_classes), ``theta`` and for the gaussian model ``sigma`` (n_classes, n_features).

    An entry is not finite where a logarithm of 0 was taken, which only smoothing of 0 allows, and ``sigma`` is 0
    where all features are constant.
    """
    weight = moments.weight
    if model_type == "gaussian":
        boost = _BOOST * moments.total_variances.max()
        return np.log(weight) - np.log(weight.sum()), moments.means, moments.variances + boost
    return shares(model_type, weight, moments.sums, smoothing, moments.sums.shape[1])


def shares(
    model_type: str, weight: np.ndarray, counts: np.ndarray, smoothing: float, features: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``pi`` and ``theta`` of the models of amounts.

    Parameters
    ----------
    weight : numpy.ndarray of shape (n_classes,)
    counts : numpy.ndarray of shape (n_classes, n_columns)
        The sums of features; those that no row has may be left out.
    smoothing : float
    features : int
        How many there are.
    """
    pi = np.log(weight + smoothing) - np.log(weight.sum() + len(weight) * smoothing)
    if model_type == "complement":
        counts = np.maximum(counts.sum(axis=0) - counts, 0.0)  # what rounding leaves of nothing may be negative
    total = weight + 2 * smoothing if model_type == "bernoulli" else counts.sum(axis=1) + features * smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        theta: np.ndarray = np.log(counts + smoothing) - np.log(total)[:, None]
    return pi, (-theta if model_type == "complement" else theta)


def absent(theta: np.ndarray) -> np.ndarray:
    """Return the logarithm of the probability of a 0 in place of that of a 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: np.ndarray = np.log1p(-np.exp(theta))
    return logs


def scores(
    model_type: str, matrix: Any, pi: np.ndarray, theta: np.ndarray, sigma: np.ndarray | None, kind: Kind
) -> Any:
    """Return the logarithm of prior times likelihood of each class for each row, of shape (n_classes, n_rows).

    Without the evidence, and of the gaussian model without ``log(2 * pi) / 2`` a feature, as in MLlib. Those of the
    complement model are normalised. What overflows is infinite or NaN, and so are the scores of a row with NaN.

    Parameters
    ----------
    matrix : numpy.ndarray or cupy.ndarray of shape (n_rows, n_features), float64
    """
    if sigma is None:
        constant, slopes = linear(model_type, pi, theta)
        found = products(constant, slopes, matrix, kind)
    else:
        constant = pi - np.log(sigma).sum(axis=1) / 2
        found = _added(constant, _distance, (theta, np.sqrt(sigma)), matrix, kind)
    return normalised(found) if model_type == "complement" else found


def linear(
    model_type: str, pi: np.ndarray, theta: np.ndarray, times: np.ndarray | int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return what the score of each class starts with, and what the value of each feature adds to it, times the value.

    Parameters
    ----------
    times : numpy.ndarray of shape (n_columns,), optional
        For how many features each column of `theta` stands.
    """
    if model_type == "bernoulli":
        zeros = absent(theta)
        return pi + (zeros * times).sum(axis=1), theta - zeros
    return (np.zeros_like(pi) if model_type == "complement" else pi), theta


def products(constant: np.ndarray, slopes: np.ndarray, matrix: Any, kind: Kind) -> Any:
    """Return constants and the sums of slopes times values, of shape (n_classes, n_rows); see `linear`."""
    return _added(constant, _product, (slopes,), matrix, kind)


def _product(values: Any, slope: Any) -> Any:
    return values * slope


def _distance(values: Any, centre: Any, scale: Any) -> Any:
    """Return ``-(x - centre)**2 / (2 * scale**2)``, divided first, so that squares overflow as late as can be."""
    away = (values - centre) / scale
    away *= away
    away *= -0.5
    return away


def _added(
    constant: np.ndarray, term: Callable[..., Any], tables: Sequence[np.ndarray], matrix: Any, kind: Kind
) -> Any:
    """Return the constant of each class and the terms of all features, a block of rows at a time.

    Parameters
    ----------
    term : callable
        Takes the values of a feature and, of each of `tables`, the column of its numbers, one a class.
    """
    start, *of_features = (matrices.to_device(each, kind) for each in (constant[:, None], *map(_by_feature, tables)))
    blocks = []
    rows = _ROWS[kind]
    for first in range(0, max(len(matrix), 1), rows):
        columns = matrix[first : first + rows].T.copy()
        total = start.repeat(columns.shape[1], axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            for values, *numbers in zip(columns, *of_features, strict=True):
                total += term(values, *numbers)
        blocks.append(total)
    return np.concatenate(blocks, axis=1)


def _by_feature(table: np.ndarray) -> np.ndarray:
    return table.T[:, :, None].copy()


def normalised(found: Any) -> Any:
    """Return the logarithms of probabilities of scores."""
    with np.errstate(invalid="ignore"):
        away = found - found.max(axis=0)
        return away - np.log(np.exp(away).sum(axis=0))


def probabilities(found: Any) -> Any:
    """Return the probability of each class for each row from its scores; NaN for a row with NaN."""
    powers = np.exp(found - found.max(axis=0))
    return powers / powers.sum(axis=0)
