"""Parquet read from S3 beside the same files on disk: how many times the CPU seconds, for a fit and for all columns.

S3 is moto's server on loopback, in a process of its own whose seconds do not count; it needs the packages
`moto[server]` and `s3fs`. Rounds alternate, and what is compared are the medians.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks as generator  # noqa: E402

from benchmarks.ours import preparation  # noqa: E402
from benchmarks.side_by_side import arguments, folders, generated  # noqa: E402
from penstock import LocalEngine  # noqa: E402
from penstock.dataset import Dataset  # noqa: E402
from tests.servers import serving  # noqa: E402

_AT_MOST = 1.5
_BUCKET = "clicks"
_ROUNDS = 5


def fit(clicks: Dataset) -> object:
    """Fit the stages that `clicks.py` prepares rows with."""
    return preparation().fit(clicks)


WORKS: dict[str, Callable[[Dataset], object]] = {"fit": fit, "all columns": Dataset.to_arrow}


def seconds(work: Callable[[Dataset], object], path: str, options: dict[str, Any]) -> tuple[float, float]:
    """Return the CPU and wall seconds of this process for planning and reading."""
    began, cpu = time.perf_counter(), time.process_time()
    work(LocalEngine(device="cpu").read_parquet(path, storage_options=options))
    return time.process_time() - cpu, time.perf_counter() - began


def compare(places: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return the figures of each work in each place, and the ratio of their CPU seconds."""
    figures: dict[str, dict[str, Any]] = {}
    for name, work in WORKS.items():
        rounds: dict[str, list[tuple[float, float]]] = {place: [] for place in places}
        for _ in range(_ROUNDS + 1):
            for place, where in places.items():
                rounds[place].append(seconds(work, *where))
        cpu = {place: [of_round[0] for of_round in rounds[place][1:]] for place in places}  # the first one warms up
        wall = {place: [of_round[1] for of_round in rounds[place][1:]] for place in places}
        medians = {place: statistics.median(cpu[place]) for place in places}
        figures[name] = {"cpu_ratio": medians["S3"] / medians["disk"], "cpu_seconds": cpu, "wall_seconds": wall}
    return figures


def main() -> None:
    parser = arguments(__doc__)
    parser.set_defaults(rows=1_000_000)
    options = parser.parse_args()
    server = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with folders(options.data) as (folder, scratch), serving(server, scratch / "server.log") as moto:
        disk = generated(generator, options.rows, folder)
        client = {"endpoint_url": moto.says(r"Running on (http://\S+)"), "region_name": "us-east-1"}
        credentials = {"key": "benchmark", "secret": "benchmark", "client_kwargs": client}
        store: Any = fsspec.filesystem("s3", **credentials)
        store.call_s3("create_bucket", Bucket=_BUCKET)
        for file in sorted(disk.glob("*.parquet")):
            store.put_file(str(file), f"{_BUCKET}/{file.name}")
        places = {"disk": (f"{disk}/*.parquet", {}), "S3": (f"s3://{_BUCKET}/*.parquet", credentials)}
        figures = compare(places)
    show(options.rows, figures)
    if options.json:
        options.json.write_text(json.dumps({"rows": options.rows, "results": figures}, indent=1) + "\n")


def show(rows: int, figures: dict[str, dict[str, Any]]) -> None:
    """Print the medians."""
    shown = Table(title=f"{rows:,} clicks read from S3 and from disk: at most {_AT_MOST} times the CPU seconds")
    for heading in ("work", "place", "CPU seconds", "seconds", "ratio of CPU"):
        shown.add_column(heading, justify="right")
    for work, of_work in figures.items():
        for place, cpu in of_work["cpu_seconds"].items():
            wall = statistics.median(of_work["wall_seconds"][place])
            ratio = f"{of_work['cpu_ratio']:.2f}" if place == "S3" else ""
            shown.add_row(work, place, f"{statistics.median(cpu):.2f}", f"{wall:.2f}", ratio)
    Console().print(shown)


if __name__ == "__main__":
    main()
