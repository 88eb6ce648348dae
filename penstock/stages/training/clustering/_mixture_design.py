"""Steps of expectation and maximisation over the rows of all ranks, the same to the bit however rows are dealt.

A step is one pass. Distances from means are products of features with whitening matrices, and what components learn are
products of distances: both go to BLAS in pieces whose products are exact, see `exact.products` and `exact.gram`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.frames import matrices
from penstock.stages.training.clustering._mixture import Mixture, maximised, shares, sum_of_squares
from penstock.stages.training.exact.design import Rows
from penstock.stages.training.exact.gram import RowSlices
from penstock.stages.training.exact.products import Coefficients, ProductDesign
from penstock.stages.training.exact.sums import Split

_NUMBERS = {"cpu": 2**15, "gpu": 2**22}
"""Features looked at together: on a CPU so few that they, their halves and their slices stay in the cache of a core."""


class MixtureDesign(ProductDesign):
    """A :class:`ProductDesign` of features and a 1, in which a mixture takes steps."""

    def step(self, mixture: Mixture, floor: np.ndarray) -> tuple[Mixture, float]:
        """Return the mixture after one step, and the log-likelihood before it; every rank calls it.

        Parameters
        ----------
        floor : numpy.ndarray of shape (n,)
            What is added to the variances.
        """
        work = _Step(self, mixture)
        sums = self._added(work, work.length)
        products = sums[2:].reshape(2, len(mixture.weights), len(self.bounds), -1)
        return maximised(mixture, work.slices.join(products), floor), float(sums[0] + sums[1])

    def vectors(self) -> tuple[Any, Any]:
        """Return the features of this rank's rows of a weight above 0, and the weights of these rows."""
        count = len(self.bounds) - 1
        none = matrices.empty((count + 1, 0), self.kind)
        weight = np.concatenate([none[0], *(rows.weighted(np.ones_like(rows.label)) for rows in self._rows)])
        vectors = np.concatenate([none[1:], *(rows.x[:count] for rows in self._rows)], axis=1)
        return (vectors[:, weight > 0], weight[weight > 0]) if self.weighted else (vectors, weight)

    def variances(self) -> tuple[np.ndarray, float]:
        """Return the variances of the features in the rows of all ranks, and the weight of these rows."""
        count = len(self.bounds) - 1

        def terms(rows: Rows) -> list[Any]:
            x = rows.x[:count]
            return [rows.weighted(part) for part in (rows.x[count:], x, x * x)]

        bounds = self.largest_weight * self.bounds
        limits = [bounds[count:], bounds[:count], bounds[:count] * self.bounds[:count]]
        weight, first, second = self.sums(terms, limits)
        return np.maximum(second / weight - (first / weight) ** 2, 0.0), float(weight[0])


class _Step:
    """One pass over the rows of a rank."""

    def __init__(self, design: MixtureDesign, mixture: Mixture) -> None:
        self.grid, self.mixture = design.grid, mixture
        self.length = max(_NUMBERS[design.kind] // len(design.bounds), 64)
        last = -np.einsum("kij,kj->ki", mixture.whitening, mixture.means)
        whitening = np.concatenate([mixture.whitening, last[:, :, None]], axis=2)
        self.coefficients = [Coefficients.of(each, design.grid) for each in whitening]
        self.centres = np.concatenate([mixture.means, np.zeros((len(mixture.means), 1))], axis=1)
        reach = design.bounds + np.abs(self.centres).max(axis=0)
        self.slices = RowSlices.of(reach * np.sqrt(design.largest_weight), self.length, design.total)
        self.likelihoods = Split.of(self._largest(design, whitening), design.total, design.kind)

    def _largest(self, design: MixtureDesign, whitening: np.ndarray) -> np.ndarray:
        """Return what no weighted log-likelihood of a row exceeds in size."""
        furthest = ((np.abs(whitening) @ design.bounds) ** 2).sum(axis=1)
        peaks = np.where(self.mixture.weights > 0, self.mixture.peaks, 0.0)
        return np.array([design.largest_weight * (np.abs(peaks) + furthest).max() + len(peaks)])

    def __call__(self, parts: Sequence[Rows]) -> np.ndarray:
        """Return two parts of each sum: of the log-likelihoods, and of the products of components one by one."""
        count, width = self.centres.shape
        likelihood = np.zeros((2, 1))
        products = np.zeros((2, count, width, len(self.slices.pairs) * width))
        room = self.grid.room(self.length if parts else 0)
        for rows in parts:
            likely, logs = shares(self._log_densities(self.grid.halves(rows.x, room)))
            likelihood += self.likelihoods.sums(rows.weighted(logs)[None])
            for place, distances in enumerate(self._distances(rows, np.sqrt(rows.weighted(likely)))):
                products[:, place] += self.slices.products_of(distances)
        return np.concatenate([likelihood.ravel(), products.ravel()])

    def _log_densities(self, halves: Any) -> Any:
        squares = [sum_of_squares(each.times(halves)) for each in self.coefficients]
        return np.stack([float(most) - each / 2 for most, each in zip(self.mixture.peaks, squares, strict=True)])

    def _distances(self, rows: Rows, roots: Any) -> Any:
        """Yield the distances from each mean, and a 1, times the root of the share, divided as slices want them."""
        units = np.ldexp(1.0, -self.slices.exponents)[:, None]
        divided = rows.x * matrices.to_device(units, self.grid.kind)
        centres = matrices.to_device(self.centres[:, :, None] * units, self.grid.kind)
        for centre, root in zip(centres, roots, strict=True):
            apart = divided - centre
            apart *= root
            yield apart
