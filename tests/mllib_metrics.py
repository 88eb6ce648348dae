"""Metrics of MLlib's evaluators, all from one result: one by one, each has jobs of Spark of its own."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

_VECTORS = ("features", "probability")
_METHODS = {
    "f1": "weightedFMeasure", "rmse": "rootMeanSquaredError", "mse": "meanSquaredError", "mae": "meanAbsoluteError",
    "var": "explainedVariance",
}  # fmt: skip
_ARGUMENTS = {"weightedFMeasure": "beta", "logLoss": "eps"}
"""Parameters of the evaluator that are arguments of a metric."""


def frame_of(session: Any, columns: pa.Table | Mapping[str, Any]) -> Any:
    """Return a cached data frame of one partition; columns with the names of vectors are vectors."""
    from pyspark.ml.functions import array_to_vector

    frame = session.createDataFrame(pa.table(columns)).coalesce(1)
    for name in frame.columns:
        frame = frame.withColumn(name, array_to_vector(name)) if name in _VECTORS else frame
    return frame.cache()


def metrics_of(evaluator: Any, frame: Any, names: Iterable[str]) -> dict[str, float]:
    """Return metrics by the names that the evaluator has for them."""
    evaluator._transfer_params_to_java()
    metrics = evaluator._java_obj.getMetrics(frame._jdf)
    return {name: _metric(metrics, evaluator, name) for name in names}


def _metric(metrics: Any, evaluator: Any, name: str) -> float:
    method, parameters = _METHODS.get(name, name), [_ARGUMENTS[name]] if name in _ARGUMENTS else []
    if name.endswith("ByLabel"):
        method = name.removesuffix("ByLabel")
        parameters = ["metricLabel", "beta"] if method == "fMeasure" else ["metricLabel"]
    elif name.endswith("AtK"):
        method, parameters = name.removesuffix("K"), ["k"]
    return getattr(metrics, method)(*(evaluator.getOrDefault(each) for each in parameters))
