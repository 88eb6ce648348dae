"""Ours, on the engine named: boosting of prepared rows."""

from __future__ import annotations

import sys
import time
from typing import Any

from benchmarks.contenders import BINS, CORES, DEPTH, ROUNDS
from benchmarks.measure import measured, report
from benchmarks.ours import engine
from penstock import Pipeline, PipelineModel
from penstock import stages as st


def train(runner: Any, data: str, rounds: int) -> PipelineModel:
    rows = runner.read_parquet(f"{data}/*.parquet")
    classifier = st.XGBoostClassifier("label", num_boost_round=rounds, max_depth=DEPTH, max_bin=BINS)
    return Pipeline(classifier).fit(rows)


if __name__ == "__main__":
    name, data, warm_up, _ = sys.argv[1:5]
    began = time.perf_counter()
    runner = engine(name, CORES)
    train(runner, warm_up, 2)
    started = time.perf_counter() - began
    with measured() as cost:
        model = train(runner, data, ROUNDS)
    scored = model.evaluate(runner.read_parquet(f"{warm_up}/*.parquet"), st.BinaryClassificationEvaluator())
    report(started, cost, {"auc": scored["areaUnderROC"]})
