"""MLlib: Imputer, StandardScaler and StringIndexer in one Pipeline, multi-column where it has that."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from pyspark.ml import Pipeline
from pyspark.ml.feature import Imputer, SQLTransformer, StandardScaler, StringIndexer, VectorAssembler
from pyspark.sql import SparkSession

from benchmarks.contenders import CATEGORIES, CORES, COUNTS
from benchmarks.measure import measured, report


def prepare(spark: SparkSession, data: str, out: str) -> dict[str, Any]:
    clicks = spark.read.parquet(f"{data}/*.parquet")
    clip = ", ".join(  # greatest() skips nulls, so a null is kept by hand
        f"CASE WHEN {name} IS NOT NULL THEN CAST(greatest({name}, 0) AS DOUBLE) END AS {name}_clip" for name in COUNTS
    )
    log = ", ".join(f"log1p({name}_fill) AS {name}_log" for name in COUNTS)
    pipeline = Pipeline(
        stages=[
            SQLTransformer(statement=f"SELECT *, {clip} FROM __THIS__"),
            Imputer(inputCols=[f"{n}_clip" for n in COUNTS], outputCols=[f"{n}_fill" for n in COUNTS], strategy="mean"),
            SQLTransformer(statement=f"SELECT *, {log} FROM __THIS__"),
            VectorAssembler(inputCols=[f"{name}_log" for name in COUNTS], outputCol="counts"),
            StandardScaler(inputCol="counts", outputCol="scaled", withMean=True, withStd=True),
            StringIndexer(
                inputCols=CATEGORIES,
                outputCols=[f"{name}_index" for name in CATEGORIES],
                handleInvalid="keep",
                stringOrderType="frequencyDesc",
            ),
        ]
    )
    model = pipeline.fit(clicks)
    made = model.transform(clicks).select("label", "scaled", *[f"{name}_index" for name in CATEGORIES])
    made.write.mode("overwrite").option("compression", "zstd").parquet(out)
    _, imputer, _, _, scaler, indexer = model.stages
    row = imputer.surrogateDF.first()
    return {
        "means": [row[f"{name}_clip"] for name in COUNTS],
        "log_means": list(map(float, scaler.mean)),
        "log_stds": list(map(float, scaler.std)),
        "categories": [len(labels) for labels in indexer.labelsArray],
        "first": [labels[0] for labels in indexer.labelsArray],
    }


def session() -> SparkSession:
    from penstock.engines.spark.java import find_java

    os.environ.update(JAVA_HOME=str(find_java()), PYSPARK_PYTHON=sys.executable)
    return (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", 2 * CORES)
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )


if __name__ == "__main__":
    _, data, warm_up, out = sys.argv[1:5]
    began = time.perf_counter()
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    prepare(spark, warm_up, f"{out}-warm")
    started = time.perf_counter() - began
    with measured() as cost:
        learned = prepare(spark, data, out)
    report(started, cost, learned)
