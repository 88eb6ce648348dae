"""Ours, on the engine named: fit, transform, write; ``.persisted`` behind it has the rows held from one to the next."""

from __future__ import annotations

import sys
import time
from typing import Any

from benchmarks.contenders import CATEGORIES, CORES, COUNTS
from benchmarks.measure import measured, report
from benchmarks.ours import engine, preparation
from penstock import PipelineModel

MEMORY = "3GiB"


def prepare(runner: Any, data: str, out: str, *, persisted: bool = False) -> PipelineModel:
    clicks = runner.read_parquet(f"{data}/*.parquet")
    clicks = clicks.persist(memory=MEMORY) if persisted else clicks
    model = preparation().fit(clicks)
    model.transform(clicks).write_parquet(out, overwrite=True)
    return model


def learned(model: PipelineModel) -> dict[str, Any]:
    """Return what was learned, in the words that all contenders use."""
    imputer, scaler, indexer = model.fitted[1], model.fitted[3], model.fitted[4]
    return {
        "means": [imputer["values"][name] for name in COUNTS],
        "log_means": [scaler["mean"][name] for name in COUNTS],
        "log_stds": [scaler["scale"][name] for name in COUNTS],
        "categories": [indexer["categories"][name].num_rows for name in CATEGORIES],
        "first": [indexer["categories"][name]["value"][0].as_py() for name in CATEGORIES],
    }


if __name__ == "__main__":
    name, data, warm_up, out = sys.argv[1:5]
    began = time.perf_counter()
    place, _, persisted = name.partition(".")
    runner = engine(place, CORES)
    prepare(runner, warm_up, f"{out}-warm", persisted=bool(persisted))
    started = time.perf_counter() - began
    with measured() as cost:
        model = prepare(runner, data, out, persisted=bool(persisted))
    report(started, cost, learned(model))
