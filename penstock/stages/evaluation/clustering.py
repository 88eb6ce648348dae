"""How well the clusters of a dataset are apart, and agree with labels."""

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
from penstock.statistics.evaluation.cluster_labels import ClusterAgreement, ClusterLabels
from penstock.statistics.evaluation.clusters import Clusters, ClusterSums
from penstock.statistics.evaluation.silhouettes import Silhouette, Silhouettes
from penstock.statistics.points import check_distance

_SHOWN = 500


_OF_CENTRES = ("calinskiHarabasz",)
_OF_POINTS = ("silhouette", "daviesBouldin")
_OF_LABEL = ("adjustedRand", "normalizedMutualInformation", "homogeneity", "completeness", "vMeasure")


@dataclass(frozen=True)
class ClusteringEvaluator(Evaluator):
    """How well clusters are apart, and how well they agree with labels that are known; two scans.

    =============================== ========= ========== ======================================
    metric                          best      needs      scikit-learn
    =============================== ========= ========== ======================================
    ``silhouette``                  1         features   none; MLlib's, of squared distances
    ``daviesBouldin``               0         features   ``davies_bouldin_score``
    ``calinskiHarabasz``            large     features   ``calinski_harabasz_score``
    ``adjustedRand``                1         label      ``adjusted_rand_score``
    ``normalizedMutualInformation`` 1         label      ``normalized_mutual_info_score``
    ``homogeneity``                 1         label      ``homogeneity_score``
    ``completeness``                1         label      ``completeness_score``
    ``vMeasure``                    1         label      ``v_measure_score``, equal to the second above
    =============================== ========= ========== ======================================

    Parameters
    ----------
    prediction : str, default "prediction"
        The cluster of each row: whole numbers, at most 10,000 different ones; no nulls.
    features : str or sequence of str, default "features"
        Columns of numbers, or one column of lists of numbers, all of one length. No nulls, and no number beyond 1e150.
        Scale them first: distances weigh all features alike. Nobody reads them where no metric needs them.
    weight : str, optional
        Finite weights of 0 or more; without it every row weighs 1. A row of weight 2 is as two rows.
    distance_measure : {"squaredEuclidean", "cosine"}
        With the cosine distance no row may be nothing but zeros, and ``daviesBouldin`` and ``calinskiHarabasz`` are
        those of rows scaled to length 1.
    label : str, optional
        What is known of each row: strings, numbers or booleans, at most 10,000 different ones; no nulls.
    metrics : sequence of str, optional
        Those of the features, and with a label those too, unless given.

    Raises
    ------
    ConfigError
        No features, a distance that is not known, or a metric that needs a label without one.

    Notes
    -----
    The silhouette is that of MLlib's evaluator, which is not scikit-learn's ``silhouette_score``: see
    `penstock.statistics.evaluation.silhouettes`. Metrics of features are None, with a reason, where fewer than two
    clusters have weight. Slices and replicates of a bootstrap compare their rows with the clusters of all rows, but for
    ``calinskiHarabasz``, which is of their own. ``silhouette`` and ``daviesBouldin`` take a second scan. The table
    ``clusters``, which comes with them, has of the 500 heaviest clusters ``prediction``, ``weight`` and ``silhouette``
    (its mean over the cluster; null without one).

    Examples
    --------
    >>> import penstock as ps
    >>> table = pa.table({"prediction": [0, 0, 1, 1], "x": [0.0, 1.0, 8.0, 9.0], "kind": ["a", "a", "b", "c"]})
    >>> data = ps.LocalEngine(device="cpu").from_arrow(table)
    >>> found = ClusteringEvaluator(features=["x"], label="kind").evaluate(data)
    >>> round(found["silhouette"], 4), found["daviesBouldin"], found["calinskiHarabasz"], found["completeness"]
    (0.9843, 0.125, 128.0, 1.0)
    """

    prediction: str = "prediction"
    features: str | Sequence[str] = "features"
    weight: str | None = None
    distance_measure: str = "squaredEuclidean"
    label: str | None = None
    larger_better: ClassVar[Mapping[str, bool]] = {
        "silhouette": True,
        "daviesBouldin": False,
        "calinskiHarabasz": True,
        **dict.fromkeys(_OF_LABEL, True),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distance(self.distance_measure)
        if not isinstance(self.features, str):
            names = column_names(self.features, f"features of {self.title}", stage=self.title)
            object.__setattr__(self, "features", names)
        if not self.features:
            raise ConfigError(f"features of {self.title} is empty, expected columns", stage=self.title)
        if self.label is None and (missing := [name for name in self.metrics or () if name in _OF_LABEL]):
            raise ConfigError(f"metric {missing[0]!r} needs a column, but label is None", stage=self.title)

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics that it reports: those of labels only where there is one."""
        known = (name for name in self.larger_better if self.label is not None or name not in _OF_LABEL)
        return self.metrics or tuple(known)

    def _asks(self, metrics: Sequence[str]) -> bool:
        return any(name in self.names for name in metrics)

    @property
    def _features(self) -> tuple[str, ...]:
        """The columns of features, none where no metric needs them."""
        features = (self.features,) if isinstance(self.features, str) else tuple(self.features)
        return features if self._asks((*_OF_POINTS, *_OF_CENTRES)) else ()

    @property
    def _labels(self) -> tuple[str, ...]:
        return (self.label,) if self.label is not None and self._asks(_OF_LABEL) else ()

    def columns(self) -> tuple[str, ...]:
        """Return the cluster, the features, the label, and the weight, as far as they are needed."""
        return tuple(dict.fromkeys((self.prediction, *self._features, *self._labels, *self._weights)))

    def bind(self, schema: pa.Schema) -> Self:
        """Return the evaluator, checked against the columns to evaluate.

        Raises
        ------
        SchemaError
            A column is missing, the clusters or weights are not numbers, the label is of another type than those it
            takes, or the features are neither numbers nor one column of lists of numbers.
        """
        require(schema, self.columns(), stage=self.title)
        kinds = {name: schema.field(name).type for name in self.columns()}
        for name in (self.prediction, *self._weights):
            if not is_number(kinds[name]):
                raise wrong_type(self.title, name, kinds[name], "numbers", CONVERT)
        for name in self._labels:
            if not (is_numeric(kinds[name]) or pa.types.is_string(kinds[name])):
                raise wrong_type(self.title, name, kinds[name], "strings, numbers and booleans as a label", CONVERT)
        self._check_features({name: kinds[name] for name in self._features})
        return self

    def _check_features(self, kinds: Mapping[str, pa.DataType]) -> None:
        if len(kinds) == 1 and _is_vector(next(iter(kinds.values()))):
            return
        for name, kind in kinds.items():
            if not is_numeric(kind):
                expected = "columns of numbers, or one of lists of numbers, as features"
                raise wrong_type(self.title, name, kind, expected, CONVERT)

    @property
    def _of_points(self) -> tuple[tuple[str, ...], bool, str]:
        """What statistics of points are made of."""
        columns = (self.prediction, *self._features, *self._weights)
        return columns, self.weight is not None, self.distance_measure

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Return centres and variances, whose state grows with clusters times features, and pairs with labels."""
        wanted: dict[str, Statistic] = {"clusters": ClusterSums(*self._of_points)} if self._features else {}
        columns = (self.prediction, *self._labels, *self._weights)
        return {**wanted, "labels": ClusterLabels(columns)} if self._labels else wanted

    def follow_up(self, schema: pa.Schema, results: Mapping[str, Any]) -> dict[str, Statistic]:
        """Return the silhouettes, once there are at least two clusters."""
        if not self._asks(_OF_POINTS) or results["clusters"].reason:
            return {}
        return {"silhouette": Silhouettes(*self._of_points, clusters=results["clusters"])}

    def finish(self, results: Mapping[str, Any]) -> Evaluation:
        """Return the metrics asked for."""
        values: dict[str, float | None] = {}
        reasons: dict[str, str | None] = {}
        tables: dict[str, pa.Table] = {}
        if "clusters" in results:
            clusters: Clusters = results["clusters"]
            found: Silhouette | None = results.get("silhouette")
            values = {"calinskiHarabasz": clusters.calinski_harabasz, **dict.fromkeys(_OF_POINTS)}
            reasons = {
                "calinskiHarabasz": clusters.calinski_harabasz_reason,
                **dict.fromkeys(_OF_POINTS, clusters.reason),
            }
            if found is not None:
                values |= {"silhouette": found.mean, "daviesBouldin": found.davies_bouldin}
                reasons |= {"silhouette": found.reason, "daviesBouldin": found.davies_bouldin_reason}
            tables = {"clusters": _shown(clusters, found)} if self._asks(_OF_POINTS) else {}
        if "labels" in results:
            values |= _agreement(results["labels"])
            reasons |= dict.fromkeys(_OF_LABEL, results["labels"].reason)
        return self.report(values, reasons, tables=tables)


def _agreement(found: ClusterAgreement) -> dict[str, float | None]:
    shared = found.v_measure
    of_label = (found.adjusted_rand, shared, found.homogeneity, found.completeness, shared)
    return dict(zip(_OF_LABEL, of_label, strict=True))


def _shown(clusters: Clusters, found: Silhouette | None) -> pa.Table:
    """Return the heaviest clusters, and their silhouettes if there are some."""
    if found is None:
        ids, weight, silhouette = clusters.ids, clusters.weight, pa.nulls(len(clusters.ids), pa.float64())
    else:
        ids, weight, silhouette = found.ids, found.weight, pa.array(found.by_cluster)
    table = pa.table({"prediction": ids, "weight": weight, "silhouette": silhouette})
    return table.take(np.sort(np.argsort(-weight, kind="stable")[:_SHOWN]))


def _is_vector(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests) and is_number(kind.value_type)
