"""scikit-learn in memory: one model of the measurements, on a matrix that holds all rows."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pyarrow.dataset as ds
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.contenders import CORES, FEATURES, HYPERPARAMETERS
from benchmarks.measure import measured, report


def _read(data: str, *columns: str) -> np.ndarray:
    table = ds.dataset(data, format="parquet").to_table(columns=list(columns))
    return np.column_stack([column.to_numpy().astype(np.float64, copy=False) for column in table.columns])


def _kmeans(data: str) -> tuple[dict[str, Any], dict[str, Any]]:
    rows, asked = _read(data, *FEATURES), HYPERPARAMETERS["kmeans"]
    tol = asked["tol"] ** 2 / rows.var(axis=0).mean()  # it compares squares of all moves, by the mean variance
    model = KMeans(asked["k"], n_init=1, max_iter=asked["max_iter"], tol=tol, random_state=asked["seed"]).fit(rows)
    return {"centres": model.cluster_centers_.tolist()}, {"iterations": model.n_iter_, "cost": float(model.inertia_)}


def _logistic(data: str) -> tuple[dict[str, Any], dict[str, Any]]:
    rows, label = _read(data, *FEATURES), _read(data, "label")[:, 0]
    asked, scaler = HYPERPARAMETERS["logistic"], StandardScaler(copy=False)
    scaled = scaler.fit_transform(rows)
    strength = 1 / (asked["reg_param"] * len(rows))
    model = LogisticRegression(C=strength, tol=asked["tol"], max_iter=10 * asked["max_iter"]).fit(scaled, label)
    coefficients = model.coef_[0] / scaler.scale_
    intercept = float(model.intercept_[0] - coefficients @ scaler.mean_)
    return {"coefficients": coefficients.tolist(), "intercept": intercept}, {"iterations": int(model.n_iter_[0])}


WORKS = {"kmeans": _kmeans, "logistic": _logistic}


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    train = WORKS[name.partition(".")[2]]
    with threadpool_limits(CORES):
        train(warm_up)
        started = time.perf_counter() - began
        with measured() as cost:
            answer, details = train(data)
    report(started, cost, answer, details)


if __name__ == "__main__":
    main(*sys.argv[1:4])
