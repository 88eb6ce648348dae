"""MLlib: CrossValidator over a Pipeline of Imputer, StringIndexer, StandardScaler and LogisticRegression."""

from __future__ import annotations

import sys
import time
from typing import Any

from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import Imputer, StandardScaler, StringIndexer, VectorAssembler
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.contenders import CATEGORIES, CORES, COUNTS, FOLD, METRIC
from benchmarks.measure import measured, report
from benchmarks.peers.mllib_prepare import session
from benchmarks.searched import folds, settings


def pipeline(classifier: LogisticRegression) -> Pipeline:
    filled, codes = [f"{name}_fill" for name in COUNTS], [f"{name}_index" for name in CATEGORIES]
    return Pipeline(
        stages=[
            Imputer(inputCols=COUNTS, outputCols=filled, strategy="mean"),
            StringIndexer(inputCols=CATEGORIES, outputCols=codes, handleInvalid="keep", stringOrderType="alphabetAsc"),
            VectorAssembler(inputCols=[*filled, *codes], outputCol="assembled"),
            StandardScaler(inputCol="assembled", outputCol="features", withMean=True, withStd=True),
            classifier,
        ]
    )


def read(spark: SparkSession, data: str) -> DataFrame:
    """Return the rows; Imputer takes floating numbers only."""
    rows = spark.read.parquet(f"{data}/*.parquet")
    return rows.withColumns({name: f.col(name).cast("double") for name in COUNTS})


def search(spark: SparkSession, data: str) -> CrossValidatorModel:
    """Search with as many models at a time as there are cores; CrossValidator keeps the rows of a fold by itself."""
    classifier = LogisticRegression(labelCol="label", featuresCol="features", maxIter=100)
    grid: list[dict[Any, Any]] = [{classifier.regParam: each["reg_param"]} for each in settings("grid")]
    return CrossValidator(
        estimator=pipeline(classifier),
        estimatorParamMaps=grid,
        evaluator=BinaryClassificationEvaluator(labelCol="label", metricName=METRIC),
        numFolds=folds(),
        foldCol=FOLD,
        parallelism=CORES,
    ).fit(read(spark, data))


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    pipeline(LogisticRegression(labelCol="label", maxIter=10)).fit(read(spark, warm_up))
    started = time.perf_counter() - began
    with measured() as cost:
        model = search(spark, data)
    report(started, cost, {METRIC: list(model.avgMetrics)})


if __name__ == "__main__":
    main(*sys.argv[1:4])
