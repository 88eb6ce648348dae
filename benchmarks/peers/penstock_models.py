"""Ours, on the engine named: one model of the measurements, from reading the files to what was learned."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.contenders import CORES, FEATURES, HYPERPARAMETERS
from benchmarks.measure import measured, report
from benchmarks.ours import engine
from penstock import Pipeline, PipelineModel
from penstock import stages as st
from penstock.stages.base import Stage
from penstock.stages.trainer import as_trainer

MODELS: dict[str, Stage] = {
    "linear": st.LinearRegression("amount", features=FEATURES, **HYPERPARAMETERS["linear"]),
    "logistic": st.LogisticRegression("label", features=FEATURES, **HYPERPARAMETERS["logistic"]),
    "kmeans": st.KMeans(FEATURES, **HYPERPARAMETERS["kmeans"]),
    "ridge_cv": st.LinearRegressionCV("amount", features=FEATURES, fold="fold", **HYPERPARAMETERS["ridge_cv"]),
}


def train(runner: Any, data: str, work: str) -> PipelineModel:
    return Pipeline(MODELS[work]).fit(runner.read_parquet(f"{data}/*.parquet"))


def answer(work: str, fitted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was learned, as MLlib's contender reports it."""
    if work == "kmeans":
        return {"centres": [list(centre.values()) for centre in fitted["centres"].to_pylist()]}
    if work == "logistic":
        (coefficients,), (intercept,) = fitted["coefficients"].to_pylist(), fitted["intercepts"]
        return {"coefficients": list(coefficients.values()), "intercept": intercept}
    chosen = ("reg_param", "mean_rmse") if work == "ridge_cv" else ()
    return {name: fitted[name] for name in ("coefficients", "intercept", *chosen)}


def details(work: str, model: PipelineModel) -> dict[str, Any]:
    """Return how often it went over the files, and its rounds; a trainer reads rows once more, and keeps them."""
    found = {"scans": model.report.scans + (as_trainer(model.stages[0], model.schema) is not None)}
    return found | {name: value for name, value in model.fitted[0].items() if name in ("iterations", "cost")}


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    kind, _, work = name.partition(".")
    runner = engine(kind, CORES)
    train(runner, warm_up, work)
    started = time.perf_counter() - began
    with measured() as cost:
        model = train(runner, data, work)
    report(started, cost, answer(work, model.fitted[0]), details(work, model))


if __name__ == "__main__":
    main(*sys.argv[1:4])
