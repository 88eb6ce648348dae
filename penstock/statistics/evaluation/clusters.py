"""How well clusters are apart: the simplified silhouette, from their centres and two scans of the points.

The mean squared distance of a point x from the points of a cluster is ``|x - centre|**2 + variance``: nobody needs the
distances between points. MLlib expands it to sums of squares, which cancel for data far from zero; here the centres and
the variances come from differences, as those of `penstock.statistics.Moments` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.frames import Kind, matrices
from penstock.statistics.base import State, merge_fields
from penstock.statistics.device_groups import grouped
from penstock.statistics.groups import as_lists, sums
from penstock.statistics.labels import refuse_more
from penstock.statistics.places import places
from penstock.statistics.points import Points, PointStatistic

MOST = 10_000
"""A point is compared with every cluster: more are too many for that, and are no clusters but values."""

_AT_A_TIME = 2**20
"""Distances held at a time, 8 MiB."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters that have a row of a weight above 0; equal, and of one hash, when all numbers are.

    Parameters
    ----------
    ids : numpy.ndarray of shape (n_clusters,), int64
        Ascending.
    weight : numpy.ndarray of shape (n_clusters,), float64
    rows : numpy.ndarray of shape (n_clusters,), int64
    centres : numpy.ndarray of shape (n_clusters, n_features), float64
        Weighted mean of the points; for the cosine distance of points scaled to length 1.
    rests : numpy.ndarray of shape (n_clusters, n_features), float64
        What float64 rounds off the centres; without it points far from zero would have silhouettes of fewer digits, and
        others of other partitions.
    variances : numpy.ndarray of shape (n_clusters,), float64
        Weighted mean of the squared distances from the centre.

    Examples
    --------
    >>> from penstock.statistics.evaluation.clusters import ClusterSums
    >>> statistic = ClusterSums(("prediction", "x"))
    >>> frame = frames.from_arrow(pa.table({"prediction": [1, 0, 1], "x": [1.0, 9.0, 3.0]}))
    >>> found = statistic.finish(statistic.summarise(frame))
    >>> found.ids.tolist(), found.centres.tolist(), found.variances.tolist()
    ([0, 1], [[9.0], [2.0]], [0.0, 1.0])
    """

    ids: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    centres: np.ndarray
    rests: np.ndarray
    variances: np.ndarray

    @property
    def reason(self) -> str | None:
        """Why there is no silhouette, or None when there is one."""
        few = {0: "no row has a positive weight", 1: "there is one cluster, expected at least two"}
        return few.get(len(self.ids))

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the fields in order."""
        return self.ids, self.weight, self.rows, self.centres, self.rests, self.variances

    def on(self, kind: Kind) -> Clusters:
        """Return the clusters, to reckon with, where the points are: on a GPU their arrays are CuPy's."""
        return Clusters(*(matrices.to_device(each, kind) for each in self.arrays()))

    def away(self, vectors: Any, rests: Any, own: int) -> Any:
        """Return ``vectors + rests`` less the centre at place `own`."""
        differences = vectors - self.centres[own]
        differences += rests - self.rests[own]
        return differences

    @property
    def _content(self) -> tuple[object, ...]:
        return self.centres.shape, *(each.tobytes() for each in self.arrays())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clusters) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)


@dataclass(frozen=True)
class ClusterSums(PointStatistic):
    """The :class:`Clusters` of points, at most 10,000 of them.

    Parameters
    ----------
    columns : tuple of str
        The cluster (whole numbers), the features (numbers, or one column of lists of one length), and the weight (0 or
        more) if it is `weighted`; without it every row weighs 1.
    weighted : bool, default False
    distance_measure : {"squaredEuclidean", "cosine"}

    Raises
    ------
    ConfigError
        `columns` has too few names, or the distance is not known.

    Examples
    --------
    >>> statistic = ClusterSums(("prediction", "features", "w"), weighted=True)
    >>> table = pa.table({"prediction": [5, 5], "features": [[0.0, 1.0], [4.0, 1.0]], "w": [3.0, 1.0]})
    >>> found = statistic.finish(statistic.summarise(frames.from_arrow(table)))
    >>> found.centres.tolist(), found.weight.tolist(), found.variances.tolist()
    ([[1.0, 1.0]], [4.0], [3.0])
    """

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the clusters of the valid rows of one partition, and what is to be said of the others.

        Raises
        ------
        DataValueError
            There are more than 10,000 clusters; so does `merge`.
        """
        points, invalid = self.points(frame)
        rows, none = np.ones_like(points.cluster), np.zeros_like(points.weight)
        rests = np.broadcast_to(np.zeros_like(points.vectors, shape=(1, 1)), points.vectors.shape)
        clusters = Clusters(points.cluster, points.weight, rows, points.vectors, rests, none)
        return {"invalid": invalid, "table": self._table(_joined(clusters))}

    def merge(self, states: Sequence[State]) -> State:
        """Join centres and variances with the update of Chan."""
        invalid = self.merge_invalid([state["invalid"] for state in states])
        parts = [state["table"] for state in states if len(state["table"])]
        if not parts or len(invalid["lengths"]) > 1:
            return {"invalid": invalid, "table": states[0]["table"].slice(0, 0)}
        return {"invalid": invalid, "table": self._table(_joined(_unpacked(pa.concat_tables(parts))))}

    def finish(self, state: State) -> Clusters:
        """Return the clusters.

        Raises
        ------
        DataValueError
            A cluster is null, not whole or beyond 2**53; a feature is null, infinite or larger than 1e150; lists are
            empty or of several lengths; a vector is 0 where the distance is the cosine one; a weight is null, negative
            or larger than 1e150. It names the column and the count, and its ``predicate`` is true for the bad rows.
        """
        self.refuse_invalid(state["invalid"])
        return _unpacked(state["table"])

    def _table(self, clusters: Clusters) -> pa.Table:
        hint = "Check that it holds clusters, not the numbers of rows."
        refuse_more(self.prediction, len(clusters.ids), MOST, "clusters", "", hint)
        ids, weight, rows, centres, rests, variances = map(matrices.to_host, clusters.arrays())
        lists = {"centre": as_lists(centres), "rest": as_lists(rests)}
        return pa.table({"cluster": ids, "weight": weight, "rows": rows, **lists, "variance": variances})


def _unpacked(table: pa.Table) -> Clusters:
    ids, weight, rows, variances = (table[name].to_numpy() for name in ("cluster", "weight", "rows", "variance"))
    lists = (table[name].combine_chunks().flatten().to_numpy() for name in ("centre", "rest"))
    centres, rests = (each.reshape(len(ids), -1 if len(ids) else 0) for each in lists)
    return Clusters(ids, weight, rows, centres, rests, variances)


def _joined(parts: Clusters) -> Clusters:
    """Return the clusters that parts make up, of which several may be of one; a point is a part, of no variance."""
    ids, place = places(parts.ids)
    groups = grouped(place, parts.weight, len(ids))
    centres, rests = np.empty_like(parts.centres, shape=(2, len(ids), parts.centres.shape[1]))
    spread = parts.variances.copy()
    for feature, (values, more) in enumerate(zip(parts.centres.T, parts.rests.T, strict=True)):
        centres[:, feature], rests[:, feature], away = groups.means(values, more)
        spread += away * away
    rows = groups.sums(parts.rows).astype(np.int64)
    return Clusters(ids, groups.weight, rows, centres, rests, groups.sums(groups.share * spread))


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

    Examples
    --------
    >>> found = Silhouette(np.array([0, 1]), np.array([1.0, 3.0]), np.array([0.5, 2.1]))
    >>> found.mean, found.by_cluster.round(2).tolist()
    (0.65, [0.5, 0.7])
    """

    ids: np.ndarray
    weight: np.ndarray
    coefficients: np.ndarray

    @property
    def mean(self) -> float | None:
        """Weighted mean of the coefficients of all points; None, with a :attr:`reason`, without weight."""
        return None if self.reason else float(self.coefficients.sum() / self.weight.sum())

    @property
    def by_cluster(self) -> np.ndarray:
        """Weighted mean of the coefficients of the points of each cluster."""
        means: np.ndarray = self.coefficients / self.weight
        return means

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
        coefficients = _coefficients(points, place[known], clusters)
        weight, coefficient = (
            matrices.to_host(sums(place[known], each, len(ids)))
            for each in (points.weight, points.weight * coefficients)
        )
        filled = weight > 0
        table = pa.table(
            {"cluster": self.clusters.ids[filled], "weight": weight[filled], "coefficient": coefficient[filled]}
        )
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
        return Silhouette(*(ordered[name].to_numpy() for name in ("cluster", "weight", "coefficient")))


def _coefficients(points: Points, place: Any, clusters: Clusters) -> Any:
    """Return the coefficient of each point of the cluster at `place`."""
    found = np.zeros_like(points.weight)
    order = np.argsort(place.astype(np.uint16), kind="stable")  # a radix sort; there are at most 10,000 clusters
    ends = matrices.to_host(np.searchsorted(place[order], np.arange(len(clusters.ids) + 1, like=place))).tolist()
    step = max(_AT_A_TIME // len(clusters.ids), 1)
    for own in np.flatnonzero(np.diff(ends)).tolist():
        centres, others = _around(own, clusters)
        for start in range(ends[own], ends[own + 1], step):
            rows = order[start : min(start + step, ends[own + 1])]
            vectors = clusters.away(points.vectors[rows], 0.0, own)
            squares = np.einsum("ij,ij->i", vectors, vectors)
            between = centres @ (-2 * vectors.T)  # a row for each cluster: the smallest is found along the rows
            between += others[:, None]
            nearest = np.maximum(squares + between.min(axis=0), 0.0)
            inner = squares + clusters.variances[own]
            found[rows] = _compared(inner, nearest, points.weight[rows], clusters.weight[own])
    return found


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
