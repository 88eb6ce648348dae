"""How near points are to their own cluster and to the next one: the second scan, given the clusters of all points.

See `penstock.statistics.evaluation.clusters` for what spares the distances between points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.frames import matrices
from penstock.statistics.base import State, merge_fields
from penstock.statistics.evaluation.clusters import Clusters
from penstock.statistics.groups import sums
from penstock.statistics.points import Points, PointStatistic

_AT_A_TIME = 2**20
"""Distances held at a time, 8 MiB."""
_SUMS = ("cluster", "weight", "coefficient", "distance")


@dataclass(frozen=True, eq=False)
class Silhouette:
    """How much nearer points are to their own cluster than to the next one: 1 at best, -1 at worst.

    Parameters
    ----------
    ids : numpy.ndarray of shape (n_clusters,), int64
        The clusters of which a row has weight.
    weight : numpy.ndarray of shape (n_clusters,), float64
    coefficients : numpy.ndarray of shape (n_clusters,), float64
        Sum over the cluster's points of weight times coefficient.
    distances : numpy.ndarray of shape (n_clusters,), float64
        Sum over the cluster's points of weight times distance from the centre, which is not squared.
    clusters : Clusters
        All of them.

    Examples
    --------
    >>> ids, weight, centres = np.array([0, 1]), np.array([1.0, 3.0]), np.array([[0.0], [4.0]])
    >>> clusters = Clusters(ids, weight, np.array([1, 3]), centres, np.zeros((2, 1)), np.array([0.0, 1.0]))
    >>> found = Silhouette(ids, weight, np.array([0.5, 2.1]), np.array([0.0, 3.0]), clusters)
    >>> found.mean, found.by_cluster.round(2).tolist(), found.davies_bouldin
    (0.65, [0.5, 0.7], 0.25)
    """

    ids: np.ndarray
    weight: np.ndarray
    coefficients: np.ndarray
    distances: np.ndarray
    clusters: Clusters

    @property
    def davies_bouldin(self) -> float | None:
        """Mean over the clusters of how near the nearest other one is: of (spread + spread) / distance of the centres.

        Davies and Bouldin, "A cluster separation measure", IEEE Transactions on Pattern Analysis and Machine
        Intelligence 1, 1979; a spread is the mean distance from the centre. Centres that are the same count for
        nothing, as in scikit-learn. None, with a :attr:`davies_bouldin_reason`, for rows of fewer than two clusters.
        """
        if self.davies_bouldin_reason:
            return None
        spread = self.distances / self.weight
        place = np.searchsorted(self.clusters.ids, self.ids)
        centres, rests = self.clusters.centres[place], self.clusters.rests[place]
        worst = np.zeros(len(place))
        for row, own in enumerate(place):
            apart = np.sqrt((self.clusters.away(centres, rests, own) ** 2).sum(axis=1))
            worst[row] = ((spread + spread[row]) / np.where(apart > 0, apart, np.inf)).max()
        return float(worst.mean())

    @property
    def davies_bouldin_reason(self) -> str | None:
        """Why the index is undefined, or None when it is defined."""
        return self.reason or ("there is one cluster, expected at least two" if len(self.ids) < 2 else None)

    @property
    def mean(self) -> float | None:
        """Weighted mean of the coefficients of all points; None, with a :attr:`reason`, without weight."""
        return None if self.reason else float(self.coefficients.sum() / self.weight.sum())

    @property
    def by_cluster(self) -> np.ndarray:
        """Weighted mean of the coefficients of the points of each cluster."""
        return self.coefficients / self.weight

    @property
    def reason(self) -> str | None:
        """Why the mean is undefined, or None when it is defined."""
        return None if len(self.ids) else "no row has a positive weight"


@dataclass(frozen=True)
class Silhouettes(PointStatistic):
    """The :class:`Silhouette` of points, given the clusters of all of them: the second scan.

    Parameters
    ----------
    columns, weighted, distance_measure
        Those of the :class:`ClusterSums` that gave the clusters.
    clusters : Clusters
        At least two.

    Raises
    ------
    ConfigError
        `columns` has too few names, the distance is not known, or there are fewer than two clusters.

    Notes
    -----
    Of a point, a is its mean distance from the points of its own cluster, itself left out, and b the smallest of those
    from the points of the other clusters. Its coefficient is ``(b - a) / max(a, b)``, or 0 where it is alone in its
    cluster. The distance is the *squared* Euclidean one, or one minus the cosine. With weights a is the weighted mean
    over all points of the cluster, times ``weight of the cluster / (weight of the cluster - weight of the point)``.
    That is MLlib's ``ClusteringEvaluator``, not scikit-learn's ``silhouette_score``, whose distances are not squared.

    A partition takes time in proportion to features times clusters times the rows and clusters together.

    Examples
    --------
    >>> from penstock.statistics.evaluation.clusters import ClusterSums
    >>> table = pa.table({"prediction": [0, 0, 1, 1], "x": [0.0, 1.0, 8.0, 9.0]})
    >>> frame = frames.from_arrow(table)
    >>> sums = ClusterSums(("prediction", "x"))
    >>> statistic = Silhouettes(sums.columns, clusters=sums.finish(sums.summarise(frame)))
    >>> round(statistic.finish(statistic.summarise(frame)).mean, 4)
    0.9843
    """

    clusters: Clusters = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.clusters.ids) < 2:
            raise ConfigError(f"there are {len(self.clusters.ids)} clusters, expected at least two")

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the weights and the coefficients, added up by cluster, and what is to be said of rows left out."""
        points, invalid = self.points(frame)
        clusters = self.clusters.on(frames.kind_of(frame))
        ids = clusters.ids
        place = np.minimum(np.searchsorted(ids, points.cluster), len(ids) - 1)
        known = ids[place] == points.cluster
        points = Points(points.cluster[known], points.vectors[known], points.weight[known])
        coefficients, distances = _coefficients(points, place[known], clusters)
        added = (
            matrices.to_host(sums(place[known], each, len(ids)))
            for each in (points.weight, points.weight * coefficients, points.weight * distances)
        )
        table = pa.table(dict(zip(_SUMS, (self.clusters.ids, *added), strict=True))).filter(pc.field("weight") > 0)
        return {"invalid": invalid, "unknown": int(np.count_nonzero(~known)), "table": table}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the sums of each cluster."""
        by_cluster = partial(frames.sum_by_key, keys=["cluster"])
        return merge_fields(states, invalid=self.merge_invalid, unknown=sum, table=by_cluster)

    def finish(self, state: State) -> Silhouette:
        """Return the silhouette.

        Raises
        ------
        DataValueError
            As :meth:`ClusterSums.finish`; or a row is of none of the clusters.
        """
        self.refuse_invalid(state["invalid"])
        if state["unknown"]:
            raise DataValueError(
                f"column {self.prediction!r} has {state['unknown']} rows of clusters that the first scan did not find",
                hint="Evaluate data that does not change: write it first.",
                column=self.prediction,
            )
        ordered = state["table"].sort_by("cluster")
        ids, weight, coefficients, distances = (ordered[name].to_numpy() for name in _SUMS)
        return Silhouette(ids, weight, coefficients, distances, self.clusters)


def _coefficients(points: Points, place: Any, clusters: Clusters) -> tuple[Any, Any]:
    """Return of each point of the cluster at `place` the coefficient, and the distance from the centre."""
    found, distances = np.zeros_like(points.weight), np.zeros_like(points.weight)
    order = np.argsort(place.astype(np.uint16), kind="stable")  # a radix sort; there are at most 10,000 clusters
    ends = matrices.to_host(np.searchsorted(place[order], np.arange(len(clusters.ids) + 1, like=place))).tolist()
    step = max(_AT_A_TIME // len(clusters.ids), 1)
    for own in np.flatnonzero(np.diff(ends)).tolist():
        centres, others = _around(own, clusters)
        for start in range(ends[own], ends[own + 1], step):
            rows = order[start : min(start + step, ends[own + 1])]
            vectors = clusters.away(points.vectors[rows], 0.0, own)
            squares = np.einsum("ij,ij->i", vectors, vectors)
            distances[rows] = np.sqrt(squares)
            between = centres @ (-2 * vectors.T)  # a row for each cluster: the smallest is found along the rows
            between += others[:, None]
            nearest = np.maximum(squares + between.min(axis=0), 0.0)
            inner = squares + clusters.variances[own]
            found[rows] = _compared(inner, nearest, points.weight[rows], clusters.weight[own])
    return found, distances


def _around(own: int, clusters: Clusters) -> tuple[Any, Any]:
    """Return all centres, and the mean squared distance of the points of each other cluster, from the centre of `own`.

    With that origin what cancels is never larger than the distances that are compared, however far from zero, or from a
    third cluster, the points are.
    """
    centres = clusters.away(clusters.centres, clusters.rests, own)
    others = np.einsum("ij,ij->i", centres, centres) + clusters.variances
    others[own] = np.inf
    return centres, others


def _compared(inner: Any, nearest: Any, weight: Any, total: Any) -> Any:
    rest = total - weight
    alone = rest <= 0
    own = inner * total / np.where(alone, 1.0, rest)
    larger = np.maximum(own, nearest)
    return np.where(alone, 0.0, (nearest - own) / np.where(larger > 0, larger, 1.0))
