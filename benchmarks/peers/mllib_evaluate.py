"""MLlib: an evaluator takes one metric, so one call each; by their defaults, on rows read anew or kept by Spark."""

from __future__ import annotations

import math
import sys
import time
from functools import partial
from typing import Any

from pyspark.ml import evaluation as ml
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.functions import array_to_vector
from pyspark.sql import DataFrame, SparkSession

from benchmarks.contenders import METRICS
from benchmarks.measure import measured, report
from benchmarks.peers.mllib_prepare import session

_CLASSES = {"labelCol": "class_label", "predictionCol": "class_prediction"}
EVALUATORS = {
    "binary": ml.BinaryClassificationEvaluator,
    "regression": partial(ml.RegressionEvaluator, labelCol="amount", predictionCol="predicted"),
    "classes": partial(ml.MulticlassClassificationEvaluator, probabilityCol="class_probability", **_CLASSES),
    "tags": partial(ml.MultilabelClassificationEvaluator, labelCol="tags", predictionCol="predicted_tags"),
    "clusters": partial(ml.ClusteringEvaluator, predictionCol="cluster"),
    "ranking": partial(ml.RankingEvaluator, labelCol="relevant", predictionCol="ranked"),
}
_BINNED = 1e-3  # how far the binary metrics may be from the exact ones by default, where scores are put into bins


def prepared(scored: DataFrame, metric: str) -> DataFrame:
    """Return the rows with the vector that a metric needs, if any."""
    if metric == "logLoss":
        return scored.withColumn("class_probability", array_to_vector("class_probability"))
    if metric == "silhouette":
        return VectorAssembler(inputCols=["f0", "f1", "f2", "f3"], outputCol="features").transform(scored)
    return scored


def read(spark: SparkSession, data: str, *, keep: bool) -> DataFrame:
    scored = spark.read.parquet(f"{data}/*.parquet")
    return scored.persist() if keep else scored


def evaluate(scored: DataFrame) -> dict[str, tuple[float, float]]:
    """Return each metric and the seconds that it took."""
    found = {}
    for kind, metrics in METRICS.items():
        for metric in metrics:
            began = time.perf_counter()
            value = EVALUATORS[kind](metricName=metric).evaluate(prepared(scored, metric))
            found[f"{kind}.{metric}"] = value, time.perf_counter() - began
    return found


def exact(scored: DataFrame, binned: dict[str, float]) -> dict[str, float]:
    """Return the binary metrics without bins, which are not timed; fail where the bins moved them too far."""
    found = {}
    for metric in METRICS["binary"]:
        name = f"binary.{metric}"
        found[name] = ml.BinaryClassificationEvaluator(metricName=metric, numBins=0).evaluate(scored)
        if not math.isclose(found[name], binned[name], abs_tol=_BINNED):
            raise SystemExit(f"{name} is {binned[name]} by default and {found[name]} without bins")
    return found


def rows_read(spark: SparkSession) -> int:
    """Return how many rows all stages so far have read from files; what Spark keeps counts in batches, so hardly."""
    context, java = spark.sparkContext, spark._jvm
    no_quantiles, no_statuses = context._gateway.new_array(java.double, 0), java.java.util.ArrayList()
    stages = context._jsc.sc().statusStore().stageList(None, False, False, no_quantiles, no_statuses)
    return sum(stages.apply(place).inputRecords() for place in range(stages.size()))


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    keep = name.endswith(".cached")
    evaluate(read(spark, warm_up, keep=keep))
    spark.catalog.clearCache()
    started, before = time.perf_counter() - began, rows_read(spark)
    with measured() as cost:
        scored = read(spark, data, keep=keep)
        found = evaluate(scored)
    details: dict[str, Any] = {"scans": (rows_read(spark) - before) / scored.count()}
    values = {metric: value for metric, (value, _) in found.items()}
    details["seconds_of"] = {metric: seconds for metric, (_, seconds) in found.items()}
    details["binned"] = {metric: values[metric] for metric in values if metric.startswith("binary.")}
    report(started, cost, values | exact(scored, values), details)


if __name__ == "__main__":
    main(*sys.argv[1:4])
