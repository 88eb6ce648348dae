"""Our side of `gpu.py`: the works by the local engine, on a GPU or on the cores of the same machine."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from benchmarks.contenders import CATEGORIES, COUNTS, DEPTH, HYPERPARAMETERS
from benchmarks.on_gpu.answers import area_under_roc, inertia, linear_model, written
from benchmarks.on_gpu.data import classifier
from benchmarks.on_gpu.job import Answer, Job, Rows, Task, Works
from benchmarks.ours import preparation
from benchmarks.peers.penstock_models import answer as describe_model
from benchmarks.peers.penstock_prepare import learned
from penstock import Dataset, LocalEngine, Pipeline, PipelineModel
from penstock import stages as st

TREES = 20


def _read(engine: LocalEngine, folder: Any) -> Dataset:
    return engine.read_parquet(f"{folder}/*.parquet")


def fit(job: Job) -> Task:
    """Learn the preparation from all clicks."""
    engine = LocalEngine(device=job.device)
    return Task(lambda rows: preparation().fit(_read(engine, rows.raw)), learned)


def transform(job: Job) -> Task:
    """Prepare all clicks and write them."""
    engine, model = LocalEngine(device=job.device), PipelineModel.load(job.preparation)

    def run(rows: Rows) -> None:
        model.transform(_read(engine, rows.raw)).write_parquet(job.out, overwrite=True)

    return Task(run, lambda _: written(job.out))


def train(job: Job) -> Task:
    """Boost trees."""
    return _train(job, classifier(), _scores)


def forest(job: Job) -> Task:
    """Grow a forest."""
    return _train(job, Pipeline(st.RandomForestClassifier("label", num_trees=TREES, max_depth=DEPTH)), _scores)


def logistic(job: Job) -> Task:
    """Learn a logistic regression of the counts."""
    regression = st.LogisticRegression("label", features=COUNTS, **HYPERPARAMETERS["logistic"])

    def answer(model: PipelineModel, _: Job) -> Answer:
        found = describe_model("logistic", model.fitted[0])
        return linear_model(found["coefficients"], found["intercept"])

    return _train(job, Pipeline(regression), answer)


def kmeans(job: Job) -> Task:
    """Find clusters of the counts."""

    def answer(model: PipelineModel, job: Job) -> Answer:
        return {"inertia": inertia(job.sample.prepared, describe_model("kmeans", model.fitted[0])["centres"])}

    return _train(job, Pipeline(st.KMeans(COUNTS, **HYPERPARAMETERS["kmeans"])), answer)


def evaluate(job: Job) -> Task:
    """Score all prepared clicks by one model, and evaluate the scores."""
    engine, model = LocalEngine(device=job.device), PipelineModel.load(job.classifier)
    evaluator = st.BinaryClassificationEvaluator(metrics=("areaUnderROC", "logLoss"))
    return Task(lambda rows: model.evaluate(_read(engine, rows.prepared), evaluator), dict)


def _train(job: Job, pipeline: Pipeline, answer: Any) -> Task:
    engine = LocalEngine(device=job.device)
    return Task(lambda rows: pipeline.fit(_read(engine, rows.prepared)), lambda model: answer(model, job))


def _scores(model: PipelineModel, job: Job) -> Answer:
    """Return the area under the curve of the sample, which the model has not seen."""
    rows = _read(LocalEngine(device="cpu"), job.sample.prepared)
    table: pa.Table = model.transform(rows).select("label", "probability").to_arrow()
    return {"auc": area_under_roc(table["label"].to_numpy(), table["probability"].to_numpy())}


def vocabularies(model: PipelineModel) -> dict[str, pa.ChunkedArray]:
    """Return the values of each category in order, of a fitted preparation; peers that transform take them, too."""
    return {name: model.fitted[4]["categories"][name]["value"] for name in CATEGORIES}


WORKS: Works = {
    "fit": fit,
    "transform": transform,
    "train": train,
    "logistic": logistic,
    "kmeans": kmeans,
    "forest": forest,
    "evaluate": evaluate,
}
