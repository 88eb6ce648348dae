"""Mixtures of normal distributions, and the two halves of a step of expectation and maximisation.

Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM algorithm", J. R. Statist. Soc. B 39,
1977.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from penstock.core.errors import DataValueError
from penstock.frames import Kind, matrices
from penstock.stages.training.exact.design import linear

_NONE = 1e-12
"""A share of the weight that counts as none: mean and covariance of such a component are left as they are."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """Shares, means and covariances of k components of n features.

    Attributes
    ----------
    weights : numpy.ndarray of shape (k,)
        They sum to 1.
    means : numpy.ndarray of shape (k, n)
    covariances : numpy.ndarray of shape (k, n, n)

    Raises
    ------
    DataValueError
        When densities are asked for: a covariance is not positive definite.

    Examples
    --------
    >>> mixture = Mixture(np.array([0.5, 0.5]), np.array([[0.0], [4.0]]), np.ones((2, 1, 1)))
    >>> np.exp(mixture.log_densities(np.array([[0.0]]), "cpu")).round(6)
    array([[1.99471e-01],
           [6.70000e-05]])
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    @cached_property
    def whitening(self) -> np.ndarray:
        """The matrices that make independent numbers of variance 1 of the distances from the means."""
        try:
            whitening: np.ndarray = np.linalg.inv(np.linalg.cholesky(self.covariances))
        except np.linalg.LinAlgError as error:
            raise DataValueError(
                "a component has collapsed: its covariance is not positive definite",
                hint="Raise reg_covar, ask for fewer components, or leave out features that others explain.",
            ) from error
        return whitening

    @cached_property
    def peaks(self) -> np.ndarray:
        """The logarithm of share times density of each component at its mean, of shape (k,)."""
        sizes = np.log(np.diagonal(self.whitening, axis1=1, axis2=2)).sum(axis=1)
        with np.errstate(divide="ignore"):
            peaks: np.ndarray = np.log(self.weights) - self.means.shape[1] / 2 * math.log(2 * math.pi) + sizes
        return peaks

    def log_densities(self, x: Any, kind: Kind) -> Any:
        """Return the logarithm of share times density of each component at each row.

        What becomes of a row does not depend on those beside it.

        Parameters
        ----------
        x : array of shape (n, rows)
            On the device `kind`.

        Returns
        -------
        array of shape (k, rows)
        """
        means, whitening = (matrices.to_device(each, kind) for each in (self.means[:, :, None], self.whitening))
        squares = [sum_of_squares(linear(x - mean, each)) for mean, each in zip(means, whitening, strict=True)]
        return np.stack([float(most) - each / 2 for most, each in zip(self.peaks, squares, strict=True)])

    def pack(self) -> bytes:
        """Return the numbers as little-endian float64."""
        parts = (self.weights, self.means, self.covariances)
        return np.concatenate([part.ravel() for part in parts]).astype("<f8").tobytes()

    @classmethod
    def unpack(cls, data: bytes, features: int) -> Self:
        """Return the mixture that was packed."""
        numbers = np.frombuffer(data, dtype="<f8").astype(np.float64)
        count = len(numbers) // (1 + features + features**2)
        weights, means, covariances = np.split(numbers, [count, count * (1 + features)])
        return cls(weights, means.reshape(count, features), covariances.reshape(count, features, features))


def shares(log_densities: Any) -> tuple[Any, Any]:
    """Return how likely each component is for each row, and the row's log-likelihood; without overflow.

    Examples
    --------
    >>> shares(np.array([[-2000.0], [-2000.0]]))
    (array([[0.5],
           [0.5]]), array([-1999.30685282]))
    """
    largest = log_densities.max(axis=0)
    powers = np.exp(log_densities - largest)
    total = powers[0].copy()
    for row in powers[1:]:
        total += row
    return powers / total, largest + np.log(total)


def maximised(mixture: Mixture, sums: np.ndarray, floor: np.ndarray) -> Mixture:
    """Return the mixture that is likeliest where rows are shared out as they are.

    Parameters
    ----------
    mixture : Mixture
        The one that shared them out; a component without rows stays as it is in it.
    sums : numpy.ndarray of shape (k, n + 1, n + 1)
        Of each component the products of distances from its mean, and of a 1 below them, times the share of the row.
    floor : numpy.ndarray of shape (n,)
        What is added to the variances.
    """
    features = len(floor)
    mass = sums[:, features, features]
    alive = mass > _NONE * mass.sum()
    safe = np.where(alive, mass, 1.0)[:, None]
    moved = sums[:, :features, features] / safe
    covariances = sums[:, :features, :features] / safe[:, :, None] - moved[:, :, None] * moved[:, None, :]
    covariances = covariances + np.diag(floor)
    return Mixture(
        mass / mass.sum(),
        np.where(alive[:, None], mixture.means + moved, mixture.means),
        np.where(alive[:, None, None], covariances, mixture.covariances),
    )


def sum_of_squares(values: Any) -> Any:
    """Return the sums of the squares of columns, row after row: NumPy's own order depends on the shape.

    Examples
    --------
    >>> sum_of_squares(np.array([[3.0], [4.0]])).tolist()
    [25.0]
    """
    squares = values * values
    total = squares[0]
    for row in squares[1:]:
        total += row
    return total
