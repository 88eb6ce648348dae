"""MLlib: one Pipeline of its encoders, each multi-column, on rows read anew for each pass or kept by Spark."""

from __future__ import annotations

import sys
import time
from typing import Any

from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import PCA, OneHotEncoder, QuantileDiscretizer, StringIndexer, TargetEncoder, VectorAssembler
from pyspark.ml.stat import Summarizer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from benchmarks.contenders import BINNED, BUCKETS, COMPONENTS, ENCODED, ONE_HOT, PROJECTED, RANK_ERROR, SMOOTHING
from benchmarks.measure import measured, report
from benchmarks.peers.mllib_evaluate import read, rows_read
from benchmarks.peers.mllib_prepare import session

_CATEGORIES = [*ONE_HOT, *ENCODED]


def _called(names: Any, suffix: str) -> list[str]:
    return [f"{name}_{suffix}" for name in names]


MADE = [*_called(ONE_HOT, "ones"), *_called(ENCODED, "mean"), *_called(BINNED, "bucket"), "scores"]


def pipeline() -> Pipeline:
    return Pipeline(
        stages=[
            StringIndexer(inputCols=_CATEGORIES, outputCols=_called(_CATEGORIES, "index")),
            OneHotEncoder(inputCols=_called(ONE_HOT, "index"), outputCols=_called(ONE_HOT, "ones"), dropLast=False),
            TargetEncoder(
                inputCols=_called(ENCODED, "index"),
                outputCols=_called(ENCODED, "mean"),
                smoothing=SMOOTHING,
                labelCol="label",
            ),
            QuantileDiscretizer(
                inputCols=BINNED, outputCols=_called(BINNED, "bucket"), numBuckets=BUCKETS, relativeError=RANK_ERROR
            ),
            VectorAssembler(inputCols=PROJECTED, outputCol="features"),
            PCA(k=COMPONENTS, inputCol="features", outputCol="scores"),
        ]
    )


def preprocess(rows: DataFrame, out: str, work: str) -> PipelineModel:
    model = pipeline().fit(rows)
    if work == "fit_transform":
        made = model.transform(rows).select("label", *MADE)
        made.write.mode("overwrite").option("compression", "zstd").parquet(out)
    return model


def answer(spark: SparkSession, model: PipelineModel) -> dict[str, Any]:
    """Return what was learned, in the words that all contenders use."""
    indexer, _, encoder, discretizer, _, pca = model.stages
    labels = dict(zip(_CATEGORIES, indexer.labelsArray, strict=True))
    loadings = pca.pc.toArray().T
    return {
        "categories": {name: labels[name] for name in ONE_HOT},
        "encodings": _encodings(spark, encoder, labels),
        "edges": {name: splits[1:-1] for name, splits in zip(BINNED, discretizer.getSplitsArray(), strict=True)},
        "explained_variance_ratio": pca.explainedVariance.toArray().tolist(),
        "components": loadings.tolist(),
    }


def _encodings(spark: SparkSession, encoder: Any, labels: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    """Return the encoding of each category, which the model tells in Python by encoding only."""
    longest = max(len(labels[name]) for name in ENCODED)
    index = sf.col("id").cast("double")
    indices = spark.range(longest).withColumns(dict.fromkeys(_called(ENCODED, "index"), index))
    encoded = encoder.setHandleInvalid("keep").transform(indices).orderBy("id").collect()
    return {
        name: {label: row[f"{name}_mean"] for label, row in zip(labels[name], encoded, strict=False)}
        for name in ENCODED
    }


def written(spark: SparkSession, out: str, labels: dict[str, list[str]]) -> dict[str, Any]:
    """Return the sums and deviations of what was written, as `benchmarks.preprocessed.written` does."""
    together = VectorAssembler(inputCols=MADE, outputCol="made").transform(spark.read.parquet(out))
    summary = together.select(Summarizer.metrics("sum", "std").summary(sf.col("made")).alias("of")).first()
    sums, deviations = summary["of"]["sum"].toArray().tolist(), summary["of"]["std"].toArray().tolist()
    ones = iter(sums)
    counted = {name: {label: next(ones) for label in labels[name]} for name in ONE_HOT}
    return {"ones": counted, "deviations": deviations[sum(map(len, counted.values())) :]}


def main(name: str, data: str, warm_up: str, out: str) -> None:
    began = time.perf_counter()
    kind, _, work = name.rpartition(".")
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    keep = kind.endswith(".cached")
    preprocess(read(spark, warm_up, keep=keep), f"{out}-warm", work)
    spark.catalog.clearCache()
    started, before = time.perf_counter() - began, rows_read(spark)
    with measured() as cost:
        model = preprocess(read(spark, data, keep=keep), out, work)
    scans = (rows_read(spark) - before) / spark.read.parquet(f"{data}/*.parquet").count()
    found = answer(spark, model)
    if work == "fit_transform":
        found |= written(spark, out, found["categories"])
    report(started, cost, found, {"scans": scans})


if __name__ == "__main__":
    main(*sys.argv[1:5])
