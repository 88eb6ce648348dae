"""cuDF, XGBoost and cuML by hand, all rows in the memory of the GPU, with the memory pool that our side has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contenders import BINS, CATEGORIES, COUNTS, DEPTH, HYPERPARAMETERS, ROUNDS
from benchmarks.on_gpu.answers import area_under_roc, inertia, learned, linear_model, written
from benchmarks.on_gpu.job import Answer, Job, Rows, Task, Works
from benchmarks.on_gpu.ours import TREES, vocabularies
from benchmarks.peers.penstock_prepare import learned as describe
from penstock import PipelineModel, devices

FEATURES = [*COUNTS, *CATEGORIES]
_XGBOOST = {"gpu": "cuda", "cpu": "cpu"}  # what XGBoost calls the devices
_SHARE = 0.632  # of the rows of a tree, as our forest has it


def _read(job: Job, folder: Path, columns: Sequence[str]) -> Any:
    """Return the rows as a frame of cuDF."""
    devices.use(job.device)  # before cuDF is imported: it sets the pool
    import cudf

    return cudf.read_parquet(sorted(map(str, folder.glob("*.parquet"))), columns=list(columns))


def fit(job: Job) -> Task:
    """Learn the preparation."""

    def run(rows: Rows) -> Answer:
        clicks = _read(job, rows.raw, FEATURES)
        means = _counts(clicks).mean()
        logs = _logs(clicks, {name: float(means[name]) for name in COUNTS})
        mean, deviation = logs.mean(), logs.std()
        known = {name: _vocabulary(clicks[name], name) for name in CATEGORIES}
        return learned(means, {name: (float(mean[name]), float(deviation[name])) for name in COUNTS}, known)

    return Task(run, lambda found: found)


def transform(job: Job) -> Task:
    """Prepare all clicks and write them, by what our side has learned."""
    model = PipelineModel.load(job.preparation)
    found, known = describe(model), vocabularies(model)
    scales = {name: scale for name, *scale in zip(COUNTS, found["log_means"], found["log_stds"], strict=True)}

    def run(rows: Rows) -> None:
        clicks = _read(job, rows.raw, ["label", *FEATURES])
        logs = _logs(clicks, dict(zip(COUNTS, found["means"], strict=True)))
        for name, (mean, deviation) in scales.items():
            clicks[name] = (logs[name] - mean) / deviation
        for name, values in known.items():
            clicks[name] = _codes(clicks[name], values.to_pylist())
        job.out.mkdir(parents=True, exist_ok=True)
        clicks.to_parquet(str(job.out / "part-0.parquet"), compression="zstd", index=False)

    return Task(run, lambda _: written(job.out))


def train(job: Job) -> Task:
    """Boost trees of a QuantileDMatrix."""
    import xgboost as xgb

    where = _XGBOOST[job.device]
    settings = {"objective": "binary:logistic", "tree_method": "hist", "max_depth": DEPTH, "max_bin": BINS}

    def run(rows: Rows) -> Any:
        clicks = _read(job, rows.prepared, ["label", *FEATURES])
        matrix = xgb.QuantileDMatrix(clicks[FEATURES], clicks["label"], max_bin=BINS)
        booster = xgb.train({**settings, "device": where}, matrix, ROUNDS)
        _require_device(booster, where)
        return booster

    return _scored(job, run, lambda booster, sample: booster.inplace_predict(sample))


def forest(job: Job) -> Task:
    """Grow a forest: trees of as many rows as ours have, which are drawn with replacement."""
    from cuml.ensemble import RandomForestClassifier

    settings = {"n_estimators": TREES, "max_depth": DEPTH, "n_bins": BINS, "max_samples": _SHARE, "random_state": 0}

    def run(rows: Rows) -> Any:
        features, label = _features(job, rows, FEATURES, "float32")
        return RandomForestClassifier(**settings, max_features="sqrt", output_type="numpy").fit(features, label)

    return _scored(job, run, lambda model, sample: model.predict_proba(sample.astype("float32"))[:, 1])


def logistic(job: Job) -> Task:
    """Learn a logistic regression of the counts; its penalty is of the sum over the rows, ours of their mean."""
    from cuml.linear_model import LogisticRegression

    ours = HYPERPARAMETERS["logistic"]

    def run(rows: Rows) -> Any:
        features, label = _features(job, rows, COUNTS, "float64")
        penalty = 1 / (ours["reg_param"] * len(features))
        model = LogisticRegression(C=penalty, max_iter=ours["max_iter"], tol=ours["tol"], output_type="numpy")
        return model.fit(features, label)

    return Task(run, lambda model: linear_model(model.coef_, float(np.ravel(model.intercept_)[0])))


def kmeans(job: Job) -> Task:
    """Find clusters of the counts, by scalable k-means++, which is k-means||."""
    from cuml.cluster import KMeans

    ours = HYPERPARAMETERS["kmeans"]
    settings = {"n_clusters": ours["k"], "max_iter": ours["max_iter"], "tol": ours["tol"], "random_state": ours["seed"]}

    def run(rows: Rows) -> Any:
        features, _ = _features(job, rows, COUNTS, "float32")
        return KMeans(init="scalable-k-means++", output_type="numpy", **settings).fit(features)

    return Task(run, lambda model: {"inertia": inertia(job.sample.prepared, model.cluster_centers_)})


def evaluate(job: Job) -> Task:
    """Score all prepared clicks by our side's model, and evaluate the scores."""
    import xgboost as xgb
    from cuml.metrics import log_loss, roc_auc_score

    model = xgb.Booster(model_file=bytearray(PipelineModel.load(job.classifier).fitted[0]["booster"].data))
    model.set_param({"device": _XGBOOST[job.device]})

    def run(rows: Rows) -> Answer:
        clicks = _read(job, rows.prepared, ["label", *FEATURES])
        scores = model.inplace_predict(clicks[FEATURES])
        label = clicks["label"]
        return {"areaUnderROC": float(roc_auc_score(label, scores)), "logLoss": float(log_loss(label, scores))}

    return Task(run, lambda found: found)


def _scored(job: Job, run: Callable[[Rows], Any], score: Callable[[Any, Any], Any]) -> Task:
    """Return a task whose answer is the area under the curve of the sample."""

    def answer(model: Any) -> Answer:
        sample = _read(job, job.sample.prepared, ["label", *FEATURES])
        return {"auc": area_under_roc(_on_host(sample["label"]), _on_host(score(model, sample[FEATURES])))}

    return Task(run, answer)


def _features(job: Job, rows: Rows, columns: Sequence[str], dtype: str) -> tuple[Any, Any]:
    clicks = _read(job, rows.prepared, ["label", *columns])
    return clicks[list(columns)].astype(dtype), clicks["label"]


def _on_host(values: Any) -> Any:
    """Return values of cuDF or CuPy as an array of NumPy."""
    if hasattr(values, "to_numpy"):
        return values.to_numpy()
    return values.get() if hasattr(values, "get") else np.asarray(values)


def _require_device(booster: Any, where: str) -> None:
    used = json.loads(booster.save_config())["learner"]["generic_param"]["device"]
    if not used.startswith(where):  # XGBoost falls back to the CPU with no more than a warning
        raise RuntimeError(f"XGBoost trained on {used!r}, expected {where!r}; install a build of it with CUDA")


def _counts(clicks: Any) -> Any:
    return clicks[COUNTS].astype("float64").clip(lower=0)


def _logs(clicks: Any, means: Mapping[str, float]) -> Any:
    return np.log1p(_counts(clicks).fillna(dict(means)))


def _vocabulary(column: Any, name: str) -> list[str]:
    """Return the values by falling frequency, those of one frequency ascending."""
    counted = column.value_counts().reset_index().sort_values(["count", name], ascending=[False, True])
    values = counted[name]
    return list(values.to_arrow().to_pylist() if hasattr(values, "to_arrow") else values)


def _codes(column: Any, values: Sequence[str]) -> Any:
    """Return places in the vocabulary; a null has that past its end and one more."""
    import cudf

    codes = column.astype(cudf.CategoricalDtype(categories=list(values))).cat.codes.astype("int32").fillna(-1)
    return codes.where(codes >= 0, len(values) + 1).astype("int32")


WORKS: Works = {
    "fit": fit,
    "transform": transform,
    "train": train,
    "forest": forest,
    "logistic": logistic,
    "kmeans": kmeans,
    "evaluate": evaluate,
}
