"""MLlib: one model of the measurements, on features read anew for each pass or kept by Spark."""

from __future__ import annotations

import sys
import time
from typing import Any

from pyspark.ml.classification import LogisticRegression
from pyspark.ml.clustering import KMeans
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.regression import LinearRegression
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import DataFrame, SparkSession

from benchmarks.contenders import CORES, FEATURES, FOLDS, HYPERPARAMETERS, REG_PARAMS
from benchmarks.measure import measured, report
from benchmarks.peers.mllib_evaluate import rows_read
from benchmarks.peers.mllib_prepare import session

BESIDES = {"linear": ["amount"], "logistic": ["label"], "kmeans": [], "ridge_cv": ["amount", "fold"]}


def _parameters(work: str) -> dict[str, Any]:
    """Return the hyperparameters under MLlib's names."""
    words = {name: name.split("_") for name in HYPERPARAMETERS[work]}
    return {
        first + "".join(map(str.capitalize, rest)): HYPERPARAMETERS[work][name]
        for name, (first, *rest) in words.items()
    }


def _ridge_cv() -> CrossValidator:
    ridge = LinearRegression(labelCol="amount", elasticNetParam=0.0)
    return CrossValidator(
        estimator=ridge,
        estimatorParamMaps=ParamGridBuilder().addGrid(ridge.regParam, list(REG_PARAMS)).build(),
        evaluator=RegressionEvaluator(labelCol="amount", metricName="rmse"),
        numFolds=FOLDS,
        foldCol="fold",
        parallelism=CORES,
    )


def estimator(work: str) -> Any:
    if work == "linear":
        return LinearRegression(labelCol="amount", **_parameters(work))
    if work == "logistic":
        return LogisticRegression(labelCol="label", **_parameters(work))
    return KMeans(**_parameters(work)) if work == "kmeans" else _ridge_cv()


def train(spark: SparkSession, data: str, work: str, *, keep: bool) -> Any:
    """Return the model; `keep` has the rows that it learns from persisted, as vectors."""
    measurements = spark.read.parquet(f"{data}/*.parquet")
    assembled = VectorAssembler(inputCols=FEATURES, outputCol="features").transform(measurements)
    rows: DataFrame = assembled.select("features", *BESIDES[work])
    return estimator(work).fit(rows.persist() if keep else rows)


def answer(work: str, model: Any) -> dict[str, Any]:
    if work == "kmeans":
        return {"centres": [list(map(float, centre)) for centre in model.clusterCenters()]}
    linear = model.bestModel if work == "ridge_cv" else model
    found = {"coefficients": list(map(float, linear.coefficients)), "intercept": linear.intercept}
    chosen = {"reg_param": linear.getRegParam(), "mean_rmse": list(model.avgMetrics)} if work == "ridge_cv" else {}
    return found | chosen


def details(work: str, model: Any) -> dict[str, Any]:
    if work == "kmeans":
        return {"iterations": model.summary.numIter, "cost": model.summary.trainingCost}
    return {"iterations": model.summary.totalIterations} if work == "logistic" else {}


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    kind, _, work = name.rpartition(".")
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    keep = kind.endswith(".cached")
    train(spark, warm_up, work, keep=keep)
    spark.catalog.clearCache()
    started, before = time.perf_counter() - began, rows_read(spark)
    with measured() as cost:
        model = train(spark, data, work, keep=keep)
    found = details(work, model)
    if work != "kmeans":  # it keeps rows of its own, and Spark counts those as read, too
        found["scans"] = (rows_read(spark) - before) / spark.read.parquet(f"{data}/*.parquet").count()
    report(started, cost, answer(work, model), found)


if __name__ == "__main__":
    main(*sys.argv[1:4])
