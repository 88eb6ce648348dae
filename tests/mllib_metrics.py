"""Metrics of MLlib's evaluators of one object for all of them: asked one by one, each has jobs of Spark of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

_VECTORS = ("features", "probability")
_OTHERWISE_CALLED = {
    "f1": "weightedFMeasure", "rmse": "rootMeanSquaredError", "mse": "meanSquaredError", "mae": "meanAbsoluteError",
    "var": "explainedVariance",
}  # fmt: skip
_WITH = {"weightedFMeasure": "beta", "logLoss": "eps"}
"""Parameters of the evaluator that are arguments of a metric."""


def frame_of(session: Any, columns: pa.Table | Mapping[str, Any]) -> Any:
    """Return columns as rows that are kept in one partition, and as vectors those with the names of vectors."""
    from pyspark.ml.functions import array_to_vector

    frame = session.createDataFrame(pa.table(columns)).coalesce(1)
    for name in frame.columns:
        frame = frame.withColumn(name, array_to_vector(name)) if name in _VECTORS else frame
    return frame.cache()


def metrics_of(evaluator: Any, frame: Any, names: Iterable[str]) -> dict[str, float]:
    """Return the metrics by their names for an evaluator."""
    evaluator._transfer_params_to_java()
    told = evaluator._java_obj.getMetrics(frame._jdf)
    return {name: _asked(told, evaluator, name) for name in names}


def _asked(told: Any, evaluator: Any, name: str) -> float:
    if name.endswith("ByLabel"):
        parameters, method = (
            ["metricLabel", *(["beta"] if name == "fMeasureByLabel" else [])],
            name.removesuffix("ByLabel"),
        )
    elif name.endswith("AtK"):
        parameters, method = ["k"], name.removesuffix("K")
    else:
        parameters, method = [_WITH[name]] if name in _WITH else [], _OTHERWISE_CALLED.get(name, name)
    return getattr(told, method)(*(evaluator.getOrDefault(each) for each in parameters))
