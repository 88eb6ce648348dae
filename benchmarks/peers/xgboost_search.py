"""A loop by hand over folds and settings around `xgboost.train`: a matrix for each model, or kept for each fold."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import polars as pl
import xgboost as xgb
from sklearn.metrics import roc_auc_score

from benchmarks.contenders import BINS, CATEGORIES, CORES, COUNTS, FOLD, METRIC, ROUNDS
from benchmarks.measure import measured, report
from benchmarks.searched import folds, settings


def search(data: str, rounds: int, *, keep: bool) -> list[float]:
    """Return the mean of the metric of each setting."""
    rows = pl.read_parquet(f"{data}/*.parquet")
    x = rows.select(COUNTS + CATEGORIES).cast(pl.Float32).fill_null(np.nan).to_numpy()
    y, fold = rows["label"].to_numpy(), rows[FOLD].to_numpy()
    scores = np.zeros((folds(), len(settings("boosted"))))
    for number in range(folds()):
        held_out = fold == number
        made = _matrices(x, y, held_out) if keep else None
        for place, setting in enumerate(settings("boosted")):
            train, validation = made or _matrices(x, y, held_out)
            booster = xgb.train(_parameters(setting), train, rounds)
            scores[number, place] = roc_auc_score(y[held_out], booster.predict(validation))
    return list(scores.mean(axis=0))


def _matrices(x: Any, y: Any, held_out: Any) -> tuple[xgb.QuantileDMatrix, xgb.QuantileDMatrix]:
    train = xgb.QuantileDMatrix(x[~held_out], y[~held_out], max_bin=BINS, nthread=CORES)
    return train, xgb.QuantileDMatrix(x[held_out], y[held_out], ref=train, max_bin=BINS, nthread=CORES)


def _parameters(setting: dict[str, Any]) -> dict[str, Any]:
    common = {"objective": "binary:logistic", "tree_method": "hist", "max_bin": BINS, "nthread": CORES}
    return {**common, **setting}


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    keep = ".kept." in name
    search(warm_up, 2, keep=keep)
    started = time.perf_counter() - began
    with measured() as cost:
        found = search(data, ROUNDS, keep=keep)
    report(started, cost, {METRIC: found})


if __name__ == "__main__":
    main(*sys.argv[1:4])
