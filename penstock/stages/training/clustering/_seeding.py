"""First centres: given ones, k-means||, or rows at random.

They are the same whatever the engine, the fragments and the ranks. A draw is decided by the seed and the number of the
row among those that are learned from, never by a generator that runs along with the rows of one rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError
from penstock.frames import matrices
from penstock.io.row_hashes import hash_rows
from penstock.spmd import Rank
from penstock.stages.parameter_checks import wrong_parameter
from penstock.stages.training.clustering._lloyd import Points, nearest, squared_distances, totals
from penstock.stages.training.clustering._mixture import Mixture, maximised, shares
from penstock.stages.training.exact.sums import Split

GATHERED = 10_000
"""Up to so many rows are all candidates: then not even their order shows in the centres."""
_FIRST, _PLUS_PLUS, _STEPS = 0, 1, 2
_OVERSAMPLING = 2
"""Candidates drawn in a step, times k; MLlib's."""


def seeds(rank: Rank, points: Points, *, k: int, init_mode: str, init_steps: int, seed: int) -> np.ndarray:
    """Return k of the points, all different; fewer where there are not that many.

    Candidates are drawn as in Bahmani et al., "Scalable k-means++", PVLDB 5, 2012, and k of them chosen, each weighted
    with the points that are nearest to it, by k-means++ (Arthur and Vassilvitskii, SODA 2007), greedily: of several
    draws the one that lowers the cost most.
    """
    if init_mode == "random":
        return _distinct(_first(rank, points, k, seed))[0]
    if points.count <= GATHERED:
        return plus_plus(*sample(rank, points, seed), k, seed)
    candidates = _distinct(_oversampled(rank, points, k, init_steps, seed))[0]
    if len(candidates) < k:
        candidates = _distinct(np.concatenate([candidates, _first(rank, points, k, seed)]))[0]
    placed = matrices.to_device(candidates, points.kind)
    weight = totals(rank, points, placed, np.array([points.largest_weight]), _weights)[:, 0]
    return plus_plus(candidates, weight, k, seed)


def sample(rank: Rank, points: Points, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the different points among some, in ascending order, and the weight of each; the same on every rank.

    All points are taken where there are no more than `GATHERED`, else so many, drawn without replacement in proportion
    to their weights, each of weight 1.
    """
    if points.count > GATHERED:
        return _distinct(_first(rank, points, GATHERED, seed))
    gathered = gather(rank, np.column_stack([points.vectors.T, points.weight]))
    return _distinct(gathered[:, :-1], gathered[:, -1])


def _weights(_: Any, weight: Any, __: Any, out: Any) -> None:
    out[0] = weight


def gather(rank: Rank, rows: Any) -> np.ndarray:
    """Return a few rows of all ranks on the host, in the order of the ranks."""
    return np.ascontiguousarray(np.concatenate(rank.gather(matrices.to_host(rows))))


def _oversampled(rank: Rank, points: Points, k: int, steps: int, seed: int) -> np.ndarray:
    """Return one point, and about 2 k more a step, likelier the further they are from those before."""
    candidates = added = _first(rank, points, 1, seed)
    distances = np.full_like(points.weight, np.inf)
    for step in range(steps):
        distances = np.minimum(distances, _distances(points, added))
        cost = _cost(rank, points, distances)
        if not cost:
            break
        share = _OVERSAMPLING * k * points.weight * distances / cost
        added = gather(rank, points.vectors[:, _draws(points, seed, _STEPS + step) < share].T)
        candidates = np.concatenate([candidates, added])
    return candidates


def _distances(points: Points, centres: np.ndarray) -> Any:
    """Return the squared distance of each point from the nearest of `centres`; infinite when there is none."""
    found, placed = np.full_like(points.weight, np.inf), matrices.to_device(centres, points.kind)

    def fill(runs: Sequence[slice]) -> None:
        for rows in runs:
            vectors = points.vectors[:, rows]
            near = nearest(vectors, placed, points.sizes[rows])
            found[rows] = squared_distances(vectors, placed.T.take(near, axis=1))

    if len(centres):
        points.share(fill, len(centres))
    return found


def _cost(rank: Rank, points: Points, distances: Any) -> float:
    exact = Split.of(np.array([points.largest_weight * points.largest_square]), points.count, points.kind)
    together = np.zeros_like(points.weight, dtype=np.int64)
    sums = exact.by_group(together, (points.weight * distances)[None], 1)
    return float(rank.allreduce(matrices.to_host(sums)).sum())


def _first(rank: Rank, points: Points, n: int, seed: int) -> np.ndarray:
    """Return n points drawn without replacement, in proportion to their weights; all when there are no more.

    Each waits for a time of its own, exponential with its weight as the rate, and the first n are taken: Efraimidis and
    Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97, 2006.
    """
    times = -np.log1p(-_draws(points, seed, _FIRST)) / points.weight
    if len(times) > n:
        soon = np.flatnonzero(times <= np.partition(times, n - 1)[n - 1])
    else:
        soon = np.arange(len(times), like=times)
    own = soon[np.argsort(times[soon], kind="stable")[:n]]
    rows = gather(rank, np.column_stack([times[own], points.vectors[:, own].T]))
    return rows[np.argsort(rows[:, 0], kind="stable")[:n], 1:]


def _draws(points: Points, seed: int, stream: int) -> Any:
    """Return a fraction in [0, 1) for each point."""
    rows = np.arange(points.first, points.first + len(points.weight), dtype=np.uint64, like=points.weight)
    return hash_rows(rows, _stream(seed, stream))


def _stream(seed: int, stream: int) -> int:
    return int(np.random.SeedSequence([seed % 2**64, stream]).generate_state(1, np.uint64)[0])


def _distinct(points: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the different points in ascending order, and the weight of each; in which order they came is forgotten."""
    weight = np.ones(len(points)) if weight is None else weight
    order = np.lexsort([weight, *points.T[::-1]])
    points, weight = points[order], weight[order]
    starts = np.flatnonzero(np.append(True, (points[1:] != points[:-1]).any(axis=1)))
    return points[starts], np.add.reduceat(weight, starts)


def plus_plus(candidates: np.ndarray, weight: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Choose k of the candidates by k-means++; fewer when all others lie on those that are chosen."""
    trials = 2 + int(math.log(k))  # as many as Arthur and Vassilvitskii tried, and scikit-learn does
    draws = hash_rows(np.arange(k * trials, dtype=np.uint64), _stream(seed, _PLUS_PLUS)).reshape(k, trials)
    chosen = [int(_drawn(weight, draws[0])[0])]
    distances = _from(candidates, chosen[0])
    for fractions in draws[1:]:
        mass = weight * distances
        if not mass.any():
            break
        tried = _drawn(mass, fractions)
        left = [np.minimum(distances, _from(candidates, place)) for place in tried]
        best = int(np.argmin([np.sum(weight * each) for each in left]))
        chosen.append(int(tried[best]))
        distances = left[best]
    return candidates[chosen]


def _from(candidates: np.ndarray, place: int) -> np.ndarray:
    away = candidates - candidates[place]
    return np.einsum("ij,ij->i", away, away)


def _drawn(mass: np.ndarray, fractions: np.ndarray) -> np.ndarray:
    """Return places in proportion to their mass, one for each fraction in [0, 1)."""
    reached = np.cumsum(mass)
    places = np.searchsorted(reached, fractions * reached[-1], side="right")
    return np.asarray(places.clip(max=np.flatnonzero(mass)[-1]))


Given = tuple[tuple[Any, ...], ...]
"""Rows of coordinates, or pairs of a feature and its coordinates."""
_EXPECTED = "an array of finite numbers of shape (k, n_features), or a table with a column for each feature"


def plain_centres(stage: Any, name: str) -> None:
    """Make plain values of the centres that a stage is given, if any.

    Raises
    ------
    ConfigError
        They are no k rows of finite numbers.
    """
    given = getattr(stage, name)
    if given is None:
        return
    try:
        plain = _pairs(given) if _is_named(given) else tuple(map(tuple, _matrix(given).tolist()))
        rows = _matrix([values for _, values in plain]).T if _is_named(plain) else _matrix(plain)
    except (TypeError, ValueError) as error:
        raise wrong_parameter(stage, name, _EXPECTED) from error
    if rows.ndim != 2 or len(rows) != stage.k or not np.isfinite(rows).all():
        raise wrong_parameter(stage, name, f"{_EXPECTED}; k is {stage.k}")
    object.__setattr__(stage, name, plain)


def centres_of(given: Given, names: Sequence[str], stage: str) -> list[list[float]]:
    """Return the centres with a coordinate for each of these features, in their order.

    Raises
    ------
    ConfigError
        They are of other features.

    Examples
    --------
    >>> centres_of((("y", (1.0, 2.0)), ("x", (3.0, 4.0))), ["x", "y"], "KMeans")
    [[3.0, 1.0], [4.0, 2.0]]
    """
    columns = dict(given) if _is_named(given) else dict(zip(names, zip(*given, strict=True), strict=False))
    width = len(columns) if _is_named(given) else len(given[0])
    if set(columns) != set(names) or width != len(names):
        found = f"columns {', '.join(columns)}" if _is_named(given) else f"{width} coordinates"
        raise ConfigError(
            f"init of {stage} has {found}, expected one for each of the {len(names)} features: {', '.join(names[:10])}",
            hint="Centres have a coordinate for each feature, in the order of features.",
            stage=stage,
        )
    return [list(row) for row in zip(*(columns[name] for name in names), strict=True)]


def has_origin(given: Given) -> bool:
    """Return whether a centre is 0 in all features.

    Examples
    --------
    >>> has_origin(((0.0, 1.0), (0.0, 0.0))), has_origin((("x", (0.0, 1.0)), ("y", (1.0, 0.0))))
    (True, False)
    """
    rows = zip(*(values for _, values in given), strict=True) if _is_named(given) else given
    return not all(map(any, rows))


def _is_named(given: Any) -> bool:
    if isinstance(given, Mapping | pa.Table):
        return True
    return isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0][0], str)


def _pairs(given: Any) -> Given:
    columns = given.to_pydict() if isinstance(given, pa.Table) else dict(given)
    return tuple((str(name), tuple(_matrix(values).tolist())) for name, values in columns.items())


def _matrix(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)


_TRIES = 4
_ROUNDS = 30
_MIXTURE_STEPS = 10


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct rows with the initial clusters of a mixture.

    Which clusters there are depends on the units of features. k-means is tried in their own units and in units of their
    deviations, a few times each, and a few steps on the sample show which of the two leads to the likelier mixture.

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
        return (self.points - self._mean) / np.where(deviations > 0, deviations, 1.0)

    @property
    def _mean(self) -> np.ndarray:
        return np.average(self.points, axis=0, weights=self.weight)

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
        for _ in range(_MIXTURE_STEPS):
            mixture = self._maximised(mixture, self._shares(mixture)[0])
        return float(self.weight @ self._shares(mixture)[1])

    def _shares(self, mixture: Mixture) -> tuple[np.ndarray, np.ndarray]:
        return shares(mixture.log_densities(self.points.T, "cpu"))

    def _maximised(self, mixture: Mixture, likely: np.ndarray) -> Mixture:
        ones = np.ones((1, len(self.points)))
        apart = (np.concatenate([self.points.T - mean[:, None], ones]) for mean in mixture.means)
        sums = [(each * (row * self.weight)) @ each.T for each, row in zip(apart, likely, strict=True)]
        return maximised(mixture, np.stack(sums), self.floor)
