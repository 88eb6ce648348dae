"""Mixtures of normal distributions, and the steps of expectation and maximisation over the rows of all ranks.

Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM algorithm", J. R. Statist. Soc. B 39,
1977.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from penstock import arrays
from penstock.errors import DataValueError
from penstock.frames import Kind
from penstock.stages.training._design import Rows, linear
from penstock.stages.training._exact_gram import GramDesign, host

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
    def _whitening(self) -> np.ndarray:
        """The matrices that make independent numbers of variance 1 of the distances from the means."""
        try:
            whitening: np.ndarray = np.linalg.inv(np.linalg.cholesky(self.covariances))
        except np.linalg.LinAlgError as error:
            raise DataValueError(
                "a component has collapsed: its covariance is not positive definite",
                hint="Raise reg_covar, ask for fewer components, or leave out features that others explain.",
            ) from error
        return whitening

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
        with np.errstate(divide="ignore"):
            constants = np.log(self.weights) - x.shape[0] / 2 * math.log(2 * math.pi)
        sizes = np.log(np.diagonal(self._whitening, axis1=1, axis2=2)).sum(axis=1)
        distances = [_squares(linear(self.apart(x, place, kind), arrays.to_device(each, kind)))
                     for place, each in enumerate(self._whitening)]  # fmt: skip
        return np.stack([float(add) - each / 2 for add, each in zip(constants + sizes, distances, strict=True)])

    def apart(self, x: Any, place: int, kind: Kind) -> Any:
        """Return the distances of rows from the mean of one component."""
        return x - arrays.to_device(self.means[place][:, None], kind)

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


def step(design: GramDesign, mixture: Mixture, floor: np.ndarray) -> tuple[Mixture, float]:
    """Return the mixture after one step, and the log-likelihood before it; every rank calls it.

    Parameters
    ----------
    floor : numpy.ndarray of shape (n,)
        What is added to the variances.
    """
    count, features = mixture.means.shape

    def terms(rows: Rows) -> Any:
        x = rows.x[:features]
        likely, logs = shares(mixture.log_densities(x, design.kind))
        roots = np.sqrt(rows.weighted(likely))
        return np.stack([
            np.concatenate([mixture.apart(x, place, design.kind) * root, root[None], (root * logs)[None]])
            for place, root in enumerate(roots)
        ])  # fmt: skip

    found = design.gram(terms, count, features + 2)
    assert found is not None, "features were checked to be finite, and are near their means in units of deviations"
    return _maximised(mixture, found, floor), float(found[:, features, features + 1].sum())


def _maximised(mixture: Mixture, found: np.ndarray, floor: np.ndarray) -> Mixture:
    features = len(floor)
    mass = found[:, features, features]
    alive = mass > _NONE * mass.sum()
    safe = np.where(alive, mass, 1.0)[:, None]
    moved = found[:, :features, features] / safe
    covariances = found[:, :features, :features] / safe[:, :, None] - moved[:, :, None] * moved[:, None, :]
    covariances = covariances + np.diag(floor)
    return Mixture(
        mass / mass.sum(),
        np.where(alive[:, None], mixture.means + moved, mixture.means),
        np.where(alive[:, None, None], covariances, mixture.covariances),
    )


def beginning(design: GramDesign, means: np.ndarray, reg_covar: float) -> tuple[Mixture, np.ndarray, float]:
    """Return equal shares of these means with the covariance of all rows, what to add to variances, and the weight.

    Added is `reg_covar` times the variance of the feature, or times 1 if it is constant. Every rank calls it.
    """
    features = means.shape[1]

    def terms(rows: Rows) -> Any:
        root = arrays.to_device(np.sqrt(host(rows)[1]), design.kind)
        return np.concatenate([rows.x[:features] * root, root[None]])

    found = design.gram(terms, features + 1)
    assert found is not None, "features and weights were checked to be finite"
    centre = found[:features, features] / found[features, features]
    covariance = found[:features, :features] / found[features, features] - np.outer(centre, centre)
    variances = np.diag(covariance)
    floor = reg_covar * np.where(variances > 0, variances, 1.0)
    count = len(means)
    covariances = np.repeat((covariance + np.diag(floor))[None], count, axis=0)
    return Mixture(np.full(count, 1 / count), means, covariances), floor, float(found[features, features])


def _squares(values: Any) -> Any:
    """Return the sums of the squares of columns, row after row: NumPy's own order depends on the shape."""
    total = values[0] * values[0]
    for row in values[1:]:
        total += row * row
    return total
