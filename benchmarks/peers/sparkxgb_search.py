"""xgboost.spark: CrossValidator over SparkXGBClassifier on prepared rows, a worker a core, one model at a time."""

from __future__ import annotations

import sys
import time
from typing import Any

from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.tuning import CrossValidator
from xgboost.spark import SparkXGBClassifier

from benchmarks.contenders import BINS, CATEGORIES, CORES, COUNTS, FOLD, METRIC, ROUNDS
from benchmarks.measure import measured, report
from benchmarks.peers.mllib_prepare import session
from benchmarks.searched import folds, settings


def search(spark: Any, data: str, rounds: int) -> list[float]:
    """Return the mean of the metric of each setting; more than one model at a time has no workers left."""
    classifier = SparkXGBClassifier(
        features_col=[*COUNTS, *CATEGORIES],
        label_col="label",
        num_workers=CORES,
        n_estimators=rounds,
        max_bin=BINS,
        tree_method="hist",
    )
    grid: list[dict[Any, Any]] = [
        {classifier.getParam(name): value for name, value in each.items()} for each in settings("boosted")
    ]
    model = CrossValidator(
        estimator=classifier,
        estimatorParamMaps=grid,
        evaluator=BinaryClassificationEvaluator(labelCol="label", metricName=METRIC),
        numFolds=folds(),
        foldCol=FOLD,
        parallelism=1,
    ).fit(spark.read.parquet(f"{data}/*.parquet"))
    return list(model.avgMetrics)


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.read.parquet(f"{warm_up}/*.parquet")
    SparkXGBClassifier(features_col=COUNTS, label_col="label", num_workers=CORES, n_estimators=2).fit(rows)
    started = time.perf_counter() - began
    with measured() as cost:
        found = search(spark, data, ROUNDS)
    report(started, cost, {METRIC: found})


if __name__ == "__main__":
    main(*sys.argv[1:4])
