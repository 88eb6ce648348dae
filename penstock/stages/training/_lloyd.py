"""Lloyd's algorithm on all ranks: the same centres to the bit, however many ranks share the rows.

Which rank has a row, and which rows are beside it, shows in two places unless care is taken. Sums of floats depend on
the order of their terms: here terms are cut into parts whose sums are exact. And a matrix product may round the same
row differently at another place of the matrix: rows that are as near to two centres as that could matter are compared
once more, by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.spmd import Rank

_AT_A_TIME = 2**16
"""Numbers held at a time, half a MiB: several such arrays fit a core's cache."""
_EPSILON = 2.0**-52

Terms = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Gives what is added up, rows by columns, of vectors, their weights, and the centre nearest to each."""


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of one rank.

    Parameters
    ----------
    vectors : numpy.ndarray of shape (n_rows, n_features), float64
        Less the origin, so that squares do not cancel where data is far from zero.
    weight : numpy.ndarray of shape (n_rows,), float64
        Above 0.
    first, count : int
        The number of the first row among those of all ranks, and how many all have.
    largest : numpy.ndarray of shape (n_features,), float64
        No value of a feature is further from zero, on any rank.
    largest_weight : float
    """

    vectors: np.ndarray
    weight: np.ndarray
    first: int
    count: int
    largest: np.ndarray
    largest_weight: float

    @classmethod
    def of(
        cls, rank: Rank, vectors: np.ndarray, weight: np.ndarray, largest: np.ndarray, largest_weight: float
    ) -> Points:
        """Return the points of a rank, which asks the others how many they have; called inside `Rank.collective`."""
        counts = np.zeros(rank.size, dtype=np.int64)
        counts[rank.index] = len(vectors)
        counts = rank.allreduce(counts)
        first, count = int(counts[: rank.index].sum()), int(counts.sum())
        return cls(vectors, weight, first, count, largest, largest_weight)

    @property
    def largest_square(self) -> float:
        """No squared distance of a point from another is larger."""
        return float(np.sum((2 * self.largest) ** 2))

    def chunks(self, clusters: int) -> Iterator[slice]:
        """Yield runs of rows, few enough to hold their distances from so many centres."""
        step = _rows_at_a_time(clusters, self.vectors.shape[1])
        yield from (slice(start, start + step) for start in range(0, len(self.vectors), step))


@dataclass(frozen=True, eq=False)
class ExactSums:
    """Sums that are the same to the bit whatever the order in which terms are added, on one rank or several.

    Every term is cut in two by rounding it to a multiple of a power of two so large that sums of multiples are exact;
    what is left is rounded in the same way. Of n terms of at most 1 the sum is off by n**3 * 2**-102 at most: less than
    rounding the largest possible sum once, for up to 2**24 rows, and 2e-13 of that sum for 2**30.
    The cut is that of Rump, Ogita and Oishi, "Accurate floating-point summation part I", SIAM Journal on Scientific
    Computing 31, 2008; that such sums are reproducible is in Demmel and Nguyen, "Fast reproducible floating-point
    summation", ARITH 2013.

    Parameters
    ----------
    largest : numpy.ndarray of shape (n_columns,), float64
        No term of a column is further from zero.
    terms : int
        How many there are at most, over all ranks.

    Examples
    --------
    >>> exact = ExactSums(np.array([1.0]), 3)
    >>> exact.by_group(np.array([0, 1, 0]), np.array([[0.1], [0.5], [0.7]]), 2).sum(axis=0).tolist()
    [[0.7999999999999999], [0.5]]
    """

    largest: np.ndarray
    terms: int

    def by_group(self, groups: np.ndarray, values: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the sums of both parts, of shape (2, n_groups, n_columns); those of several ranks may be added."""
        width = values.shape[1]
        place = (groups[:, None] * width + np.arange(width)).ravel()
        sums = [np.bincount(place, part.ravel(), n_groups * width) for part in self._parts(values)]
        return np.stack(sums).reshape(2, n_groups, width).astype(np.float64)

    def _parts(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        exponent = np.frexp(self.largest * self.terms)[1] + 1
        coarse = np.ldexp(1.5, exponent)
        fine = np.ldexp(1.5, exponent + self.terms.bit_length() - 52)
        high = (values + coarse) - coarse
        return high, ((values - high) + fine) - fine


def nearest(vectors: Any, centres: Any) -> Any:
    """Return the place of the nearest centre of each row, the first of those that are equally near.

    Parameters
    ----------
    vectors : array of shape (n_rows, n_features), float64
        Of NumPy or CuPy, as `centres`.
    centres : array of shape (n_clusters, n_features), float64

    Examples
    --------
    >>> nearest(np.array([[0.0], [1.0], [5.0]]), np.array([[4.0], [-2.0], [-2.0]])).tolist()
    [1, 0, 0]
    """
    squares = np.einsum("ij,ij->i", centres, centres)
    scores = vectors @ (-2.0 * centres).T
    scores += squares
    found = scores.argmin(axis=1)
    close = scores <= np.take_along_axis(scores, found[:, None], axis=1) + _doubt(vectors, squares)[:, None]
    if int(np.count_nonzero(close)) > len(vectors):
        tied = close.sum(axis=1) > 1
        found[tied] = _nearest_among(vectors[tied], centres, close[tied])
    return found


def _doubt(vectors: Any, squares: Any) -> Any:
    """Return how far scores of a row may be apart that stand for the same distance, several times over."""
    reach = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) + np.sqrt(squares.max())
    return 8 * (vectors.shape[1] + 4) * _EPSILON * reach**2


def _nearest_among(vectors: Any, centres: Any, close: Any) -> Any:
    rows, places = close.nonzero()
    distances = np.full_like(vectors, np.inf, shape=close.shape)
    distances[rows, places] = squared_distances(vectors[rows], centres[places])
    return distances.argmin(axis=1)


def squared_distances(vectors: Any, others: Any) -> Any:
    """Return the squared distance of each row from the row beside it; added up feature by feature for every row alike.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 3.0]]), np.array([[4.0, 0.0]])).tolist()
    [25.0]
    """
    total = np.zeros_like(vectors[:, 0])
    for feature in range(vectors.shape[1]):
        difference = vectors[:, feature] - others[:, feature]
        total += difference * difference
    return total


def directed(vectors: Any) -> Any:
    """Return rows scaled to length 1; none is all zero.

    Examples
    --------
    >>> directed(np.array([[3e200, 4e200]])).tolist()
    [[0.6, 0.8]]
    """
    moderate = vectors / np.abs(vectors).max(axis=1, keepdims=True)  # whose squares neither vanish nor overflow
    return moderate / np.sqrt(squared_distances(moderate, np.zeros_like(moderate[:1])))[:, None]


def assigned(vectors: Any, centres: Any) -> Any:
    """Return the place of the nearest centre of each row, as `nearest`, in memory that does not grow with both."""
    step = _rows_at_a_time(*centres.shape)
    starts = range(0, max(len(vectors), 1), step)
    return np.concatenate([nearest(vectors[start : start + step], centres) for start in starts])


def _rows_at_a_time(clusters: int, features: int) -> int:
    return max(_AT_A_TIME // max(clusters, features + 1), 1)


def totals(rank: Rank, points: Points, centres: np.ndarray, largest: np.ndarray, terms: Terms) -> np.ndarray:
    """Return the sums of terms over the points of each cluster, on all ranks: shape (n_clusters, n_columns).

    One pass over the points and one all-reduce. `largest` bounds the terms of each column.
    """
    exact = ExactSums(largest, points.count)
    sums = np.zeros((2, len(centres), len(largest)))
    for rows in points.chunks(len(centres)):
        vectors = points.vectors[rows]
        found = nearest(vectors, centres)
        sums += exact.by_group(found, terms(vectors, points.weight[rows], centres[found]), len(centres))
    summed: np.ndarray = rank.allreduce(sums).sum(axis=0)
    return summed


def means(rank: Rank, points: Points, centres: np.ndarray) -> np.ndarray:
    """Return the weighted mean of each cluster's points; a centre that no point is nearest to stays where it is."""
    largest = points.largest_weight * np.append(1.0, points.largest)

    def terms(vectors: np.ndarray, weight: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.column_stack([weight, weight[:, None] * vectors])

    sums = totals(rank, points, centres, largest, terms)
    weight = sums[:, :1]
    return np.where(weight > 0, sums[:, 1:] / np.where(weight > 0, weight, 1.0), centres)


def sizes_and_costs(rank: Rank, points: Points, centres: np.ndarray) -> np.ndarray:
    """Return of each cluster how many rows it has, and the weighted sum of their squared distances from its centre."""
    largest = np.array([1.0, points.largest_weight * points.largest_square])

    def terms(vectors: np.ndarray, weight: np.ndarray, near: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(vectors)), weight * squared_distances(vectors, near)])

    return totals(rank, points, centres, largest, terms)
