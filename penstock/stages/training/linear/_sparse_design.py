"""A rank's rows as sparse matrices that stay in memory, and sums over the rows of all ranks that are exact.

Features are standardised without a dense matrix. Numbers beside the vector have an entry in every row, from which their
mean is taken. Of a vector's index it is never taken from an entry, or what is left out would no longer be zero: with b
a coefficient, s the standard deviation and m the mean, ``b * (x - m) / s`` is ``x * (b / s)``, of entries alone, and
``-m * b / s`` the same for all rows, to be added to the intercept. Objective, gradient and minimum are those of dense
columns.

A margin is added up entry by entry, in the order of the row, wherever the row lies. A gradient is a sum over rows, and
is the same to the bit in any order: entries are divided by powers of two, so that none is above 1, and terms split into
two parts whose sums never round, see `exact.sums.Split`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import sparse as scipy_sparse

from penstock.spmd import Rank
from penstock.stages.training.exact.design import Scaling
from penstock.stages.training.exact.products import Loss, LossAt
from penstock.stages.training.exact.sums import Split
from penstock.stages.training.linear._sparse_rows import SparseRows, ToSparseRows

_ENTRIES = 2**17
"""How many entries are looked at together, at least: each time every feature has a sum of its own."""


def add_by_column(split: Split, x: scipy_sparse.csr_matrix, terms: np.ndarray, total: np.ndarray) -> None:
    """Add terms, one an entry, which are written over, to two parts of the sums of columns, of shape (2, columns).

    Examples
    --------
    >>> x = scipy_sparse.csr_matrix([[1.0, 0.0], [1.0, 1.0]])
    >>> total = np.zeros((2, 2))
    >>> add_by_column(Split.of(np.ones(1), 2), x, np.array([0.1, 0.2, 0.7]), total)
    >>> total.sum(axis=0).tolist()
    [0.30000000000000004, 0.7]
    """
    each = np.ones(x.shape[0])
    for part, sums in zip(split.parts(terms[None], low=terms[None]), total, strict=True):
        sums += scipy_sparse.csc_matrix((part[0], x.indices, x.indptr), shape=x.shape[::-1], copy=False) @ each


@dataclass(frozen=True, eq=False)
class WeightedMoments:
    """What the rows of all ranks, weighted, tell of each column; what a vector leaves out is zero.

    Attributes
    ----------
    weight, weight_squares : float
        Sums of the weights and of their squares.
    of_classes : numpy.ndarray
        Sums of the weights of each class.
    mean, spread : numpy.ndarray
        Means, and roots of the sums of squared distances from them, which are 0 where all rows have one value.
    """

    weight: float
    weight_squares: float
    of_classes: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @property
    def deviation(self) -> np.ndarray:
        """Of the population."""
        return self.spread / math.sqrt(self.weight)

    @property
    def sample_deviation(self) -> np.ndarray:
        """With n - 1 in the denominator, which is ``sum(w) - sum(w**2) / sum(w)`` of weights; 0 where that is."""
        freedom = self.weight - self.weight_squares / self.weight
        return self.spread / math.sqrt(freedom) if freedom > 0 else np.zeros(len(self.spread))


class SparseDesign:
    """The rows of one rank, read once, and sums over those of all ranks.

    After it is made, every rank calls :meth:`measure`, and then :meth:`standardise`, once.

    Parameters
    ----------
    rank : Rank
    convert : ToSparseRows
    total : int
        How many rows all ranks have.
    largest_weight : float
    low, high : numpy.ndarray
        The smallest and the largest value of the vector at each of its indices.

    Attributes
    ----------
    moments : WeightedMoments
        Of the features, once they are measured.
    key : hashable
        All that it depends on, besides the rows.
    """

    moments: WeightedMoments
    key: Hashable

    def __init__(
        self, rank: Rank, convert: ToSparseRows, total: int, largest_weight: float, low: np.ndarray, high: np.ndarray
    ) -> None:
        self._rank, self.total, self.largest_weight = rank, total, largest_weight
        self._numbers, self._intercept, self._low, self._high = len(convert.in_every_row), convert.intercept, low, high
        fragments = list(rank.batches("train", convert.columns, convert))
        self._width = self._numbers + len(low) + self._intercept
        self._rows = [part for rows in fragments for part in rows.parts(max(_ENTRIES, self._width))]
        self._threads = rank.threads
        self._pool = ThreadPoolExecutor(self._threads)

    def _added(self, work: Callable[[Sequence[SparseRows]], np.ndarray]) -> np.ndarray:
        shares = [self._rows[place :: self._threads] for place in range(self._threads)]
        return self._rank.allreduce(reduce(np.add, self._pool.map(work, shares)))

    @classmethod
    def of(
        cls, rank: Rank, convert: ToSparseRows, total: int, largest_weight: float, low: np.ndarray, high: np.ndarray
    ) -> SparseDesign:
        """Return a design that is measured, whose rows trainings on the same share; every rank calls it."""

        def build() -> SparseDesign:
            design = cls(rank, convert, total, largest_weight, low, high)
            design.measure(len(convert.classes or ()))
            return design

        key = cls, convert.key, total, largest_weight, low.tobytes(), high.tobytes()
        design = copy(rank.prepared(key, build))
        design._rank, design.key = rank, key
        return design

    def measure(self, classes: int) -> None:
        """Find out means and deviations of the features, and the weights of so many classes."""
        self._measure_sizes()
        of_rows, counted, first = self._first_sums(classes)
        *of_classes, weight, squares = of_rows
        mean = np.where(self._low == self._high, self._low / self._unit, first / weight)
        self._centre = mean.copy()
        if self._intercept:
            for rows in self._rows:
                rows.x.data[self._places_of_numbers(rows)] -= mean[: self._numbers]
            self._centre[: self._numbers] = 0.0
        second = np.maximum(self._second_sums() + (weight - counted) * self._centre**2, 0.0)
        spread = np.where(self._low == self._high, 0.0, np.sqrt(second)) * self._unit
        self.moments = WeightedMoments(float(weight), float(squares), np.array(of_classes), mean * self._unit, spread)

    def _measure_sizes(self) -> None:
        """Find out how large numbers are, and divide what is larger than 1."""
        ends = self._ends_of_numbers()
        self._low, self._high = np.append(-ends[0], self._low), np.append(ends[1], self._high)
        # Larger than any value, so that what is divided by it is below 1; that of the intercept's ones is 1.
        self._unit = np.ldexp(1.0, np.frexp(np.maximum(np.abs(self._low), np.abs(self._high)))[1])
        inverse = np.append(1.0 / self._unit, 1.0)
        for rows in self._rows:
            rows.x.data *= inverse[rows.x.indices]

    def _ends_of_numbers(self) -> np.ndarray:
        """Return minus the smallest and the largest value of each number, of all ranks."""
        if not self._numbers:
            return np.empty((2, 0))
        own = np.full((2, self._numbers), -np.inf)
        for rows in self._rows:
            numbers = rows.x.data[self._places_of_numbers(rows)]
            own = np.maximum(own, [(-numbers).max(axis=0, initial=-np.inf), numbers.max(axis=0, initial=-np.inf)])
        return np.max(self._rank.gather(own), axis=0)

    def _places_of_numbers(self, rows: SparseRows) -> np.ndarray:
        """Return which entries are numbers, the first ones of each row, of shape (rows, numbers)."""
        return rows.x.indptr[:-1, None] + np.arange(self._numbers)

    def standardise(self, mean: np.ndarray, scale: np.ndarray) -> Scaling:
        """Take columns, from their means, in these units from now on; 0 leaves out one. Bounds are known then."""
        self._scale = np.where(scale == 0, np.inf, scale) / self._unit
        scaling = Scaling(mean, scale, self._low, self._high, self._intercept)
        self.bounds = np.append(scaling.bounds, [1.0] * self._intercept)
        return scaling

    def _first_sums(self, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sums of the weights of classes, of weights and their squares, and of each feature's, and its values.

        The last two are of the weights of the rows that have an entry, and of its weighted values.
        """
        largest = self.largest_weight
        rows_split = Split.of(np.append(np.full(classes + 1, largest), largest**2), self.total)
        of_columns = Split.of(np.array([largest]), self.total)

        def work(parts: Sequence[SparseRows]) -> np.ndarray:
            of_rows, of_entries = np.zeros((2, classes + 2)), np.zeros((2, 2, self._width))
            for rows in parts:
                weight = rows.weights
                of_rows += rows_split.sums(np.stack([*rows.weights_by_class(classes), weight, weight**2]))
                spread = rows.spread(weight)
                add_by_column(of_columns, rows.x, rows.x.data * spread, of_entries[1])
                add_by_column(of_columns, rows.x, spread, of_entries[0])
            return np.concatenate([of_rows.ravel(), of_entries.ravel()])

        of_rows, of_entries = np.split(self._added(work), [2 * (classes + 2)])
        counted, first = of_entries.reshape(2, 2, -1).sum(axis=1)[:, : len(self._low)]
        return of_rows.reshape(2, -1).sum(axis=0), counted, first

    def _second_sums(self) -> np.ndarray:
        """Return the weighted sums of the squared distances of entries from the centres."""
        split, centre = Split.of(np.array([4 * self.largest_weight]), self.total), np.append(self._centre, 0.0)

        def work(parts: Sequence[SparseRows]) -> np.ndarray:
            total = np.zeros((2, self._width))
            for rows in parts:
                away = rows.x.data - centre[rows.x.indices]
                add_by_column(split, rows.x, away * away * rows.spread(rows.weights), total)
            return total

        return self._added(work).sum(axis=0)[: len(self._low)]

    def loss_and_gradient(
        self, coefficients: np.ndarray, loss: Loss, *, largest_loss: float, steepest: float = 1.0
    ) -> tuple[float, np.ndarray]:
        """Return the weighted sum of the losses of all rows, and its gradient; every rank calls it.

        Parameters
        ----------
        coefficients : numpy.ndarray of shape (outputs, features)
            Of standardised features; the intercepts last, if there are any. The same on every rank.
        loss : callable
        largest_loss, steepest : float
            No loss of a row is larger, and no derivative.
        """
        slopes = self._slopes(coefficients)
        losses = Split.of(np.array([self.largest_weight * largest_loss]), self.total)
        steepness = 2 * self.largest_weight * steepest  # numbers are below 2, less their means
        of_columns = Split.of(np.array([steepness]), self.total)

        def work(parts: Sequence[SparseRows]) -> np.ndarray:
            lost, sums = np.zeros((2, 1)), np.zeros((len(coefficients), 2, self._width))
            for rows in parts:
                margins = np.ascontiguousarray((rows.x @ slopes).T)
                each, residuals = loss(margins, rows.label)
                lost += losses.sums(rows.weighted(each).reshape(1, -1))
                for residual, total in zip(rows.weighted(residuals), sums, strict=True):
                    add_by_column(of_columns, rows.x, rows.spread(residual) * rows.x.data, total)
            return np.concatenate([lost.ravel(), sums.ravel()])

        added = self._added(work)
        gradient = self._gradient(added[2:].reshape(len(coefficients), 2, -1).sum(axis=1))
        return float(added[0] + added[1]), gradient.ravel()

    def losses_and_gradients(self, asked: Sequence[LossAt]) -> list[tuple[float, np.ndarray]]:
        """Return of several losses what `loss_and_gradient` returns of each."""
        return [self.loss_and_gradient(each.coefficients, each.loss, largest_loss=each.largest_loss) for each in asked]

    def _slopes(self, coefficients: np.ndarray) -> np.ndarray:
        """Return what entries are multiplied by, of shape (columns, outputs)."""
        features = len(self._scale)
        slopes = coefficients.copy()
        slopes[:, :features] /= self._scale
        if self._intercept:
            slopes[:, -1] -= (slopes[:, :features] * self._centre).sum(axis=1)
        return np.ascontiguousarray(slopes.T)

    def _gradient(self, sums: np.ndarray) -> np.ndarray:
        """Return derivatives by the coefficients of standardised features, of sums of residuals times entries."""
        features = len(self._scale)
        if self._intercept:
            sums[:, :features] -= self._centre * sums[:, -1:]
        sums[:, :features] /= self._scale
        return sums
