"""Which class wins where each has a threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def are_thresholds(values: Sequence[Any]) -> bool:
    """Return whether these are finite numbers, none of them negative, at most one of them 0, and two at least.

    Examples
    --------
    >>> are_thresholds((0.0, 2.0)), are_thresholds((0.0, 0.0)), are_thresholds((0.5, True))
    (True, False, False)
    """
    right = [type(value) is not bool and isinstance(value, int | float) and 0 <= value < math.inf for value in values]
    return len(right) > 1 and all(right) and list(values).count(0) <= 1


def winners(probability: Any, thresholds: Sequence[float]) -> Any:
    """Return for each row the place of the class whose probability divided by its threshold is largest.

    Of equal ones the first wins. A class with the threshold 0 wins unless its own probability is 0.

    Parameters
    ----------
    probability : numpy.ndarray or cupy.ndarray of shape (n_rows,) or (n_rows, n_classes)
        Of the second of two classes, or of each class; a row of NaN has any class.
    thresholds : sequence of float, of length n_classes

    Returns
    -------
    numpy.ndarray or cupy.ndarray of shape (n_rows,), int64

    Examples
    --------
    >>> winners(np.array([0.2, 0.3, 0.4]), (0.7, 0.3)), winners(np.array([[0.5, 0.3, 0.2]]), (2.0, 1.0, 1.0))
    (array([0, 0, 1]), array([1]))
    """
    of_each = np.stack([1.0 - probability, probability], axis=1) if probability.ndim == 1 else probability
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shares = of_each / np.array(thresholds, dtype="float64", like=of_each)
    return np.where(np.isnan(shares), -math.inf, shares).argmax(axis=1)
