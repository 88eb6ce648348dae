"""MLlib: its Summarizer, `approxQuantile`, and the different values by Spark SQL, exactly or by HyperLogLog."""

from __future__ import annotations

import sys
import time
from typing import Any

from pyspark.ml.functions import array_to_vector
from pyspark.ml.stat import Summarizer
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from benchmarks.contenders import CATEGORIES, COUNTS, LEVELS, RANK_ERROR
from benchmarks.measure import measured, report
from benchmarks.peers.mllib_prepare import session

_METRICS = ("mean", "std", "min", "max")


def summary(name: str) -> Column:
    """Return the Summarizer of a column; a null weighs nothing, so that one pass does for all columns."""
    known = f.col(name).isNotNull()
    vector = array_to_vector(f.array(f.coalesce(f.col(name).cast("double"), f.lit(0.0))))
    return Summarizer.metrics(*_METRICS).summary(vector, f.when(known, 1.0).otherwise(0.0)).alias(f"{name}_summary")


def distinct(name: str, *, approximate: bool) -> Column:
    counted = f.approx_count_distinct(name, 0.01) if approximate else f.countDistinct(name)
    return counted.alias(f"{name}_distinct")


def describe(clicks: DataFrame, *, approximate: bool) -> dict[str, dict[str, Any]]:
    names = [*COUNTS, *CATEGORIES]
    numbers = clicks.select(*[summary(name) for name in COUNTS]).collect()[0]
    counts = clicks.select(f.count(f.lit(1)).alias("rows"), *[f.count(name).alias(name) for name in names]).collect()[0]
    values = clicks.select(*[distinct(name, approximate=approximate) for name in names]).collect()[0]
    quantiles = clicks.approxQuantile(COUNTS, list(LEVELS), RANK_ERROR)
    found: dict[str, dict[str, Any]] = {
        name: {"count": counts[name], "missing": counts["rows"] - counts[name], "distinct": values[f"{name}_distinct"]}
        for name in names
    }
    for name, of_column in zip(COUNTS, quantiles, strict=True):
        facts = {metric: float(numbers[f"{name}_summary"][metric][0]) for metric in _METRICS}
        found[name] |= {**facts, "quantiles": of_column}
    return found


if __name__ == "__main__":
    name, data, warm_up = sys.argv[1:4]
    began = time.perf_counter()
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    approximate = name.endswith(".approximate")
    describe(spark.read.parquet(f"{warm_up}/*.parquet"), approximate=approximate)
    started = time.perf_counter() - began
    with measured() as cost:
        found = describe(spark.read.parquet(f"{data}/*.parquet"), approximate=approximate)
    report(started, cost, found)
