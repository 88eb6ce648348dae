"""Rows into the folders of 30 days beside the same rows into plain parts: how many times the CPU seconds it takes.

The days come one after the other, as clicks do, so that a fragment has one or two; or they are dealt over all rows
(``--dealt``), so that each fragment has every one of them. Rounds alternate, and what is compared are the medians; peak
memory is that of a round before, of this process and those that it has started.
"""

from __future__ import annotations

import datetime as dt
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks as generator  # noqa: E402

from benchmarks.contenders import CORES  # noqa: E402
from benchmarks.measure import cpu_seconds, measured  # noqa: E402
from benchmarks.ours import engine  # noqa: E402
from benchmarks.side_by_side import arguments, folders, generated  # noqa: E402
from penstock.dataset import Dataset  # noqa: E402

_AT_MOST = 1.3
_ROUNDS = 5
_DAYS = 30
WRITES: dict[str, dict[str, Any]] = {"plain": {}, "30 days": {"partition_by": "day"}}


def add_days(clicks: Path, target: Path, rows: int, *, dealt: bool) -> None:
    """Write clicks with a day of thirty, dealt to them, or one after the other."""
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    day = place % _DAYS if dealt else place * _DAYS // rows
    days = (pl.lit(dt.date(2024, 1, 1)) + pl.duration(days=day)).cast(pl.Date).alias("day")
    pl.scan_parquet(clicks / "*.parquet").with_columns(days).sink_parquet(target)


def seconds(rows: Dataset, target: Path, parameters: dict[str, Any]) -> tuple[float, float]:
    """Return the CPU and wall seconds of a write."""
    began, cpu = time.perf_counter(), cpu_seconds()
    rows.write_parquet(target, overwrite=True, **parameters)
    return cpu_seconds() - cpu, time.perf_counter() - began


def figures(rows: Dataset, scratch: Path) -> dict[str, dict[str, Any]]:
    """Return what each write costs: seconds by round, files, and bytes of memory."""
    found: dict[str, dict[str, Any]] = {}
    for name, parameters in WRITES.items():
        with measured() as cost:  # first of all, while this process holds nothing, and as a warm-up
            files = rows.write_parquet(scratch / name, overwrite=True, **parameters).files
        found[name] = {"files": files, "peak_bytes": cost.peak_bytes, "cpu_seconds": [], "wall_seconds": []}
    for _ in range(_ROUNDS):
        for name, parameters in WRITES.items():
            cpu, wall = seconds(rows, scratch / name, parameters)
            found[name]["cpu_seconds"].append(cpu)
            found[name]["wall_seconds"].append(wall)
    return found


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--dealt", action="store_true", help="deal the days over all rows")
    parser.add_argument("--engine", choices=["local", "dask", "spark"], default="local")
    options = parser.parse_args()
    with folders(options.data) as (folder, scratch):
        days = scratch / "days.parquet"
        add_days(generated(generator, options.rows, folder), days, options.rows, dealt=options.dealt)
        with engine(options.engine, CORES) as runner:
            found = figures(runner.read_parquet(days), scratch)
    ratios = {
        figure: statistics.median(found["30 days"][figure]) / statistics.median(found["plain"][figure])
        for figure in ("cpu_seconds", "wall_seconds")
    }
    show(f"{options.rows:,} clicks written: {ratios['cpu_seconds']:.2f} times the CPU, at most {_AT_MOST}", found)
    if options.json:
        said = {"rows": options.rows, "engine": options.engine, "dealt": options.dealt}
        options.json.write_text(json.dumps({**said, "ratios": ratios, "results": found}, indent=1) + "\n")


def show(title: str, found: dict[str, dict[str, Any]]) -> None:
    """Print the medians."""
    shown = Table(title=title)
    for heading in ("write", "CPU seconds", "seconds", "files", "peak GiB"):
        shown.add_column(heading, justify="right")
    for name, of_write in found.items():
        cpu, wall = statistics.median(of_write["cpu_seconds"]), statistics.median(of_write["wall_seconds"])
        peak = of_write["peak_bytes"] / 2**30
        shown.add_row(name, f"{cpu:.2f}", f"{wall:.2f}", str(of_write["files"]), f"{peak:.2f}")
    Console().print(shown)


if __name__ == "__main__":
    main()
