"""Where a mixture begins: at the clusters of a sample of the rows, which every rank has.

Which clusters there are depends on the units of features. k-means is tried in their own units and in units of their
deviations, a few times each, and a few steps on the sample show which of the two leads to the likelier mixture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.errors import DataValueError
from penstock.stages.training.clustering._lloyd import nearest, squared_distances
from penstock.stages.training.clustering._mixture import Mixture, maximised, shares
from penstock.stages.training.clustering._seeding import plus_plus

_TRIES = 4
_ROUNDS = 30
_STEPS = 10


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows, all different.

    Parameters
    ----------
    points : numpy.ndarray of shape (rows, n)
        Features, less about their means.
    weight : numpy.ndarray of shape (rows,)
        Above 0.
    floor : numpy.ndarray of shape (n,)
        What is added to the variances of components.
    """

    points: np.ndarray
    weight: np.ndarray
    floor: np.ndarray

    def mixture(self, k: int, units: np.ndarray, seed: int) -> Mixture:
        """Return the mixture to begin with; of fewer components where fewer than `k` points are different.

        Parameters
        ----------
        units : numpy.ndarray of shape (n,)
            What makes features of the sample those of the data.

        Raises
        ------
        DataValueError
            A component has collapsed, wherever it begins.
        """
        clusterings = [self._clusters(points, k, seed) for points in (self.points * units, self._standardised())]
        begun, errors = [], []
        for labels in clusterings:
            try:
                mixture = self._around(labels)
                begun.append((self._likelihood_ahead(mixture), mixture))
            except DataValueError as error:
                errors.append(error)
        if not begun:
            raise errors[0]
        return max(begun, key=lambda pair: pair[0])[1]

    def _standardised(self) -> np.ndarray:
        deviations = np.sqrt(np.average((self.points - self._mean) ** 2, axis=0, weights=self.weight))
        points: np.ndarray = (self.points - self._mean) / np.where(deviations > 0, deviations, 1.0)
        return points

    @property
    def _mean(self) -> np.ndarray:
        mean: np.ndarray = np.average(self.points, axis=0, weights=self.weight)
        return mean

    def _clusters(self, points: np.ndarray, k: int, seed: int) -> np.ndarray:
        """Return the cluster of each point, where the sum of squared distances is the smallest of some tries."""
        tries = [self._lloyd(points, plus_plus(points, self.weight, k, seed + place)) for place in range(_TRIES)]
        return min(tries, key=lambda pair: pair[0])[1]

    def _lloyd(self, points: np.ndarray, centres: np.ndarray) -> tuple[float, np.ndarray]:
        labels = np.full(len(points), -1)
        for _ in range(_ROUNDS):
            before, labels = labels, nearest(points.T, centres)
            if (before == labels).all():
                break
            mass = np.bincount(labels, self.weight, len(centres))[:, None]
            sums = np.stack([np.bincount(labels, self.weight * column, len(centres)) for column in points.T], axis=1)
            centres = np.where(mass > 0, sums / np.where(mass > 0, mass, 1.0), centres)
        return float(self.weight @ squared_distances(points.T, centres[labels].T)), labels

    def _around(self, labels: np.ndarray) -> Mixture:
        """Return the mixture of a component around each cluster."""
        members = (labels == np.unique(labels)[:, None]).astype(float)
        count, features = len(members), self.points.shape[1]
        nowhere = Mixture(np.full(count, 1 / count), np.zeros((count, features)), np.zeros((count, features, features)))
        return self._maximised(nowhere, members)

    def _likelihood_ahead(self, mixture: Mixture) -> float:
        """Return the log-likelihood of the sample after a few steps."""
        for _ in range(_STEPS):
            mixture = self._maximised(mixture, self._shares(mixture)[0])
        return float(self.weight @ self._shares(mixture)[1])

    def _shares(self, mixture: Mixture) -> tuple[np.ndarray, np.ndarray]:
        return shares(mixture.log_densities(self.points.T, "cpu"))

    def _maximised(self, mixture: Mixture, likely: np.ndarray) -> Mixture:
        ones = np.ones((1, len(self.points)))
        apart = (np.concatenate([self.points.T - mean[:, None], ones]) for mean in mixture.means)
        sums = [(each * (row * self.weight)) @ each.T for each, row in zip(apart, likely, strict=True)]
        return maximised(mixture, np.stack(sums), self.floor)
