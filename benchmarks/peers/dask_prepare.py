"""dask.dataframe by hand: means and counts computed together, categories as pandas categoricals, a process a core."""

from __future__ import annotations

import sys
import time
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from benchmarks.contenders import CATEGORIES, CORES, COUNTS
from benchmarks.measure import measured, report


def logs(frame: pd.DataFrame, means: pd.Series) -> pd.DataFrame:
    """Return the logarithms of the clipped counts, filled by their means."""
    return np.log1p(frame[COUNTS].astype("float64").clip(lower=0).fillna(means))


def transform(
    frame: pd.DataFrame, means: pd.Series, log_means: pd.Series, log_stds: pd.Series, known: dict[str, pd.Index]
) -> pd.DataFrame:
    """Scale the counts; replace strings by their place in a vocabulary, null by one past its end and one more."""
    scaled = (logs(frame, means) - log_means) / log_stds
    coded = {}
    for name, values in known.items():
        codes = pd.Categorical(frame[name], categories=values).codes.astype("int32")
        coded[name] = np.where(codes < 0, len(values) + 1, codes)
    return frame.assign(**scaled, **coded)


def prepare(data: str, out: str) -> dict[str, Any]:
    clicks = dd.read_parquet(f"{data}/*.parquet", split_row_groups=True)
    counts = clicks[COUNTS].astype("float64").clip(lower=0)
    means, *counted = dask.compute(counts.mean(), *[clicks[name].value_counts() for name in CATEGORIES])
    vocabularies = {}
    for name, found in zip(CATEGORIES, counted, strict=True):
        table = found.rename("count").rename_axis("value").reset_index()
        vocabularies[name] = pd.Index(table.sort_values(["count", "value"], ascending=[False, True])["value"])
    taken = clicks[COUNTS].map_partitions(logs, means, meta=dict.fromkeys(COUNTS, "float64"))
    log_means, log_stds = dask.compute(taken.mean(), taken.std())
    meta = transform(clicks._meta, means, log_means, log_stds, vocabularies)
    made = clicks.map_partitions(transform, means, log_means, log_stds, vocabularies, meta=meta)
    made.to_parquet(out, compression="zstd", write_index=False)
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
