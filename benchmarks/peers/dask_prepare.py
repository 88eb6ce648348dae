"""dask.dataframe by hand: means and counts computed together, categories as pandas categoricals, a process a core."""

from __future__ import annotations

import sys
import time
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from benchmarks.contenders import CATEGORIES, CORES, COUNTS
from benchmarks.measure import measured, report
from distributed import Client, LocalCluster


def encode(frame: pd.DataFrame, vocabularies: dict[str, pd.Index]) -> pd.DataFrame:
    """Replace strings by their place in a vocabulary, null by one past its end and one more."""
    coded = {}
    for name, known in vocabularies.items():
        codes = pd.Categorical(frame[name], categories=known).codes.astype("int32")
        coded[name] = np.where(codes < 0, len(known) + 1, codes)
    return frame.assign(**coded)


def prepare(data: str, out: str) -> dict[str, Any]:
    clicks = dd.read_parquet(f"{data}/*.parquet", split_row_groups="adaptive", blocksize="128MiB")
    counts = clicks[COUNTS].astype("float64").clip(lower=0)
    means, *counted = dask.compute(counts.mean(), *[clicks[name].value_counts() for name in CATEGORIES])
    vocabularies = {}
    for name, found in zip(CATEGORIES, counted, strict=True):
        table = found.rename("count").rename_axis("value").reset_index()
        vocabularies[name] = pd.Index(table.sort_values(["count", "value"], ascending=[False, True])["value"])
    logs = np.log1p(counts.fillna(means))
    log_means, log_stds = dask.compute(logs.mean(), logs.std())
    scaled = (logs - log_means) / log_stds
    made = clicks.assign(**{name: scaled[name] for name in COUNTS})
    meta = made._meta.assign(**{name: np.empty(0, "int32") for name in CATEGORIES})
    made.map_partitions(encode, vocabularies, meta=meta).to_parquet(out, compression="zstd", write_index=False)
    return {
        "means": list(means),
        "log_means": list(log_means),
        "log_stds": list(log_stds),
        "categories": [len(known) for known in vocabularies.values()],
        "first": [known[0] for known in vocabularies.values()],
    }


if __name__ == "__main__":
    _, data, warm_up, out = sys.argv[1:5]
    began = time.perf_counter()
    cluster = LocalCluster(
        n_workers=CORES, threads_per_worker=1, memory_limit="6GB", host="127.0.0.1", dashboard_address=None
    )
    with Client(cluster):
        prepare(warm_up, f"{out}-warm")
        started = time.perf_counter() - began
        with measured() as cost:
            learned = prepare(data, out)
        report(started, cost, learned)
