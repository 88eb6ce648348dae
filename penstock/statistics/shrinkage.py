"""Covariances drawn towards a multiple of the identity: of few rows, better than those of the rows themselves."""

from __future__ import annotations

import numpy as np

from penstock.statistics.fourth_moments import FourthProducts
from penstock.statistics.gram import CrossProducts

SHRINKAGES = ("auto", "oas")


def shrunk_covariance(products: CrossProducts, shrinkage: float | str | None) -> np.ndarray:
    """Return ``(1 - s) * covariance + s * mean variance * identity``, as scikit-learn's discriminant analysis has it.

    Parameters
    ----------
    products : CrossProducts
        `FourthProducts` for "auto".
    shrinkage : float, {"auto", "oas"} or None
        s itself, or None for 0. "auto": that of Ledoit and Wolf, "A well-conditioned estimator for large-dimensional
        covariance matrices", Journal of Multivariate Analysis 88, 2004, for columns divided by their deviations.
        "oas": that of Chen et al., "Shrinkage algorithms for MMSE covariance estimation", IEEE Transactions on Signal
        Processing 58, 2010, without the terms of ``2 / p``, as in scikit-learn. With weights the number of rows is
        ``sum(w)**2 / sum(w**2)``.

    Examples
    --------
    >>> products = CrossProducts(("x", "y"), 4, 4.0, 4.0, np.zeros(2), np.diag([4.0, 12.0]), np.zeros(2, bool))
    >>> shrunk_covariance(products, 0.5).tolist()
    [[1.5, 0.0], [0.0, 2.5]]
    """
    covariance = products.covariance()
    if shrinkage is None:
        return covariance
    if shrinkage == "auto":
        deviations = np.sqrt(np.diag(covariance))
        units = np.where(deviations > 0, deviations, 1.0)
        both = np.outer(units, units)
        correlations = covariance / both
        return both * _towards_identity(correlations, _ledoit_wolf(products, correlations, units))
    return _towards_identity(covariance, _oas(products, covariance) if shrinkage == "oas" else float(shrinkage))


def _towards_identity(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    mean = np.trace(covariance) / len(covariance)
    return (1 - shrinkage) * covariance + shrinkage * mean * np.eye(len(covariance))


def _rows(products: CrossProducts) -> float:
    """Return the number of rows; with weights, of those of one weight that would tell as much."""
    return products.weight**2 / products.weight_squares


def _ledoit_wolf(products: CrossProducts, covariance: np.ndarray, units: np.ndarray) -> float:
    """Return how far the covariance of columns in these units is off, in that from a multiple of the identity."""
    assert isinstance(products, FourthProducts)
    features, square = len(covariance), float((covariance**2).sum())
    fourth = float((products.squares / np.outer(units**2, units**2)).sum()) / products.weight
    mean = np.trace(covariance) / features
    distance = (square - features * mean**2) / features
    error = (fourth - square) / features / _rows(products)
    return min(error, distance) / distance if error > 0 and distance > 0 else 0.0


def _oas(products: CrossProducts, covariance: np.ndarray) -> float:
    features = len(covariance)
    mean_square, square = float((covariance**2).mean()), (np.trace(covariance) / features) ** 2
    below = (_rows(products) + 1) * (mean_square - square / features)
    return min((mean_square + square) / below, 1.0) if below > 0 else 1.0
