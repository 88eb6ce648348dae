"""A Spark DataFrame of clicks scored as it is, and by a function of columns, beside the way over staged files.

The model is that of ``pipelines/clicks.py`` with 30 rounds. Each way ends in a DataFrame whose rows Spark makes and
drops (``noop``): all columns that the model gives, or those of the frame and a probability. Rounds alternate, after a
warm-up; medians are compared. "Crossing alone" hands the rows to Python workers that do nothing to them, which is the
least that a way through Python takes.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks as generator  # noqa: E402

from benchmarks.contenders import CORES  # noqa: E402
from benchmarks.measure import cpu_seconds  # noqa: E402
from benchmarks.side_by_side import arguments, folders, generated  # noqa: E402
from penstock import LocalEngine, PipelineModel, SparkEngine  # noqa: E402
from penstock.cli.project import load_pipeline  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FITTED_ON = 200_000
_GOAL = 2.0
Way = Callable[[], "DataFrame"]


def fitted(clicks: Path) -> PipelineModel:
    """Return the model, of some of the rows."""
    pipeline = load_pipeline("clicks", ROOT / "pipelines")
    rows = LocalEngine(device="cpu").read_parquet(f"{clicks}/*.parquet").limit(_FITTED_ON)
    return pipeline.build(pipeline.parameters(num_boost_round=30)).fit(rows)


def ways(engine: SparkEngine, clicks: Path, model: PipelineModel) -> dict[str, dict[str, Way]]:
    """Return by work what is compared: a frame to be made, as it is and over staged files."""
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.types import DoubleType

    frame = engine.session.read.parquet(str(clicks))
    score = model.to_spark_udf("probability")

    def staged_score() -> DataFrame:
        rows = engine.from_spark(frame)
        return model.transform(rows).select([*frame.columns, "probability"]).to_spark()

    @arrow_udf(DoubleType())
    def half(*columns: pa.Array) -> pa.Array:
        return pa.array(np.full(len(columns[0]), 0.5))

    return {
        "all columns": {
            "crossing alone": lambda: frame.mapInArrow(lambda batches: batches, frame.schema),
            "as it is": lambda: model.transform(frame),
            "staged": lambda: model.transform(engine.from_spark(frame)).to_spark(),
        },
        "a probability": {
            "crossing alone": lambda: frame.withColumn("probability", half(*model.input_columns)),
            "a function": lambda: frame.withColumn("probability", score(*model.input_columns)),
            "staged": staged_score,
        },
    }


def run(way: Way) -> tuple[float, float]:
    """Return the wall and CPU seconds of making the rows of a frame."""
    began, cpu = time.perf_counter(), cpu_seconds()
    way().write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began, cpu_seconds() - cpu


def figures(compared: dict[str, dict[str, Way]], rounds: int) -> dict[str, dict[str, Any]]:
    """Return the seconds of each way by round."""
    found: dict[str, dict[str, Any]] = {}
    for by_name in compared.values():  # a warm-up
        for way in by_name.values():
            run(way)
    for _ in range(rounds):
        for work, by_name in compared.items():
            for name, way in by_name.items():
                wall, cpu = run(way)
                of_way = found.setdefault(work, {}).setdefault(name, {"wall_seconds": [], "cpu_seconds": []})
                of_way["wall_seconds"].append(wall)
                of_way["cpu_seconds"].append(cpu)
    return found


def show(rows: int, found: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Print the medians; return how many times as long the staged way takes."""
    shown, ratios = Table(title=f"{rows:,} clicks of a Spark DataFrame; staged at least {_GOAL:g} times"), {}
    for heading in ("work", "way", "s", "CPU s", "staged, times (CPU)"):
        shown.add_column(heading, justify="left" if heading in ("work", "way") else "right")
    for work, by_name in found.items():
        wall, cpu = ({name: statistics.median(each[figure]) for name, each in by_name.items()} for figure in _FIGURES)
        for name in by_name:
            ratios[f"{work}, {name}"] = wall["staged"] / wall[name]
            ratio = f"{wall['staged'] / wall[name]:.2f} ({cpu['staged'] / cpu[name]:.2f})"
            shown.add_row(work, name, f"{wall[name]:.1f}", f"{cpu[name]:.1f}", ratio)
    Console().print(shown)
    return ratios


_FIGURES = ("wall_seconds", "cpu_seconds")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with folders(options.data) as (folder, _):
        clicks = generated(generator, options.rows, folder)
        model = fitted(clicks)
        with SparkEngine(conf={"spark.master": f"local[{CORES}]", "spark.driver.memory": "6g"}, device="cpu") as engine:
            found = figures(ways(engine, clicks, model), options.rounds)
    ratios = show(options.rows, found)
    if options.json:
        options.json.write_text(json.dumps({"rows": options.rows, "ratios": ratios, "results": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
