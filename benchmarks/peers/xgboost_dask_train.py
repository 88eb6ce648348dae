"""xgboost.dask on the same prepared rows: DaskQuantileDMatrix, a worker a core."""

from __future__ import annotations

import sys
import time
from typing import Any

import dask.dataframe as dd
import xgboost as xgb
from distributed import Client, LocalCluster, wait
from sklearn.metrics import roc_auc_score
from xgboost import dask as dxgb

from benchmarks.contenders import BINS, CATEGORIES, CORES, COUNTS, DEPTH, ROUNDS
from benchmarks.measure import measured, report


def train(client: Client, data: str, rounds: int) -> Any:
    rows = dd.read_parquet(f"{data}/*.parquet", split_row_groups="adaptive").persist()
    wait(rows)
    matrix = dxgb.DaskQuantileDMatrix(client, rows[[*COUNTS, *CATEGORIES]], rows["label"], max_bin=BINS)
    settings = {"objective": "binary:logistic", "tree_method": "hist", "max_depth": DEPTH, "max_bin": BINS}
    return dxgb.train(client, settings, matrix, num_boost_round=rounds)["booster"]


if __name__ == "__main__":
    _, data, warm_up, _ = sys.argv[1:5]
    began = time.perf_counter()
    cluster = LocalCluster(
        n_workers=CORES, threads_per_worker=1, memory_limit="8GB", host="127.0.0.1", dashboard_address=None
    )
    with Client(cluster) as client:
        train(client, warm_up, 2)
        started = time.perf_counter() - began
        with measured() as cost:
            booster = train(client, data, ROUNDS)
        rows = dd.read_parquet(f"{warm_up}/*.parquet").compute()
        scores = booster.predict(xgb.DMatrix(rows[[*COUNTS, *CATEGORIES]]))
        report(started, cost, {"auc": roc_auc_score(rows["label"], scores)})
