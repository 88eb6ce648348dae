"""Straight lines through times: least squares of relative errors, with coefficients that are not negative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_ITERATIONS = 5
_INDEPENDENT = 1e-6
"""A column of which less is left beside the ones before it says nothing of its own."""


@dataclass(frozen=True)
class LeastSquares:
    """``y = sum(coefficient * x)``, where errors grow with y and no coefficient is negative.

    A column that is a sum of multiples of those before it gets the coefficient 0, so that the order of the columns says
    what is believed where points are too few. Weights are the reciprocals of what is predicted, found by iteration:
    those of what is measured would draw the line below the mean.

    Attributes
    ----------
    coefficients : tuple of float
    covariance : tuple of tuple of float
        Of the coefficients, where errors have the relative standard deviation 1.
    """

    coefficients: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]

    @classmethod
    def fit(cls, rows: Any, values: Sequence[float] | Floats) -> Self:
        """Return the fit to points.

        Parameters
        ----------
        rows : array-like of shape (points, columns)
        values : array-like of shape (points,)
            Not negative.

        Examples
        --------
        >>> line = LeastSquares.fit([(1, 1), (4, 1)], [5.0, 11.0])
        >>> [round(each, 6) for each in line.coefficients], round(line.value((10, 1)), 6)
        ([2.0, 3.0], 23.0)
        """
        x, y = np.asarray(rows, dtype=float), np.asarray(values, dtype=float)
        count, columns = x.shape[1], _independent(x)
        coefficients, covariance = np.zeros(count), np.zeros((count, count))
        if y.max(initial=0.0) > 0 and columns:
            found, spread = _solve(x[:, columns], y)
            coefficients[columns], covariance[np.ix_(columns, columns)] = found, spread
        return cls(tuple(coefficients.tolist()), tuple(map(tuple, covariance.tolist())))

    def value(self, row: Sequence[float]) -> float:
        """Return what is predicted at a point."""
        return float(np.dot(self.coefficients, row))

    def deviation(self, row: Sequence[float]) -> float:
        """Return the standard deviation of that, where errors have the relative standard deviation 1."""
        at = np.asarray(row, dtype=float)
        return float(np.sqrt(max(0.0, at @ np.asarray(self.covariance) @ at)))


def _independent(x: Floats) -> list[int]:
    """Return the columns that are no sum of multiples of those before them."""
    columns: list[int] = []
    basis: list[Floats] = []
    for place in range(x.shape[1]):
        length = float(np.linalg.norm(x[:, place]))
        rest = x[:, place] / length if length else x[:, place]
        for each in (*basis, *basis):  # twice: once is not enough for floating numbers
            rest = rest - (each @ rest) * each
        left = float(np.linalg.norm(rest))
        if left > _INDEPENDENT:
            columns.append(place)
            basis.append(rest / left)
    return columns


def _solve(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    from scipy.optimize import nnls

    scale = np.abs(x).max(axis=0)
    predicted = y
    for _ in range(_ITERATIONS):
        weight = 1.0 / np.maximum(predicted, 1e-3 * y.max())
        weighted = x / scale * weight[:, None]
        found = nnls(weighted, y * weight)[0]
        predicted = x / scale @ found
    active = found > 0
    covariance = np.zeros((len(found), len(found)))
    covariance[np.ix_(active, active)] = np.linalg.pinv(weighted[:, active].T @ weighted[:, active])
    return found / scale, covariance / np.outer(scale, scale)
