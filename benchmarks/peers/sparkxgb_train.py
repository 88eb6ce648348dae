"""xgboost.spark: SparkXGBClassifier on the same prepared rows, a worker a core, features as columns."""

from __future__ import annotations

import sys
import time
from typing import Any

from pyspark.ml.evaluation import BinaryClassificationEvaluator
from xgboost.spark import SparkXGBClassifier

from benchmarks.contenders import BINS, CATEGORIES, CORES, COUNTS, DEPTH, ROUNDS
from benchmarks.measure import measured, report
from benchmarks.peers.mllib_prepare import session


def train(spark: Any, data: str, rounds: int) -> Any:
    rows = spark.read.parquet(f"{data}/*.parquet")
    return SparkXGBClassifier(
        features_col=[*COUNTS, *CATEGORIES],
        label_col="label",
        num_workers=CORES,
        n_estimators=rounds,
        max_depth=DEPTH,
        max_bin=BINS,
        tree_method="hist",
    ).fit(rows)


if __name__ == "__main__":
    _, data, warm_up, _ = sys.argv[1:5]
    began = time.perf_counter()
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    train(spark, warm_up, 2)
    started = time.perf_counter() - began
    with measured() as cost:
        model = train(spark, data, ROUNDS)
    scored = model.transform(spark.read.parquet(f"{warm_up}/*.parquet"))
    report(started, cost, {"auc": BinaryClassificationEvaluator(numBins=0).evaluate(scored)})
