"""Polars by hand: two streaming queries to learn, one to transform and write."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.contenders import CATEGORIES, COUNTS
from benchmarks.measure import measured, report


def prepare(data: str, out: str) -> dict[str, Any]:
    clicks = pl.scan_parquet(f"{data}/*.parquet")
    counts = [pl.col(name).clip(0) for name in COUNTS]
    first = [clicks.select(column.mean() for column in counts)]
    first += [clicks.group_by(pl.col(name).alias("value")).len("count").drop_nulls() for name in CATEGORIES]
    means, *counted = pl.collect_all(first, engine="streaming")
    vocabularies = [found.sort("count", "value", descending=[True, False])["value"] for found in counted]
    filled = [column.fill_null(means[name].item()).log1p() for name, column in zip(COUNTS, counts, strict=True)]
    moments = clicks.select(
        *(value.mean().name.suffix("_mean") for value in filled), *(value.std().name.suffix("_std") for value in filled)
    ).collect(engine="streaming")
    scaled = [
        (value - moments[f"{name}_mean"].item()) / moments[f"{name}_std"].item()
        for name, value in zip(COUNTS, filled, strict=True)
    ]
    coded = [
        pl.col(name).cast(pl.Enum(known)).to_physical().cast(pl.Int32).fill_null(len(known) + 1)
        for name, known in zip(CATEGORIES, vocabularies, strict=True)
    ]
    Path(out).mkdir(parents=True, exist_ok=True)
    clicks.with_columns(*scaled, *coded).sink_parquet(f"{out}/part-0.parquet", compression="zstd", compression_level=1)
    return {
        "means": [means[name].item() for name in COUNTS],
        "log_means": [moments[f"{name}_mean"].item() for name in COUNTS],
        "log_stds": [moments[f"{name}_std"].item() for name in COUNTS],
        "categories": [len(known) for known in vocabularies],
        "first": [known[0] for known in vocabularies],
    }


if __name__ == "__main__":
    _, data, warm_up, out = sys.argv[1:5]
    began = time.perf_counter()
    prepare(warm_up, f"{out}-warm")
    started = time.perf_counter() - began
    with measured() as cost:
        learned = prepare(data, out)
    report(started, cost, learned)
