"""A column of very many strings, counted exactly: seconds and peak memory of each process, by distinct values.

Each count runs in a process of its own, with two workers on Dask and Spark. Strings are numbers of 12 digits or so, in
an order that scatters them over all row groups, half of them twice.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

import penstock as ps  # noqa: E402
from benchmarks.side_by_side import folders  # noqa: E402
from penstock import stages as st  # noqa: E402
from penstock.dataset.tasks import Probe  # noqa: E402
from penstock.engines.base import Engine  # noqa: E402
from penstock.pipeline.cardinality import plan_counts  # noqa: E402
from penstock.statistics import ValueCounts  # noqa: E402

AT_MOST = 2.0  # GiB that twenty million strings, or fewer, may take
_FILE_ROWS, _GROUP_ROWS = 4_000_000, 200_000
_STRIDE, _SPREAD = 1_000_003, 0x9E3779B97F4A7C15  # a prime and an odd number: both scatter without a value twice


def texts(first: int, rows: int, distinct: int) -> pl.Series:
    """Return the strings of some rows; those of the first `distinct` rows all differ, then they begin anew."""
    places = np.arange(first, first + rows, dtype=np.uint64) * np.uint64(_STRIDE) % np.uint64(distinct)
    return pl.Series("key", places * np.uint64(_SPREAD) % np.uint64(2**40)).cast(pl.String)


def write(folder: Path, distinct: int) -> None:
    """Write half as many rows again as there are distinct strings."""
    rows = distinct * 3 // 2
    for number, first in enumerate(range(0, rows, _FILE_ROWS)):
        keys = texts(first, min(_FILE_ROWS, rows - first), distinct).to_arrow().cast(pa.string())
        pq.write_table(pa.table({"key": keys}), folder / f"{number}.parquet", row_group_size=_GROUP_ROWS)


def counted(data: ps.Dataset) -> tuple[int, int, int]:
    """Count the values themselves; only their numbers are asked for."""
    statistic = ValueCounts(("key",))
    probe = Probe(0, (statistic,))
    ((state,),), _ = data.probe(plan_counts(data, [probe], ps.CountOptions()).applied([probe]))
    found = statistic.finish(state)["key"]
    return found.distinct, found.total, found.at_least(2).distinct


def ordered(data: ps.Dataset) -> tuple[int, int, int]:
    """Fit an encoder that keeps every value, in order."""
    table = ps.Pipeline(st.CountEncoder("key")).fit(data).steps[0].fitted["counts"]["key"]
    counts = table["count"].to_numpy()
    return table.num_rows, int(counts.sum()), int((counts > 1).sum())


def indexed(data: ps.Dataset) -> tuple[int, ...]:
    """Fit an indexer that keeps a thousand values."""
    fitted = ps.Pipeline(st.StringIndexer("key", max_categories=1000, min_frequency=2)).fit(data).steps[0].fitted
    return (fitted["categories"]["key"].num_rows,)


WORK = {"count": counted, "index": indexed, "order": ordered}


def peak_gib() -> float:
    """Return the most memory this process has held; that of `getrusage` may be its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def started(engine: str) -> Engine:
    """Return an engine with two workers, or none."""
    if engine == "dask":
        cluster = {"class": "distributed.LocalCluster", "arguments": {"n_workers": 2, "threads_per_worker": 1}}
        return ps.DaskEngine(cluster, device="cpu")
    if engine == "spark":
        return ps.SparkEngine(conf={"spark.master": "local[2]", "spark.driver.memory": "4g"}, device="cpu")
    return ps.LocalEngine(device="cpu")


def measure(work: str, folder: str, fragment_bytes: int, engine_name: str) -> None:
    """Do the work in this process, and print what it took as the last line."""
    with started(engine_name) as engine:
        data = engine.read_parquet(f"{folder}/*.parquet", fragment_bytes=fragment_bytes)
        start, began = peak_gib(), time.perf_counter()
        found = WORK[work](data)
        taken = {"seconds": time.perf_counter() - began, "peak_gib": peak_gib()}
        workers = max(engine.map(lambda _: peak_gib(), range(8)))
    print(json.dumps({"start_gib": start, **taken, "worker_gib": workers, "found": found}))


def expected(work: str, distinct: int) -> list[int]:
    """Return what the work finds: all values, rows and values that occur twice; or how many an indexer keeps."""
    return [min(1000, distinct // 2)] if work == "index" else [distinct, distinct * 3 // 2, distinct // 2]


def run(work: str, folder: Path, fragment_bytes: int, engine: str, distinct: int) -> dict[str, Any]:
    """Return what a process of its own takes, and fail unless its counts are right."""
    command = [sys.executable, __file__, "--child", work, str(folder), str(fragment_bytes), engine]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout.strip().splitlines()[-1])
    if result["found"] != expected(work, distinct):
        raise SystemExit(f"{work} found {result['found']}, expected {expected(work, distinct)}")
    return result  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--distinct", type=int, nargs="+", default=[2_000_000, 5_000_000])
    parser.add_argument("--work", nargs="+", choices=list(WORK), default=list(WORK))
    parser.add_argument("--engine", choices=("local", "dask", "spark"), default="local")
    parser.add_argument("--fragment-bytes", type=int, default=32 * 2**20, help="of read_parquet; 32 MiB unless given")
    parser.add_argument("--data", type=Path, help="keep generated data here; a temporary folder unless given")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        work, folder, fragment_bytes, engine = options.child
        return measure(work, folder, int(fragment_bytes), engine)
    results = []
    with folders(options.data) as (folder, _):
        for distinct in options.distinct:
            target = folder / f"cardinality-{distinct}"
            if not target.exists():
                target.mkdir()
                write(target, distinct)
            for work in options.work:
                found = run(work, target, options.fragment_bytes, options.engine, distinct)
                results.append({"distinct": distinct, "engine": options.engine, "work": work, **found})
    show(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    check(results)
    return None


def check(results: list[dict[str, Any]]) -> None:
    """Fail when a count took more memory than is promised."""
    for r in results:
        if r["distinct"] <= 20_000_000 and r["engine"] == "local" and r["peak_gib"] > AT_MOST:
            raise SystemExit(f"{r['work']} of {r['distinct']:,} strings took {r['peak_gib']:.2f} GiB, over {AT_MOST}")


def show(results: list[dict[str, Any]]) -> None:
    shown = Table(title="exact counts")
    for heading in ("distinct", "engine", "work", "s", "peak GiB", "before GiB", "worker GiB"):
        shown.add_column(heading, justify="right")
    for r in results:
        sizes = [f"{r[each]:.2f}" for each in ("peak_gib", "start_gib", "worker_gib")]
        shown.add_row(f"{r['distinct']:,}", r["engine"], r["work"], f"{r['seconds']:.1f}", *sizes)
    Console().print(shown)


if __name__ == "__main__":
    main()
