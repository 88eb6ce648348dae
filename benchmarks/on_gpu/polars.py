"""Polars by hand, on its GPU engine (cudf-polars): what of `gpu.py` is a query. Fails where the engine would fall back.

On the CPU, in a rehearsal, it is Polars' streaming engine.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from benchmarks.contenders import CATEGORIES, COUNTS
from benchmarks.on_gpu.answers import learned, written
from benchmarks.on_gpu.job import Answer, Job, Rows, Task, Works
from benchmarks.on_gpu.ours import vocabularies
from benchmarks.peers.penstock_prepare import learned as describe
from penstock import PipelineModel


def engine(device: str) -> Any:
    """Return the engine of Polars for a device."""
    return pl.GPUEngine(raise_on_fail=True) if device == "gpu" else "streaming"


def fit(job: Job) -> Task:
    """Learn the preparation: a query for the means, one for each vocabulary, and one for the moments."""
    return Task(lambda rows: _learn(pl.scan_parquet(f"{rows.raw}/*.parquet"), engine(job.device)), lambda found: found)


def _learn(clicks: pl.LazyFrame, on: Any) -> Answer:
    means = clicks.select(_counts()).mean().collect(engine=on).row(0, named=True)
    known = {name: _vocabulary(clicks, name, on) for name in CATEGORIES}
    logs = clicks.select(_logs(means))
    mean, deviation = (each.collect(engine=on).row(0, named=True) for each in (logs.mean(), logs.std()))
    return learned(means, {name: (mean[name], deviation[name]) for name in COUNTS}, known)


def _vocabulary(clicks: pl.LazyFrame, name: str, on: Any) -> pl.Series:
    counted = clicks.select(pl.col(name)).drop_nulls().group_by(name).agg(pl.len().alias("count"))
    return counted.sort("count", name, descending=[True, False]).collect(engine=on)[name]


def transform(job: Job) -> Task:
    """Prepare all clicks and write them, by what our side has learned."""
    model = PipelineModel.load(job.preparation)
    columns = _prepared(describe(model), {name: pl.Series(each) for name, each in vocabularies(model).items()})

    def run(rows: Rows) -> None:
        job.out.mkdir(parents=True, exist_ok=True)
        clicks = pl.scan_parquet(f"{rows.raw}/*.parquet").with_columns(columns)
        clicks.sink_parquet(job.out / "part-0.parquet", compression="zstd", engine=engine(job.device))

    return Task(run, lambda _: written(job.out))


def _prepared(found: Answer, known: dict[str, pl.Series]) -> list[pl.Expr]:
    logs = _logs(dict(zip(COUNTS, found["means"], strict=True)))
    moments = zip(logs, found["log_means"], found["log_stds"], strict=True)
    scaled = [(value - mean) / deviation for value, mean, deviation in moments]
    return [*scaled, *(_codes(name, values) for name, values in known.items())]


def _codes(name: str, values: pl.Series) -> pl.Expr:
    """Return places in the vocabulary; a null has that past its end and one more."""
    places = pl.Series(range(len(values)), dtype=pl.Int32)
    return pl.col(name).replace_strict(values, places, default=pl.lit(len(values) + 1, pl.Int32), return_dtype=pl.Int32)


def _counts() -> list[pl.Expr]:
    return [pl.col(name).clip(0) for name in COUNTS]


def _logs(means: dict[str, float]) -> list[pl.Expr]:
    counts = zip(COUNTS, _counts(), strict=True)
    return [count.cast(pl.Float64).fill_null(means[name]).log1p() for name, count in counts]


WORKS: Works = {"fit": fit, "transform": transform}
