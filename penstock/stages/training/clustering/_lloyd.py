"""Lloyd's algorithm on all ranks: the same centres to the bit, however many ranks share the rows.

Which rank has a row, and which rows are beside it, shows in two places unless care is taken. Sums of floats depend on
the order of their terms: here terms are cut into parts whose sums are exact. And a matrix product may round the same
row differently at another place of the matrix: rows that are as near to two centres as that could matter are compared
once more, by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from penstock.frames import Kind, matrices
from penstock.spmd import Rank
from penstock.stages.training.exact.sums import Split

_AT_A_TIME = {"cpu": 2**17, "gpu": 2**27}
"""Numbers held at a time: a MiB, as several such arrays fit a processor's cache; or a GiB, as a GPU waits for calls."""
_EPSILON = 2.0**-52

Part = TypeVar("Part")
Made = TypeVar("Made")
Terms = Callable[[Any, Any, Any, Any], None]
"""Writes what is added up, a column for each vector, to its last argument: of vectors, weights and nearest centres."""


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of one rank.

    Parameters
    ----------
    vectors : array of shape (n_features, n_rows), float64
        Less the origin, so that squares do not cancel where data is far from zero. Of NumPy or CuPy, as `kind` says.
    weight : array of shape (n_rows,), float64
        Above 0.
    first, count : int
        The number of the first row among those of all ranks, and how many all have.
    largest : numpy.ndarray of shape (n_features,), float64
        No value of a feature is further from zero, on any rank.
    largest_weight : float
    threads : int
        1 on a GPU.
    sizes : array of shape (n_rows,), float64
        The lengths of the vectors.
    kind : {"cpu", "gpu"}
    """

    vectors: Any
    weight: Any
    first: int
    count: int
    largest: np.ndarray
    largest_weight: float
    threads: int
    sizes: Any
    kind: Kind

    @classmethod
    def of(cls, rank: Rank, vectors: Any, weight: Any, largest: np.ndarray, largest_weight: float) -> Points:
        """Return the points of a rank, which asks the others how many they have."""
        counts = rank.gather(len(weight))
        first, count = sum(counts[: rank.index]), sum(counts)
        threads = rank.threads if rank.kind == "cpu" else 1
        return cls(vectors, weight, first, count, largest, largest_weight, threads, lengths(vectors), rank.kind)

    @property
    def largest_square(self) -> float:
        """No squared distance of a point from another is larger."""
        return float(np.sum((2 * self.largest) ** 2))

    def share(self, work: Callable[[Sequence[slice]], Any], clusters: int) -> list[Any]:
        """Return what `work` makes, in each thread, of runs of rows whose distances from so many centres fit memory."""
        step = rows_at_a_time(self.kind, clusters, len(self.vectors))
        runs = [slice(start, start + step) for start in range(0, len(self.weight), step)]
        return in_threads(work, [runs[place :: self.threads] for place in range(self.threads)])


def in_threads(work: Callable[[Part], Made], parts: Sequence[Part]) -> list[Made]:
    """Return what `work` makes of each part, in a thread for each; of a single one in the thread of the caller.

    CuPy's current device is that of a thread.
    """
    if len(parts) == 1:
        return [work(parts[0])]
    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(work, parts))


def lengths(vectors: Any) -> Any:
    """Return the length of each vector, up to rounding.

    Examples
    --------
    >>> lengths(np.array([[3.0], [4.0]])).tolist()
    [5.0]
    """
    if isinstance(vectors, np.ndarray):
        return np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
    return np.sqrt(squared_distances(vectors, np.zeros_like(vectors[:, :1])))  # CuPy's einsum copies the vectors


def rounding(features: int) -> float:
    """Return several times what rounding adds to a squared distance, or to a distance, relative to the largest."""
    return 8 * (features + 4) * _EPSILON


def nearest(vectors: Any, centres: Any, sizes: Any = None) -> Any:
    """Return the place of the nearest centre of each vector, the first of those that are equally near.

    Parameters
    ----------
    vectors : array of shape (n_features, n_rows), float64
        Of NumPy or CuPy, as `centres`.
    centres : array of shape (n_clusters, n_features), float64
    sizes : array of shape (n_rows,), optional
        The `lengths` of the vectors, where they are known.

    Examples
    --------
    >>> nearest(np.array([[0.0, 1.0, 5.0]]), np.array([[4.0], [-2.0], [-2.0]])).tolist()
    [1, 0, 0]
    """
    return nearest_by(vectors, centres, lengths(vectors) if sizes is None else sizes)[0]


def nearest_by(vectors: Any, centres: Any, sizes: Any) -> tuple[Any, Any]:
    """Return the place of the nearest centre of each vector, as `nearest`, and by how much it is nearer than any other.

    That is a lower bound, below 0 where two are as near up to rounding.
    """
    squares = np.einsum("ij,ij->i", centres, centres)
    scores = (-2.0 * centres) @ vectors
    scores += squares[:, None]
    found, rows = scores.argmin(axis=0), np.arange(vectors.shape[1], like=vectors)
    best = scores[found, rows]
    scores[found, rows] = np.inf
    second = scores.min(axis=0)
    reach = sizes + np.sqrt(squares.max())
    doubt = rounding(len(vectors)) * reach**2  # so far apart scores of the same distance may be
    tied = np.flatnonzero(second <= best + doubt)
    if len(tied):
        scores[found[tied], tied] = best[tied]
        found[tied] = nearest_among(vectors[:, tied], centres, scores[:, tied] <= (best + doubt)[tied])
    size = sizes * sizes
    return found, np.sqrt(np.maximum(second + (size - doubt), 0.0)) - np.sqrt(np.maximum(best + (size + doubt), 0.0))


def nearest_among(vectors: Any, centres: Any, close: Any) -> Any:
    """Return the place of the nearest of the close centres of each vector."""
    places, rows = close.nonzero()
    distances = np.full_like(vectors, np.inf, shape=close.shape)
    distances[places, rows] = squared_distances(vectors[:, rows], centres[places].T)
    return distances.argmin(axis=0)


def squared_distances(vectors: Any, others: Any) -> Any:
    """Return the squared distance of each vector, a column, from the one beside it.

    It is added up feature by feature, for every vector alike. One vector stands beside any number.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 4.0], [3.0, 0.0]]), np.array([[4.0], [0.0]])).tolist()
    [25.0, 0.0]
    """
    total = np.zeros_like(vectors[0])
    for values, beside in zip(vectors, others, strict=True):
        difference = values - beside
        difference *= difference
        total += difference
    return total


def directed(vectors: Any) -> Any:
    """Return vectors scaled to length 1; none is all zero.

    Examples
    --------
    >>> directed(np.array([[3e200], [4e200]])).tolist()
    [[0.6], [0.8]]
    """
    moderate = vectors / np.abs(vectors).max(axis=0)  # whose squares neither vanish nor overflow
    return moderate / np.sqrt(squared_distances(moderate, np.zeros_like(moderate[:, :1])))


def assigned(vectors: Any, centres: Any, kind: Kind) -> Any:
    """Return the place of the nearest centre of each row, as `nearest`, in memory that does not grow with both."""
    step = rows_at_a_time(kind, *centres.shape)
    starts = range(0, max(vectors.shape[1], 1), step)
    return np.concatenate([nearest(vectors[:, start : start + step], centres) for start in starts])


def rows_at_a_time(kind: Kind, clusters: int, features: int) -> int:
    """Return of how many rows features, and distances from so many centres, are held at a time."""
    return max(_AT_A_TIME[kind] // max(clusters, features + 1), 1)


def totals(rank: Rank, points: Points, centres: Any, largest: np.ndarray, terms: Terms) -> np.ndarray:
    """Return the sums of terms over the points of each cluster, on all ranks: shape (n_clusters, n_columns).

    One pass over the points and one all-reduce. `centres` are where the points are, and `largest` bounds the terms of
    each column.
    """
    exact = Split.of(largest, points.count, points.kind)

    def summed(runs: Sequence[slice]) -> np.ndarray:
        sums = np.zeros_like(points.weight, shape=(exact.count, len(centres), len(largest)))
        step = min(rows_at_a_time(points.kind, *centres.shape), len(points.weight))
        room = np.empty_like(points.weight, shape=(2, len(largest), step if runs else 0))
        for rows in runs:
            vectors, weight = points.vectors[:, rows], points.weight[rows]
            values, spare = room[:, :, : len(weight)]
            found = nearest(vectors, centres, points.sizes[rows])
            terms(vectors, weight, found, values)
            sums += exact.by_group(found, values, len(centres), spare)
        return matrices.to_host(sums)

    return rank.allreduce(np.sum(points.share(summed, len(centres)), axis=0)).sum(axis=0)


def sizes_and_costs(rank: Rank, points: Points, centres: np.ndarray) -> np.ndarray:
    """Return of each cluster how many rows it has, and the weighted sum of their squared distances from its centre."""
    largest = np.array([1.0, points.largest_weight * points.largest_square])
    placed = matrices.to_device(centres, points.kind)

    def terms(vectors: Any, weight: Any, found: Any, out: Any) -> None:
        out[0] = 1.0
        out[1] = weight * squared_distances(vectors, placed.T.take(found, axis=1))

    return totals(rank, points, placed, largest, terms)
