"""scikit-learn in memory: a function a metric, for those of MLlib's metrics that it has; all rows must fit."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
from sklearn import metrics as sk

from benchmarks.measure import measured, report

Columns = dict[str, Any]
_CLASSES = list(range(5))


def read(data: str) -> Columns:
    names = ["label", "rawPrediction", "amount", "predicted", "class_label", "class_prediction", "class_probability"]
    table = pq.read_table(data, columns=names).combine_chunks()
    vectors = table.column("class_probability").chunk(0).flatten().to_numpy().reshape(-1, len(_CLASSES))
    return {name: table[name].to_numpy() for name in names[:-1]} | {"class_probability": vectors}


def area_under_pr(truth: Any, score: Any) -> float:
    """Return the trapezoid area from (0, precision of the first threshold), as MLlib draws the curve."""
    precision, recall, _ = sk.precision_recall_curve(truth, score)
    precision[-1] = precision[-2]
    return sk.auc(recall, precision)


BINARY: dict[str, Callable[[Any, Any], float]] = {"areaUnderROC": sk.roc_auc_score, "areaUnderPR": area_under_pr}
REGRESSION: dict[str, Callable[[Any, Any], float]] = {
    "rmse": sk.root_mean_squared_error,
    "mse": sk.mean_squared_error,
    "r2": sk.r2_score,
    "mae": sk.mean_absolute_error,
}
SCORES = {"Precision": sk.precision_score, "Recall": sk.recall_score, "FMeasure": sk.f1_score}


def classes(truth: Any, predicted: Any, probability: Any) -> dict[str, float]:
    found = {f"weighted{name}": score(truth, predicted, average="weighted") for name, score in SCORES.items()}
    for name, score in SCORES.items():
        of_first = score(truth, predicted, labels=[0], average="macro")
        found[f"{name[0].lower()}{name[1:]}ByLabel"] = of_first
    return found | {
        "f1": sk.f1_score(truth, predicted, average="weighted"),
        "accuracy": sk.accuracy_score(truth, predicted),
        "hammingLoss": sk.hamming_loss(truth, predicted),
        "logLoss": sk.log_loss(truth, probability, labels=_CLASSES),
    }


def evaluate(data: str) -> dict[str, float]:
    """Return the metrics of binary scores, predicted numbers and classes."""
    columns = read(data)
    binary, numbers = (columns["label"], columns["rawPrediction"]), (columns["amount"], columns["predicted"])
    found = {
        "binary": {name: metric(*binary) for name, metric in BINARY.items()},
        "regression": {name: metric(*numbers) for name, metric in REGRESSION.items()},
        "classes": classes(columns["class_label"], columns["class_prediction"], columns["class_probability"]),
    }
    return {f"{kind}.{name}": float(value) for kind, values in found.items() for name, value in values.items()}


if __name__ == "__main__":
    _, data, warm_up = sys.argv[1:4]
    began = time.perf_counter()
    evaluate(warm_up)
    started = time.perf_counter() - began
    with measured() as cost:
        found = evaluate(data)
    report(started, cost, found)
