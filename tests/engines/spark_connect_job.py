"""Scores a frame of a Spark Connect session, asks for an engine on it, and prints what came of that, in JSON.

In a process of its own: PySpark is in one of its two modes for as long as a process lives.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock as ps
from penstock.engines.spark import SparkEngine
from penstock.errors import ConfigError


def refusal(*session: SparkSession) -> str:
    try:
        SparkEngine(*session)
    except ConfigError as error:
        return f"{error.message} {error.hint}"
    return ""


if __name__ == "__main__":
    folder, python = Path(sys.argv[1]), sys.executable
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {
        "spark.pyspark.python": python,
        "spark.driver.extraJavaOptions": quick,
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": sys.argv[2],
    }
    session = SparkSession.builder.remote("local[1]").config(map=settings).getOrCreate()
    model = ps.PipelineModel.load(folder / "model")
    frame = session.createDataFrame(pq.read_table(folder / "rows.parquet"))
    by_column = model.to_spark_udf("probability")(*model.input_columns)
    session.udf.register("score", model.to_spark_udf("probability"))
    frame.createOrReplaceTempView("rows_to_score")
    by_name = session.sql(f"SELECT score({', '.join(model.input_columns)}) made FROM rows_to_score")
    told = {
        "session": type(session).__module__,
        "frame": model.transform(frame).toArrow()["probability"].to_pylist(),
        "column": frame.select(by_column.alias("made")).toArrow()["made"].to_pylist(),
        "sql": by_name.toArrow()["made"].to_pylist(),
        "session given": refusal(session),
        "session found": refusal(),
    }
    print(json.dumps(told))
    session.stop()
