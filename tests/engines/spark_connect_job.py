"""Works on a server of Spark Connect as a client does, and prints what came of it, in JSON.

In a process of its own: PySpark is in one of its two modes for as long as a process lives.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from gang_bodies import AddUp
from spark_gpu_job import listening

import penstock as ps
from penstock import stages as st
from penstock.engines.spark import SparkEngine
from penstock.errors import DataValueError, PenstockError
from penstock.spmd import SpmdOptions


def error_of(work: Any) -> dict[str, Any]:
    """Return what the client is told of work that fails."""
    try:
        work()
    except PenstockError as error:
        return {"type": type(error).__name__, "message": error.message, "row": error.row}
    return {}


def refuse_one(item: int) -> int:
    if item == 1:
        raise DataValueError("x is infinite", column="x", row=7)
    return item


def kill_once(marker: Path) -> Any:
    def task(item: int) -> int:
        if item == 2 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    return task


def scores(engine: SparkEngine, folder: Path) -> dict[str, Any]:
    """Score a frame of the session by a model of another engine, in three ways."""
    session, model = engine.session, ps.PipelineModel.load(folder / "model")
    frame = session.createDataFrame(pq.read_table(folder / "rows.parquet"))
    by_column = model.to_spark_udf("probability")(*model.input_columns)
    session.udf.register("score", model.to_spark_udf("probability"))
    frame.createOrReplaceTempView("rows_to_score")
    by_name = session.sql(f"SELECT score({', '.join(model.input_columns)}) made FROM rows_to_score")
    return {
        "frame": model.transform(frame).toArrow()["probability"].to_pylist(),
        "column": frame.select(by_column.alias("made")).toArrow()["made"].to_pylist(),
        "sql": by_name.toArrow()["made"].to_pylist(),
    }


def jobs(engine: SparkEngine, folder: Path) -> dict[str, Any]:
    """Run what an engine runs: tasks, scans, a training, a query, frames in and out."""
    data = engine.read_parquet(folder / "rows.parquet", fragment_bytes=100)
    stages = st.Imputer("x"), st.StringIndexer("s"), st.LogisticRegression("y", features=["x", "s"])
    numbers = engine.from_arrow(pa.table({"x": range(100)}), fragment_bytes=80)
    out = folder / "out"
    data.write_parquet(out)
    return {
        "order": list(engine.map(abs, range(-9, 1))),
        "nothing": list(engine.map(abs, [])),
        "sum": engine.reduce(sum, sum, [[item] for item in range(100)]),
        "error": error_of(lambda: list(engine.map(refuse_one, range(3)))),
        "killed": list(engine.map(kill_once(folder / "killed"), range(5))),
        "digest": ps.Pipeline(*stages).fit(data).digest,
        "ranks": engine.spmd(AddUp(rounds=2), {"train": numbers}, SpmdOptions(world_size=2))["total"],
        "query": data.group_by("s").agg(n="len").sort("s").to_arrow().to_pydict(),
        "there and back": engine.from_spark(data.to_spark()).to_arrow().equals(data.to_arrow()),
        "written": engine.read_parquet(out).count(),
        "slots": engine.slots,
        "listening": listening(),
        "facts": engine.facts()["master"],
    }


if __name__ == "__main__":
    place = Path(sys.argv[1])
    conf = {"spark.remote": "local[2]"}
    with SparkEngine(conf=conf, device="cpu") as started:
        outcome = {
            "session": type(started.session).__module__,
            "same session": SparkEngine(device="cpu").session is started.session,
            **scores(started, place),
            **jobs(started, place),
        }
    print(json.dumps(outcome))
