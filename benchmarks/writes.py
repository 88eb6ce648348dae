"""Rows into the folders of 30 days beside the same rows into plain parts: how many times longer it takes.

The days come one after the other, as clicks do, so that a fragment has one or two; or they are dealt over all rows
(``--dealt``), so that each fragment has every one of them, which makes the most files that there can be.
"""

from __future__ import annotations

import datetime as dt
import math
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

from benchmarks.side_by_side import arguments, folders, generated  # noqa: E402
from penstock import LocalEngine  # noqa: E402
from penstock.dataset import Dataset  # noqa: E402

_AT_MOST = 1.3
_ROUNDS = 3
_DAYS = 30
WRITES: dict[str, dict[str, Any]] = {"plain": {}, "30 days": {"partition_by": "day"}}


def add_days(clicks: Path, target: Path, rows: int, *, dealt: bool) -> None:
    """Write clicks with a day of thirty, dealt to them, or one after the other."""
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    day = place % _DAYS if dealt else place * _DAYS // rows
    days = (pl.lit(dt.date(2024, 1, 1)) + pl.duration(days=day)).cast(pl.Date).alias("day")
    pl.scan_parquet(clicks / "*.parquet").with_columns(days).sink_parquet(target)


def seconds(rows: Dataset, target: Path, parameters: dict[str, Any]) -> tuple[float, float, int]:
    """Return the wall and CPU seconds of a write, and how many files it made."""
    began, cpu = time.perf_counter(), time.process_time()
    result = rows.write_parquet(target, overwrite=True, **parameters)
    return time.perf_counter() - began, time.process_time() - cpu, result.files


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--dealt", action="store_true", help="deal the days over all rows")
    options = parser.parse_args()
    least = dict.fromkeys(WRITES, (math.inf, math.inf, 0))
    with folders(options.data) as (folder, scratch):
        days = scratch / "days.parquet"
        add_days(generated(generator, options.rows, folder), days, options.rows, dealt=options.dealt)
        rows = LocalEngine(device="cpu").read_parquet(days)
        for _ in range(_ROUNDS):
            for name, parameters in WRITES.items():
                least[name] = min(least[name], seconds(rows, scratch / name, parameters))
    ratio = least["30 days"][0] / least["plain"][0]
    shown = Table(title=f"{options.rows:,} clicks written: {ratio:.2f} times as long, at most {_AT_MOST}")
    for heading in ("write", "seconds", "CPU seconds", "files"):
        shown.add_column(heading, justify="right")
    for name, (wall, cpu, files) in least.items():
        shown.add_row(name, f"{wall:.2f}", f"{cpu:.2f}", str(files))
    Console().print(shown)


if __name__ == "__main__":
    main()
