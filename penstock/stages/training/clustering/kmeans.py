"""k-means: clusters around centres, by Lloyd's algorithm from the seeds of k-means||."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import reduce
from operator import and_
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.core.selectors import Columns
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted, Tags
from penstock.stages.onnx_graph import OnnxGraph
from penstock.stages.parameter_checks import added_later, checked_by, in_range, one_of
from penstock.stages.shapes import Fields, Integer, ListOf, Number, Shape, TableOf
from penstock.stages.target import Target, largest_weight
from penstock.stages.trainer import Trainer
from penstock.stages.training.clustering import _lloyd, _seeding
from penstock.stages.training.clustering._clusters import Clusters, PlainClusters
from penstock.stages.training.clustering._seeding import centres_of, has_origin, plain_centres
from penstock.stages.training.exact.binary_scaling import rounded_mean
from penstock.stages.training.exact.design import one_blas_thread
from penstock.statistics import Extreme, Extremes, Moment, Moments, Statistic
from penstock.statistics.checks import Checks
from penstock.statistics.points import DISTANCES
from penstock.statistics.rules import LARGE, refuse, rules_for, valid_rows


@dataclass(frozen=True)
class KMeans(Trainer):
    """Gives each row the number of the nearest of k centres, an int32, and learns these by Lloyd's algorithm.

    Parameters
    ----------
    features : str, sequence of str, or Selector, optional
        Columns of numbers or booleans (0 and 1); all but the weight, unless given.
    k : int, default=2
        Clusters, at least 2. There are fewer when fewer points than k are different, as in MLlib.
    weight : str, optional
        Column of row weights, not negative, without null; a row of weight 0 is left out.
    init_mode : {"k-means||", "random"}
        How centres begin; "random" takes k rows.
    init_steps : int, default=2
        Steps of k-means||, in each of which about 2 k candidates are drawn.
    init : array of shape (k, n_features), or table or mapping with a column for each feature, optional
        Centres to begin with in place of those, as scikit-learn's: the ``centres`` of another model, say.
    max_iter : int, default=20
        Rounds at most.
    tol : float, default=1e-4
        Stop once no centre moves further, by the Euclidean distance; or by one minus the cosine, with that measure.
        MLlib's: scikit-learn's is relative to the variance of the data.
    seed : int, default=0
    distance_measure : {"squaredEuclidean", "cosine"}
        With "cosine", one minus the cosine of the angle between row and centre: rows count by their directions, and
        centres have length 1.
    prediction : str
        Name of the column of clusters, from 0.
    distance : str, optional
        Name of a float64 column to add: the distance from the centre, in the distance measure.

    Raises
    ------
    ConfigError, SchemaError
        Before reading: a parameter is out of range, a column is missing or not numeric.
    EmptyInputError
        At fit: there is no row.
    DataValueError
        At fit: a feature is null, infinite or larger than 1e150; a weight is null, infinite or negative, or all are 0;
        a row is all zero and the measure is "cosine". In `transform`: the same, but for null, whose row has a null
        cluster. Column, count and, at fit, the first file and row are told.

    Notes
    -----
    Learned are ``centres`` (a table, one row a cluster, one column a feature), ``sizes`` (rows of each cluster),
    ``cost`` (weighted sum of the rows' distances from their centres, in the distance measure), ``iterations``, and
    ``origin``, which is subtracted from rows and centres before they are compared. A cluster that loses all of its rows
    keeps its centre, as in MLlib; of equally near centres the first has the row.

    The same rows in the same order give the same model to the bit, whatever the engine, the fragments and the number of
    ranks. Of up to 10,000 rows k-means|| draws none and takes all as candidates: then not even their order matters.

    Each rank reads its rows once and keeps them as float64, 8 bytes a value: in float32 rows that are nearly as near to
    two centres would change sides. A round is one pass over them and one all-reduce. Rows on a GPU stay there: the host
    sees candidates, centres and sums of clusters, which are not exact there. The model is that of a CPU to 1e-9.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 9.0, 1.0, 11.0]}))
    >>> model = ps.Pipeline(st.KMeans("x", k=2)).fit(data)
    >>> sorted(model.fitted[0]["centres"]["x"].to_pylist()), model.fitted[0]["cost"]
    ([0.5, 10.0], 2.5)
    """

    features: Columns | None = None
    _: KW_ONLY
    k: int = field(default=2, metadata=in_range(least=2, whole=True))
    weight: str | None = None
    init_mode: str = field(default="k-means||", metadata=one_of("k-means||", "random"))
    init_steps: int = field(default=2, metadata=in_range(least=1, whole=True))
    init: Any = field(default=None, metadata=added_later(checked_by(plain_centres)))
    max_iter: int = field(default=20, metadata=in_range(least=0, whole=True))
    tol: float = field(default=1e-4, metadata=in_range(least=0))
    seed: int = field(default=0, metadata=in_range(whole=True))
    distance_measure: str = field(default="squaredEuclidean", metadata=one_of(*DISTANCES))
    prediction: str = "prediction"
    distance: str | None = None

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.init is not None and self.init_mode != "k-means||":
            problem = f"init_mode of {self.title} is {self.init_mode!r}, and there are centres in init"
            raise ConfigError(problem, hint="Pass one of them.", stage=self.title)
        if self.init is not None and self._by_angle and has_origin(self.init):
            problem = (
                f"init of {self.title} has a centre of nothing but 0, and the distance is the cosine of directions"
            )
            raise ConfigError(problem, hint="Leave it out.", stage=self.title)

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        if self.init is not None and not any(pa.types.is_list(schema.field(name).type) for name in bound.inputs()):
            centres_of(self.init, bound.inputs(), self.title)
        return bound

    @property
    def _by_angle(self) -> bool:
        return self.distance_measure == "cosine"

    @property
    def target(self) -> Target:
        distance = {self.distance: pa.float64()} if self.distance else {}
        return Target(None, {self.prediction: pa.int32(), **distance})

    def _checks(self) -> Checks:
        """Return what is checked over all rows before training; `Moments` refuses infinities besides."""
        weight = rules_for(self._weights, "null", "infinite", "negative")
        return Checks((*rules_for(self.inputs(), "null", "too_large"), *weight))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        spread = {"moments": Moments(self.inputs()), "extremes": Extremes(self.training_columns())}
        return {"checks": self._checks(), **spread}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return the origin, and how far values are from it at most."""
        results["checks"].refuse()
        extremes, names = results["extremes"], self.inputs()
        moved = {} if self._by_angle else {name: _origin(results["moments"][name]) for name in names}
        origin = [moved.get(name, 0.0) for name in names]
        largest = [_reach(extremes[name], centre) for name, centre in zip(names, origin, strict=True)]
        start = {} if self.init is None else {"start": centres_of(self.init, names, self.title)}
        weight = largest_weight(self.weight, extremes)
        return {"origin": origin, "largest": largest, "largest_weight": weight, **start}

    def without_start(self) -> Self:
        return replace(self, init=None)

    def start_from(self, learned: Fitted, before: Fitted) -> Fitted:
        """Return what to move the centres of before with."""
        return {**learned, "start": np.column_stack([before["centres"][name] for name in self.inputs()]).tolist()}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        names = self.inputs()
        centres = TableOf(dict.fromkeys(names, pa.types.is_floating), least=1)
        told = {"sizes": ListOf(Integer()), "cost": Number(), "iterations": Integer()}
        return Fields({"centres": centres, "origin": ListOf(Number(), len(names))}, told)

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        key = type(self), self.inputs(), self.weight, self._by_angle, tuple(learned["origin"])
        vectors, weight = rank.prepared(key, lambda: self._read(rank, np.array(learned["origin"])))
        largest = np.ones(len(learned["origin"])) if self._by_angle else self._reach(learned)
        with one_blas_thread():
            points = _lloyd.Points.of(rank, vectors, weight, largest, learned["largest_weight"])
            centres, rounds = self._iterate(rank, points, np.array(learned["origin"]), learned.get("start"))
            found = _lloyd.sizes_and_costs(rank, points, centres - learned["origin"])
        return {
            "centres": pa.table(dict(zip(self.inputs(), centres.T.copy(), strict=True))),
            "origin": learned["origin"],
            "sizes": [int(rows) for rows in found[:, 0]],
            "cost": float(found[:, 1].sum() * self._scale),
            "iterations": rounds,
        }

    def _reach(self, learned: Fitted) -> np.ndarray:
        """Return how far from the origin values are at most, and the centres to begin with, which may be elsewhere."""
        start = np.array(learned.get("start", [learned["origin"]]))
        return np.maximum(learned["largest"], np.abs(start - learned["origin"]).max(axis=0))

    @property
    def _scale(self) -> float:
        """Of two directions half of the squared distance is one minus their cosine."""
        return 0.5 if self._by_angle else 1.0

    def _read(self, rank: Rank, origin: np.ndarray) -> tuple[Any, Any]:
        """Return this rank's rows, checked before, and their weights, on its device."""

        def convert(frame: nw.DataFrame) -> tuple[Any, Any]:
            vectors = self._vectors(frame)
            if self.weight is None:
                return vectors, np.ones_like(vectors[0], dtype="float64")
            weight = matrices.to_matrix(frame, (self.weight,), "float64")[:, 0]
            return vectors[:, weight > 0], weight[weight > 0]

        batches = list(rank.batches("train", self.training_columns(), convert))
        weight = np.concatenate([matrices.empty(0, rank.kind), *(part for _, part in batches)])
        start = matrices.to_device(origin[:, None], rank.kind)
        return _stacked(batches, start, matrices.empty((len(origin), len(weight)), rank.kind)), weight

    def _begin(
        self, rank: Rank, points: _lloyd.Points, origin: np.ndarray, start: Sequence[Sequence[float]] | None
    ) -> tuple[np.ndarray, int]:
        """Return the centres to begin with, and how many rounds there were before."""
        if rank.checkpoint is not None:
            return np.frombuffer(rank.checkpoint.data).reshape(-1, len(origin)), rank.checkpoint.rounds
        if start is not None:
            centres = np.array(start, dtype=np.float64)
            return (_lloyd.directed(centres.T).T if self._by_angle else centres), 0
        options = {"k": self.k, "init_mode": self.init_mode, "init_steps": self.init_steps, "seed": self.seed}
        return _seeding.seeds(rank, points, **options) + origin, 0  # type: ignore[arg-type]

    def _iterate(
        self, rank: Rank, points: _lloyd.Points, origin: np.ndarray, start: Sequence[Sequence[float]] | None
    ) -> tuple[np.ndarray, int]:
        """Return the centres and the number of rounds; centres are rounded as they are stored, before they are used."""
        centres, rounds = self._begin(rank, points, origin, start)
        clusters = Clusters(points) if points.kind == "cpu" else PlainClusters(points)
        while rounds < self.max_iter:
            before, centres, rounds = centres, self._moved(rank, clusters, centres - origin) + origin, rounds + 1
            squared = float(_lloyd.squared_distances(before.T, centres.T).max())
            furthest = squared / 2 if self._by_angle else math.sqrt(squared)
            rank.report(rounds, f"centres moved {furthest:.3g}")
            if furthest <= self.tol:
                break
            if rounds % rank.checkpoint_interval == 0 and rounds < self.max_iter:
                rank.save(rounds, centres.tobytes())
        return centres, rounds

    def _moved(self, rank: Rank, clusters: Clusters | PlainClusters, centres: np.ndarray) -> np.ndarray:
        """Return the means of the clusters; of directions, their direction, unless they cancel."""
        found = clusters.means(rank, centres)
        if not self._by_angle:
            return found
        found = np.where(found.any(axis=1, keepdims=True), found, centres)
        return _lloyd.directed(found.T).T

    def _vectors(self, frame: nw.DataFrame) -> Any:
        """Return the rows as columns of a matrix, NaN for null; float64, of length 1, where angles count."""
        vectors = matrices.to_rows(frame, self.inputs(), narrow=not self._by_angle)
        largest = min(LARGE, float(np.finfo(vectors.dtype).max))
        if bool((vectors > largest).any()) or bool((vectors < -largest).any()):
            checks = rules_for(self.inputs(), "infinite", "too_large")
            refuse(checks, valid_rows(frame, checks)[1])
        if not self._by_angle:
            return vectors
        if zeros := int((vectors == 0).all(axis=0).sum()):
            raise _without_direction(self.inputs(), zeros)
        return _lloyd.directed(vectors)

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        rows, origin = graph.numbers(self.inputs()), np.array(fitted["origin"])
        if self._by_angle:
            squares = graph.sum(graph.add("Mul", rows, rows))
            rows = graph.add("Div", rows, graph.add("Sqrt", squares))
        centres = np.column_stack([fitted["centres"][name].to_numpy() for name in self.inputs()]) - origin
        apart = graph.add(
            "Sub",
            graph.add("Unsqueeze", graph.add("Sub", rows, graph.constant(origin)), graph.axes(1)),
            graph.constant(centres[None]),
        )
        distances = graph.sum(graph.add("Mul", apart, apart), axis=2, keep=False)
        place = graph.add("ArgMin", distances, dtype="int64", axis=1, keepdims=1)
        graph.assign({self.prediction: graph.cast(place, "int32")})
        if self.distance:
            nearest = graph.sum(distances, "ReduceMin")
            graph.assign({self.distance: graph.add("Mul", nearest, graph.constant(self._scale))})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        vectors = self._vectors(frame)
        missing = np.isnan(vectors).any(axis=0)
        origin = np.array(fitted["origin"])
        kind = frames.kind_of(frame)
        centres = np.column_stack([fitted["centres"][name].to_numpy() for name in self.inputs()]) - origin
        centres = matrices.to_device(centres, kind)
        vectors = np.where(missing, 1.0, vectors) - matrices.to_device(origin[:, None], kind)
        found = _lloyd.assigned(vectors, centres, kind)
        results = {self.prediction: found.astype("int32")}
        if self.distance:
            results[self.distance] = _lloyd.squared_distances(vectors, centres.T.take(found, axis=1)) * self._scale
        return self.target.with_columns(frame, results, fitted, missing)


def _origin(moment: Moment) -> float:
    """Return the mean, without its last digits where values differ: they depend on how rows are cut to fragments."""
    return rounded_mean(moment) if moment.std() else moment.mean or 0.0


def _reach(extreme: Extreme, origin: float) -> float:
    return max(float(extreme.max) - origin, origin - float(extreme.min), 0.0)


def _stacked(batches: list[tuple[Any, Any]], origin: Any, whole: Any) -> Any:
    """Return `whole`, filled with the vectors of all batches less the origin; each batch is freed as it is copied."""
    end = whole.shape[1]
    while batches:
        part, _ = batches.pop()
        np.subtract(part, origin, out=whole[:, end - part.shape[1] : end])
        end -= part.shape[1]
    return whole


def _without_direction(columns: tuple[str, ...], count: int) -> DataValueError:
    """Return the error of the evaluator of clusters for the same rows."""
    names = ", ".join(map(repr, columns))
    return DataValueError(
        f"columns {names}: {count} row(s) of nothing but 0, expected a direction: the distance is the cosine one",
        hint="Clean, fill or filter these rows before this step.",
        predicate=reduce(and_, [nw.col(name).cast(nw.Float64) == 0 for name in columns]),
        column=columns[0] if len(columns) == 1 else None,
    )
