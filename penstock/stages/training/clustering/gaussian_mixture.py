"""Clusters as a mixture of normal distributions, trained by all ranks at once.

A step is one pass. Distances from means are products of features with whitening matrices, and what components learn are
products of distances: both go to BLAS in pieces whose products are exact, see `exact.products` and `exact.gram`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.selectors import Columns
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted, Tags
from penstock.stages.parameter_checks import in_range
from penstock.stages.shapes import Fields, Flag, Integer, ListOf, Number, Shape, TableOf
from penstock.stages.target import Target, largest_weight, refuse_overflow
from penstock.stages.trainer import Trainer
from penstock.stages.training._finite import finite_matrix
from penstock.stages.training.clustering import _seeding
from penstock.stages.training.clustering._lloyd import Points
from penstock.stages.training.clustering._mixture import Mixture, maximised, shares, sum_of_squares
from penstock.stages.training.clustering._seeding import Sample
from penstock.stages.training.exact.binary_scaling import framing, scaling_of
from penstock.stages.training.exact.design import Rows, ToRows, one_blas_thread, sum_on_gpu
from penstock.stages.training.exact.gram import RowSlices
from penstock.stages.training.exact.products import Coefficients, ProductDesign
from penstock.stages.training.exact.sums import Split
from penstock.statistics import Checks, Extremes, Moments, Statistic
from penstock.statistics.rules import rules_for


@dataclass(frozen=True)
class GaussianMixture(Trainer):
    """Gives each row its likeliest component of a mixture of normal distributions, and how likely each of them is.

    The mixture is fitted by expectation and maximisation, with a full covariance for each component.

    Parameters
    ----------
    features : str, sequence of str, or Selector, optional
        Columns of numbers or booleans (0 and 1); all but the weight, unless given. Without null.
    k : int, default=2
        Components, at least 2. There are fewer when fewer points than k are different.
    weight : str, optional
        Column of row weights, not negative, without null.
    max_iter : int, default=100
        The largest number of steps; 0 leaves the components as they begin.
    tol : float, default=0.01
        Stop once a step changes the log-likelihood of all rows by less; MLlib's. scikit-learn's is that of a row.
    reg_covar : float, default=1e-6
        Added to the variances of components, in units of the variance of the feature in all rows: no component can
        shrink to a point. scikit-learn's is in units of the feature.
    seed : int, default=0
    prediction : str
        Name of the int32 column of components, from 0; null where a feature is null.
    probability : str
        Name of the column of lists of float64: how likely each component is.

    Raises
    ------
    ConfigError, SchemaError
        Before reading: a parameter is out of range, a column is missing or not numeric.
    EmptyInputError
        At fit: there is no row.
    DataValueError
        At fit: a feature is null or infinite, or its square is; a weight is null, infinite or negative, or all are 0;
        a component collapses, which only a `reg_covar` of 0, or features that explain each other, allow. At scoring: a
        feature is infinite, or so far from all means that densities cannot be compared.

    Notes
    -----
    Components begin as the clusters of k-means, the best of four tries by k-means++, with their covariances and shares:
    in features as they are, as in scikit-learn, or in units of their deviations, whichever is likelier after ten steps.
    That is found out on all rows, or on 10,000 of more, drawn by `seed`. MLlib begins elsewhere, and may end at another
    maximum of the likelihood.

    Learned are ``weights`` (a list), ``means`` (a table, one row a component, one column a feature), ``covariances`` (a
    table of a row for each component and feature, named in its first two columns, and a column for each feature),
    ``log_likelihood`` (of all rows, weighted), ``iterations`` and ``converged``.

    Every rank reads its rows once and keeps them in memory, 8 bytes a value: on a GPU in its own, where it also
    trains. The same rows in the same order give the same model to the bit, whatever the engine, the fragments and the
    number of ranks; on a GPU, whose sums are not exact, that of a CPU to 1e-9, where the steps are as many.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]}))
    >>> model = ps.Pipeline(st.GaussianMixture("x", k=2)).fit(data)
    >>> sorted(round(value, 3) for value in model.fitted[0]["means"]["x"].to_pylist())
    [1.0, 11.0]
    """

    features: Columns | None = None
    _: KW_ONLY
    k: int = field(default=2, metadata=in_range(least=2, whole=True))
    weight: str | None = None
    max_iter: int = field(default=100, metadata=in_range(least=0, whole=True))
    tol: float = field(default=0.01, metadata=in_range(least=0))
    reg_covar: float = field(default=1e-6, metadata=in_range(least=0))
    seed: int = field(default=0, metadata=in_range(whole=True))
    prediction: str = "prediction"
    probability: str = "probability"

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)

    @property
    def target(self) -> Target:
        return Target(None, {self.prediction: pa.int32(), self.probability: pa.list_(pa.float64())})

    def _checks(self) -> Checks:
        """Return what is checked over all rows before training; `Moments` refuses infinities, and squares that are."""
        weight = rules_for(self._weights, "null", "infinite", "too_large", "negative")
        return Checks((*rules_for(self.inputs(), "null"), *weight))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for what is wrong with values, and for means, deviations and ends of the columns."""
        spread = {"moments": Moments(self.inputs()), "extremes": Extremes(self.training_columns())}
        return {"checks": self._checks(), **spread}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return how to centre and scale the columns to train with."""
        results["checks"].refuse(self._refused)
        moments, extremes = results["moments"], results["extremes"]
        return {
            "rows": moments[self.inputs()[0]].count,
            "largest_weight": largest_weight(self.weight, extremes),
            **framing(moments, extremes, self.inputs(), None),
        }

    def start_from(self, learned: Fitted, before: Fitted) -> Fitted:
        """Return what to improve the mixture of before with."""
        mixture = self._mixture(before)
        return {**learned, "start": [each.tolist() for each in (mixture.weights, mixture.means, mixture.covariances)]}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        names, count = self.inputs(), len(fitted["weights"])
        numbers = dict.fromkeys(names, pa.types.is_floating)
        places = {"component": pa.types.is_integer, "feature": pa.types.is_string}
        told = {"log_likelihood": Number(), "iterations": Integer(), "converged": Flag()}
        shapes: dict[str, Shape] = {
            "weights": ListOf(Number(least=0), count),
            "means": TableOf(numbers, rows=count, least=1),
            "covariances": TableOf({**places, **numbers}, rows=count * len(names)),
        }
        return Fields(shapes, told)

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        scaling = scaling_of(learned, intercept=True)
        units = np.where(scaling.scale == 0, 1.0, scaling.scale)
        # Nobody asks for the label: the first feature stands in its place.
        convert = ToRows(self.inputs(), self.inputs()[0], None, self.weight, scaling)
        design = MixtureDesign(rank, convert, learned["rows"], learned["largest_weight"])
        with one_blas_thread():
            variances, weight = design.variances()
            floor = self.reg_covar * np.where(variances > 0, variances, 1.0)
            if "start" in learned and rank.checkpoint is None:
                weights, means, covariances = map(np.array, learned["start"])
                begun = Mixture(weights, (means - scaling.shift) / units, covariances / np.outer(units, units))
            else:
                begun = self._begin(rank, design, units, floor)
            mixture, outcome = self._iterate(rank, design, begun, floor)
        outcome["log_likelihood"] -= weight * float(np.log(units).sum())
        return {**self._tables(mixture, units, scaling.shift), **outcome}

    def _begin(self, rank: Rank, design: MixtureDesign, units: np.ndarray, floor: np.ndarray) -> Mixture:
        """Return the mixture to begin with, in scaled features; that of the checkpoint, if there is one."""
        if rank.checkpoint is not None:
            return Mixture.unpack(rank.checkpoint.data[8:], len(floor))
        points = Points.of(rank, *design.vectors(), design.bounds[:-1], design.largest_weight)
        begun = Sample(*_seeding.sample(rank, points, self.seed), floor).mixture(self.k, units, self.seed)
        return Mixture.unpack(design.agreed(np.frombuffer(begun.pack())).tobytes(), len(floor))

    def _iterate(
        self, rank: Rank, design: MixtureDesign, mixture: Mixture, floor: np.ndarray
    ) -> tuple[Mixture, dict[str, Any]]:
        """Return the mixture at the end, and how it ended; the log-likelihood is that of scaled features."""
        rounds, before, converged = 0, -np.inf, False
        if rank.checkpoint is not None:
            rounds = rank.checkpoint.rounds
            before = float(np.frombuffer(rank.checkpoint.data[:8], dtype="<f8")[0])
        while True:
            improved, likelihood = design.step(mixture, floor)
            converged = abs(likelihood - before) < self.tol
            if converged or rounds == self.max_iter:
                break
            mixture, before, rounds = improved, likelihood, rounds + 1
            rank.report(rounds, f"log-likelihood {likelihood:.8g}")
            if rounds % rank.checkpoint_interval == 0:
                rank.save(rounds, np.array([before], dtype="<f8").tobytes() + mixture.pack())
        return mixture, {"log_likelihood": likelihood, "iterations": rounds, "converged": converged}

    def _tables(self, mixture: Mixture, units: np.ndarray, shift: np.ndarray) -> dict[str, Any]:
        """Return shares, means and covariances of features as they are."""
        names, count = self.inputs(), len(mixture.weights)
        means = mixture.means * units + shift
        rows = (mixture.covariances * np.outer(units, units)).reshape(-1, len(names))
        places = {"component": np.arange(count).repeat(len(names)), "feature": list(names) * count}
        columns = [pa.array(values) for values in (*places.values(), *rows.T)]
        return {
            "weights": mixture.weights.tolist(),
            "means": pa.table(dict(zip(names, means.T, strict=True))),
            "covariances": pa.table(columns, names=[*places, *names]),
        }

    def _mixture(self, fitted: Fitted) -> Mixture:
        names = self.inputs()
        means = np.column_stack([fitted["means"][name].to_numpy() for name in names])
        columns = fitted["covariances"].columns[-len(names) :]
        rows = np.column_stack([column.to_numpy() for column in columns])
        return Mixture(np.array(fitted["weights"]), means, rows.reshape(-1, len(names), len(names)))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        matrix = finite_matrix(frame, self.inputs(), "float64")
        missing = np.isnan(matrix).any(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            likely, logs = shares(self._mixture(fitted).log_densities(matrix.T, frames.kind_of(frame)))
        problem = "are so far from all components that no density is left to compare"
        refuse_overflow(np.isfinite(logs), missing, problem, self.inputs())
        places = likely.argmax(axis=0).astype("int32")
        results = {self.prediction: places, self.probability: likely.T.copy()}
        return self.target.with_columns(frame, results, fitted, missing)


_NUMBERS = 2**15
"""Features looked at together: so few that they, their halves and their slices stay in the cache of a core."""


class MixtureDesign(ProductDesign):
    """A :class:`ProductDesign` of features and a 1, in which a mixture takes steps."""

    def step(self, mixture: Mixture, floor: np.ndarray) -> tuple[Mixture, float]:
        """Return the mixture after one step, and the log-likelihood before it; every rank calls it.

        Parameters
        ----------
        floor : numpy.ndarray of shape (n,)
            What is added to the variances.
        """
        work = _Step(self, mixture) if self.kind == "cpu" else _PlainStep(self, mixture)
        likelihood, products = work.finished(self._added(work, work.length))
        return maximised(mixture, products, floor), likelihood

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
        self.length = max(_NUMBERS // len(design.bounds), 64)
        whitening = _affine(mixture)
        self.coefficients = [Coefficients.of(each, design.grid) for each in whitening]
        self.centres = _centres(mixture)
        reach = design.bounds + np.abs(self.centres).max(axis=0)
        self.slices = RowSlices.of(reach * np.sqrt(design.largest_weight), self.length, design.total)
        self.likelihoods = Split.of(self._largest(design, whitening), design.total)

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
            halves = self.grid.halves(rows.x, room)
            squares = [sum_of_squares(each.times(halves)) for each in self.coefficients]
            likely, logs = shares(_log_densities(self.mixture, squares))
            likelihood += self.likelihoods.sums(rows.weighted(logs)[None])
            for place, distances in enumerate(self._distances(rows, np.sqrt(rows.weighted(likely)))):
                products[:, place] += self.slices.products_of(distances)
        return np.concatenate([likelihood.ravel(), products.ravel()])

    def finished(self, sums: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-likelihood, and the products of each component."""
        products = sums[2:].reshape(2, *self.centres.shape, -1)
        return float(sums[0] + sums[1]), self.slices.join(products)

    def _distances(self, rows: Rows, roots: Any) -> Iterator[Any]:
        """Yield weighted distances in the units of slices."""
        units = np.ldexp(1.0, -self.slices.exponents)[:, None]
        yield from _apart(rows.x * units, self.centres[:, :, None] * units, roots)


class _PlainStep:
    """Step of a mixture on a GPU, by plain sums over fragments."""

    def __init__(self, design: MixtureDesign, mixture: Mixture) -> None:
        self.mixture, self.length = mixture, design.total
        self.whitening = matrices.to_device(_affine(mixture), "gpu")
        self.centres = matrices.to_device(_centres(mixture)[:, :, None], "gpu")

    def __call__(self, parts: Sequence[Rows]) -> np.ndarray:
        """Return the log-likelihood, and after it the products of components one by one."""
        components, width = self.whitening.shape[0], self.whitening.shape[2]
        return sum_on_gpu(parts, self._of_fragment, (1 + components * width * width,))

    def _of_fragment(self, rows: Rows) -> Any:
        squares = [np.square(each @ rows.x).sum(axis=0) for each in self.whitening]
        likely, logs = shares(_log_densities(self.mixture, squares))
        apart = _apart(rows.x, self.centres, np.sqrt(rows.weighted(likely)))
        return np.concatenate([rows.weighted(logs).sum(), *(each @ each.T for each in apart)], axis=None)

    def finished(self, sums: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-likelihood, and the products of each component."""
        width = self.whitening.shape[2]
        return float(sums[0]), sums[1:].reshape(-1, width, width)


def _affine(mixture: Mixture) -> np.ndarray:
    """Return whitening matrices of features and a 1, of shape (components, features, features + 1)."""
    last = -np.einsum("kij,kj->ki", mixture.whitening, mixture.means)
    return np.concatenate([mixture.whitening, last[:, :, None]], axis=2)


def _centres(mixture: Mixture) -> np.ndarray:
    """Return the means and a 0."""
    return np.concatenate([mixture.means, np.zeros((len(mixture.means), 1))], axis=1)


def _log_densities(mixture: Mixture, squares: Sequence[Any]) -> Any:
    """Return the logarithm of share times density of each component at each row, from its squared distance."""
    return np.stack([float(most) - each / 2 for most, each in zip(mixture.peaks, squares, strict=True)])


def _apart(x: Any, centres: Any, roots: Any) -> Iterator[Any]:
    """Yield the distances from each mean, and a 1, times the root of the share."""
    for centre, root in zip(centres, roots, strict=True):
        apart = x - centre
        apart *= root
        yield apart
