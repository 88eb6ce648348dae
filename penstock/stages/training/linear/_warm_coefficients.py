"""Coefficients that a minimisation goes on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.stages.training.exact.design import Scaling


def scaled_coefficients(start: Mapping[str, Any], names: Sequence[str], scaling: Scaling) -> np.ndarray:
    """Return coefficients of features as they are, in terms of standardised ones, the intercept last if there is one.

    Of features that are constant, and of those that had none, they are 0.

    Parameters
    ----------
    start : mapping
        ``features``, and of each row of coefficients these and the intercept: ``coefficients``, ``intercepts``.
    names : sequence of str
        The features.

    Examples
    --------
    >>> start = {"features": ["a", "b"], "coefficients": [[2.0, 5.0]], "intercepts": [1.0]}
    >>> scaling = Scaling(np.array([3.0, 4.0]), np.array([0.5, 2.0]), np.zeros(2), np.ones(2))
    >>> scaled_coefficients(start, ["a", "c"], scaling).tolist()
    [1.0, 0.0, 7.0]
    """
    of_name = dict(zip(start["features"], np.array(start["coefficients"]).T, strict=True))
    none = np.zeros(len(start["intercepts"]))
    coefficients = np.stack([of_name.get(name, none) for name in names], axis=1) * (scaling.scale > 0)
    scaled: np.ndarray = coefficients * scaling.scale
    if scaling.intercept:
        intercepts = np.array(start["intercepts"]) + (coefficients * scaling.shift).sum(axis=1)
        scaled = np.column_stack([scaled, intercepts])
    return scaled.ravel()
