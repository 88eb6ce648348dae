"""How well clusters are apart: the simplified silhouette, from their centres and two scans of the points.

The mean squared distance of a point x from the points of a cluster is ``|x - centre|**2 + variance``: nobody needs the
distances between points. MLlib expands it to sums of squares, which cancel for data far from zero; here the centres and
the variances come from differences, as those of `penstock.statistics.Moments` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.frames import Kind, matrices
from penstock.statistics.base import State
from penstock.statistics.device_groups import grouped
from penstock.statistics.groups import as_lists
from penstock.statistics.labels import refuse_more
from penstock.statistics.places import places
from penstock.statistics.points import PointStatistic

MOST = 10_000
"""A point is compared with every cluster: more are too many for that, and are no clusters but values."""


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
    >>> from penstock import frames
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

    @property
    def calinski_harabasz(self) -> float | None:
        """The variance between clusters over that within them, each by its degrees of freedom; 1 where both are 0.

        Calinski and Harabasz, "A dendrite method for cluster analysis", Communications in Statistics 3, 1974. None,
        with a reason by `calinski_harabasz_reason`, where there are no two clusters, or no more rows than clusters.
        """
        if self.calinski_harabasz_reason:
            return None
        share = (self.weight / self.weight.sum())[:, None]
        away = self.away(self.centres, self.rests, 0)
        away = away - (share * away).sum(axis=0)
        between = float((self.weight * (away * away).sum(axis=1)).sum()) / (len(self.ids) - 1)
        within = float((self.weight * self.variances).sum()) / (float(self.weight.sum()) - len(self.ids))
        return between / within if within else 1.0

    @property
    def calinski_harabasz_reason(self) -> str | None:
        """Why `calinski_harabasz` is undefined, or None when it is defined."""
        few = None if self.weight.sum() > len(self.ids) else "there are no more rows than clusters"
        return self.reason or few

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
    >>> from penstock import frames
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
