"""How well the clusters of a dataset are apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.names import column_names
from penstock.core.schemas import require
from penstock.core.selectors import is_numeric
from penstock.stages.base import wrong_type
from penstock.stages.evaluation.base import CONVERT, Evaluator
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.shapes import is_number
from penstock.statistics.base import Statistic
from penstock.statistics.evaluation.clusters import Clusters, ClusterSums, Silhouette, Silhouettes
from penstock.statistics.points import check_distance

_SHOWN = 500


@dataclass(frozen=True)
class ClusteringEvaluator(Evaluator):
    """``silhouette``: how much nearer rows are to their own cluster than to the next one; two scans.

    Parameters
    ----------
    prediction : str, default "prediction"
        The cluster of each row: whole numbers, at most 10,000 different ones; no nulls.
    features : str or sequence of str, default "features"
        Columns of numbers, or one column of lists of numbers, all of one length. No nulls, and no number beyond 1e150.
        Scale them first: distances weigh all features alike.
    weight : str, optional
        Finite weights of 0 or more; without it every row weighs 1.
    distance_measure : {"squaredEuclidean", "cosine"}
        With the cosine distance no row may be nothing but zeros.
    metrics : sequence of str, optional
        There is one.

    Raises
    ------
    ConfigError
        No features, or a distance that is not known.

    Notes
    -----
    The value is that of MLlib's evaluator, which is not scikit-learn's ``silhouette_score``: see
    `penstock.statistics.Silhouettes`. It is None, with a reason, where fewer than two clusters have weight. Slices and
    replicates of a bootstrap compare their rows with the clusters of all rows. The table ``clusters`` has, of the 500
    heaviest clusters, ``prediction``, ``weight`` and ``silhouette`` (its mean over the cluster; null without one).

    Examples
    --------
    >>> import penstock as ps
    >>> table = pa.table({"prediction": [0, 0, 1, 1], "x": [0.0, 1.0, 8.0, 9.0]})
    >>> found = ClusteringEvaluator(features=["x"]).evaluate(ps.LocalEngine(device="cpu").from_arrow(table))
    >>> round(found["silhouette"], 4)
    0.9843
    """

    prediction: str = "prediction"
    features: str | Sequence[str] = "features"
    weight: str | None = None
    distance_measure: str = "squaredEuclidean"
    larger_better: ClassVar[Mapping[str, bool]] = {"silhouette": True}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distance(self.distance_measure)
        if not isinstance(self.features, str):
            names = column_names(self.features, f"features of {self.title}", stage=self.title)
            object.__setattr__(self, "features", names)
        if not self.features:
            raise ConfigError(f"features of {self.title} is empty, expected columns", stage=self.title)

    def columns(self) -> tuple[str, ...]:
        """Return the cluster, the features, and the weight if there is one."""
        features = (self.features,) if isinstance(self.features, str) else self.features
        return (self.prediction, *features, *self._weights)

    def bind(self, schema: pa.Schema) -> Self:
        """Return the evaluator, checked against the columns to evaluate.

        Raises
        ------
        SchemaError
            A column is missing, the clusters or weights are not numbers, or the features are neither numbers nor one
            column of lists of numbers.
        """
        require(schema, self.columns(), stage=self.title)
        features = self.columns()[1 : -1 if self.weight is not None else None]
        kinds = {name: schema.field(name).type for name in self.columns()}
        for name, kind in kinds.items():
            if name not in features and not is_number(kind):
                raise wrong_type(self.title, name, kind, "numbers", CONVERT)
        if len(features) == 1 and _is_vector(kinds[features[0]]):
            return self
        for name in features:
            if not is_numeric(kinds[name]):
                expected = "columns of numbers, or one of lists of numbers, as features"
                raise wrong_type(self.title, name, kinds[name], expected, CONVERT)
        return self

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return the clusters' centres and variances; their state grows with clusters times features."""
        return {"clusters": ClusterSums(self.columns(), self.weight is not None, self.distance_measure)}

    def follow_up(self, schema: pa.Schema, results: Mapping[str, Any]) -> dict[str, Statistic]:
        """Return the silhouettes, once there are at least two clusters."""
        clusters: Clusters = results["clusters"]
        if clusters.reason:
            return {}
        weighted = self.weight is not None
        return {"silhouette": Silhouettes(self.columns(), weighted, self.distance_measure, clusters=clusters)}

    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the silhouette."""
        clusters: Clusters = results["clusters"]
        found: Silhouette | None = results.get("silhouette")
        if found is None:
            none = pa.nulls(len(clusters.ids), pa.float64())
            return self._shown(None, clusters.reason, clusters.ids, clusters.weight, none)
        return self._shown(found.mean, found.reason, found.ids, found.weight, pa.array(found.by_cluster))

    def _shown(
        self, mean: float | None, reason: str | None, ids: np.ndarray, weight: np.ndarray, silhouette: pa.Array
    ) -> Evaluation:
        table = pa.table({"prediction": ids, "weight": weight, "silhouette": silhouette})
        heaviest = np.sort(np.argsort(-weight, kind="stable")[:_SHOWN])
        return self.report({"silhouette": mean}, {"silhouette": reason}, tables={"clusters": table.take(heaviest)})


def _is_vector(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests) and is_number(kind.value_type)
