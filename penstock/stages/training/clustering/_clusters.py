"""Clusters of a rank's points from round to round: by bounds on distances on a CPU, by all distances on a GPU.

A point whose centre is nearer than any other by more than both have moved keeps its centre, after Hamerly, "Making
k-means even faster", SIAM International Conference on Data Mining 2010. And where sums are exact, as they are here,
points that change sides may be taken from one sum and added to another without leaving a trace: the centres are those
that all points together give, to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.training.clustering._lloyd import (
    Points,
    in_threads,
    nearest_among,
    nearest_by,
    rounding,
    rows_at_a_time,
    squared_distances,
)
from penstock.stages.training.exact.sums import Split

_SLACK = 1 + 1e-12
Places = Any
"""A slice, or an array of int where the points are."""


class Clusters:
    """Which centre each point is nearest to, and the sums of the points of each.

    Parameters
    ----------
    points : Points

    Attributes
    ----------
    compared : int
        Points whose distances from the centres were computed in the last round, on this rank.
    """

    def __init__(self, points: Points) -> None:
        self.compared = 0
        self._points = points
        self._places = np.full_like(points.weight, -1, dtype=np.int64)
        self._lead = np.full_like(points.weight, -np.inf)
        """By how much the centre of a point is nearer than any other, at least."""
        self._exact = Split.of(points.largest_weight * np.append(1.0, points.largest), points.count)
        self._reach = 2 * float(points.sizes.max() if len(points.sizes) else 0.0)
        self._centres: np.ndarray | None = None
        self._sums = np.zeros(())

    def means(self, rank: Rank, centres: np.ndarray) -> np.ndarray:
        """Return the weighted mean of the points, on all ranks, that are nearest to each of the centres.

        A centre that no point is nearest to stays where it is. Every rank calls it: one all-reduce.

        Parameters
        ----------
        centres : numpy.ndarray of shape (n_clusters, n_features)
            As many in each round, in the same order.
        """
        falls = self._falls(centres)
        threads, rows = self._points.threads, len(self._places)
        runs = [slice(rows * each // threads, rows * (each + 1) // threads) for each in range(threads)]
        gains = in_threads(lambda run: self._follow(run, centres, falls), runs)
        self._sums = self._sums + np.sum([gain for gain, _ in gains], axis=0)
        self.compared = sum(compared for _, compared in gains)
        return _means(rank.allreduce(self._sums).sum(axis=0), centres)

    def _falls(self, centres: np.ndarray) -> np.ndarray:
        """Return by how much the lead of a point may have fallen, by its centre, since the last round."""
        before, self._centres = centres if self._centres is None else self._centres, centres
        moved = np.sqrt(squared_distances(before.T, centres.T)) * _SLACK
        return moved + moved.max() + self._doubt(centres)

    def _doubt(self, centres: np.ndarray) -> float:
        """Return more than what rounding may add to distances from centres, or take from them."""
        reach = self._reach + 2 * float(np.sqrt((centres * centres).sum(axis=1).max()))
        return rounding(centres.shape[1]) * reach

    def _follow(self, run: slice, centres: np.ndarray, falls: np.ndarray) -> tuple[np.ndarray, int]:
        """Return what the clusters gain, as they are summed, in a run of points, and how many were compared."""
        columns, lead = centres.shape[1] + 1, self._lead[run]
        lead -= falls[self._places[run]]
        doubtful = run.start + np.flatnonzero(lead <= self._doubt(centres))
        step = rows_at_a_time("cpu", *centres.shape)
        room = np.empty_like(lead, shape=(2, columns, min(step, len(lead)) if len(doubtful) else 0))
        gained = np.zeros_like(lead, shape=(2, len(centres), columns))
        for places in _pieces(doubtful, run, step):
            gained += self._moved(places, centres, room)
        return gained, len(doubtful)

    def _moved(self, places: Places, centres: Any, room: Any) -> Any:
        """Find the nearest centres of some points anew, and return what the clusters gain."""
        vectors, before = self._points.vectors[:, places], self._places[places].copy()
        now, self._lead[places] = nearest_by(vectors, centres, self._points.sizes[places])
        self._places[places] = now
        changed = np.flatnonzero(now != before)
        if not len(changed):
            return 0.0
        weight = self._points.weight[places]
        if 2 * len(changed) < len(now):
            vectors, weight, now, before = vectors[:, changed], weight[changed], now[changed], before[changed]
        values, spare = room[:, :, : len(now)]
        values[0] = weight
        np.multiply(vectors, weight, out=values[1:])
        return self._exact.by_group(now, values, len(centres), spare, before)


class PlainClusters:
    """k-means clusters of points on a GPU.

    A round compares all points with all centres, by a few calls over millions of points. Sums are those of matrix
    products, in the device's own order.

    Parameters
    ----------
    points : Points
    """

    def __init__(self, points: Points) -> None:
        self._points = points
        self._reach = float(points.sizes.max()) if len(points.sizes) else 0.0

    def means(self, rank: Rank, centres: np.ndarray) -> np.ndarray:
        """Return the means of the points that are nearest to each of the centres, as `Clusters.means`."""
        own = np.sum(self._points.share(lambda runs: self._summed(runs, centres), len(centres)), axis=0)
        return _means(rank.allreduce(own), centres)

    def _summed(self, runs: Sequence[slice], centres: np.ndarray) -> np.ndarray:
        """Return the weight of each cluster, and after it the weighted sums of its vectors."""
        sums = np.zeros((len(centres), centres.shape[1] + 1))
        squares = (centres * centres).sum(axis=1)
        doubt = float(rounding(centres.shape[1]) * (self._reach + np.sqrt(squares.max())) ** 2)
        numbers = (-2.0 * centres, squares[:, None], np.arange(len(centres))[:, None])
        factors, lengths, places = (matrices.to_device(each, "gpu") for each in numbers)
        for run in runs:
            whole = run.stop - run.start >= len(self._points.weight)
            vectors = self._points.vectors if whole else self._points.vectors[:, run]
            weight = self._points.weight if whole else self._points.weight[run]
            near = _nearest(vectors, factors @ vectors + lengths, doubt, centres)
            members = _weights_of(near, places, weight)
            sums += matrices.to_host(np.column_stack([members.sum(axis=1), members @ vectors.T]))
        return sums


def _nearest(vectors: Any, scores: Any, doubt: float, centres: np.ndarray) -> Any:
    """Return the place of the nearest centre of each vector; within `doubt` scores decide nothing, but distances do."""
    close = _are_close(scores, scores.min(axis=0), doubt)
    near = close.argmax(axis=0)
    if int(close.sum()) > len(near):
        tied = np.flatnonzero(close.sum(axis=0) > 1)
        near[tied] = nearest_among(vectors[:, tied], matrices.to_device(centres, "gpu"), close[:, tied])
    return near


@matrices.fused
def _are_close(_: Any, scores: Any, best: Any, doubt: float) -> Any:
    """Return whether scores are within `doubt` of the best of their point."""
    return scores <= best + doubt


@matrices.fused
def _weights_of(_: Any, near: Any, places: Any, weight: Any) -> Any:
    """Return the weight of each point in the row of its cluster, and 0 in the others."""
    return (near == places) * weight


def _means(sums: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the means of clusters by their weights and sums; the centre of one without weight."""
    weight = sums[:, :1]
    return np.where(weight > 0, sums[:, 1:] / np.where(weight > 0, weight, 1.0), centres)


def _pieces(doubtful: Any, run: slice, step: int) -> Iterator[Places]:
    """Yield the places of some points of a run, or of all where that is most of them, a few at a time."""
    if 2 * len(doubtful) > run.stop - run.start:
        yield from (slice(start, min(start + step, run.stop)) for start in range(run.start, run.stop, step))
    else:
        yield from (doubtful[start : start + step] for start in range(0, len(doubtful), step))
