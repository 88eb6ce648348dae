"""Learning on day by day: a refit by the last day beside a fit on all days, and windows of a store of daily statistics.

Days are clicks in Parquet. What is fitted is their preparation: the mean that is filled in moves from day to day. A
side runs in a process of its own, turn by turn; medians are compared, and what was learned.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks  # noqa: E402

from benchmarks.measure import figures, measured, run_alone  # noqa: E402

_GOAL = 1 / 15
STORED_DAYS, STORED_ROWS = 365, 1000


def _engine() -> Any:
    from penstock import LocalEngine

    return LocalEngine(device="cpu")


def _preparation() -> Any:
    from benchmarks.ours import preparation

    return preparation()


def write_day(path: Path, rows: int, seed: int) -> None:
    """Write the clicks of a day."""
    pq.write_table(pa.concat_tables(clicks.generate(rows, seed)), path, compression="zstd", compression_level=1)


def prepare(folder: Path, days: int, rows: int) -> None:
    """Write the days, and the model of all days but the last; and few rows, with theirs."""
    paths = [folder / f"day-{day:03d}.parquet" for day in range(days)]
    for day, path in enumerate(paths):
        write_day(path, rows, day)
    write_day(folder / "few.parquet", STORED_ROWS, 0)
    fit(folder / "few.parquet").save(folder / "few")
    fit(*paths[:-1]).save(folder / "before")


def fit(*paths: Path) -> Any:
    """Return the model of days."""
    return _preparation().fit(_engine().read_parquet(list(map(str, paths))), keep_statistics=True)


def refit(folder: Path) -> Any:
    """Return the model of all days, from that of all but the last."""
    import penstock as ps

    last = sorted(folder.glob("day-*.parquet"))[-1]
    return ps.PipelineModel.load(folder / "before").refit(_engine().read_parquet(str(last)))


def whole(folder: Path) -> Any:
    """Return the model of all days, from their rows."""
    return fit(*sorted(folder.glob("day-*.parquet")))


SIDES = {"refit": refit, "whole": whole}


def alone(side: str, folder: str) -> None:
    """Do a side, and print what it took and learned; what it imports is loaded before, on a few rows."""
    import penstock as ps

    few = _engine().read_parquet(f"{folder}/few.parquet")
    ps.PipelineModel.load(f"{folder}/few").refit(few)
    with measured() as cost:
        model = SIDES[side](Path(folder))
    means = list(model.fitted[3]["mean"].values())
    print(json.dumps({**figures(cost), "means": means, "rows_read": model.report.rows.read}))


def compared(folder: Path, rounds: int) -> dict[str, Any]:
    """Return the medians of both sides, and their ratios."""
    runs = [{side: run_alone(__file__, side, folder) for side in SIDES} for _ in range(rounds)]
    one, other = (runs[0][side]["means"] for side in SIDES)
    if any(abs(mean - known) > 1e-9 * abs(known) for mean, known in zip(one, other, strict=True)):
        raise SystemExit("a refit has learned other means than a fit on all days")
    names = ("seconds", "cpu_seconds", "peak_bytes", "rows_read")
    found = {side: {name: statistics.median(run[side][name] for run in runs) for name in names} for side in SIDES}
    return {**found, "ratios": {name: found["refit"][name] / found["whole"][name] for name in names}}


def windows(folder: Path) -> dict[str, float]:
    """Return the seconds that spans of a store of daily statistics take, by the number of days."""
    import penstock as ps

    day = ps.PipelineModel.load(folder / "few")
    store, keys = ps.StatisticsStore(folder / "store"), [f"day-{number:03d}" for number in range(STORED_DAYS)]
    for key in keys:
        store.put(key, day)
    seconds = {}
    for days in (7, 28, STORED_DAYS):
        began = time.perf_counter()
        store.merge(keys[-days])
        seconds[str(days)] = time.perf_counter() - began
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=31)
    parser.add_argument("--rows", type=int, default=200_000, help="of a day")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepare(folder, options.days, options.rows)
        found = compared(folder, options.rounds)
        spans = windows(folder)
    table = Table("", "CPU s", "wall s", "peak MiB", "rows read")
    for side in SIDES:
        row = found[side]
        table.add_row(side, *(f"{row[name]:.2f}" for name in ("cpu_seconds", "seconds")),
                      f"{row['peak_bytes'] / 2**20:.0f}", f"{row['rows_read']:,.0f}")  # fmt: skip
    console = Console()
    console.print(table)
    console.print(f"CPU ratio {found['ratios']['cpu_seconds']:.3f}, to be at most {_GOAL:.3f}")
    console.print("windows of a store: " + ", ".join(f"{days} days {seconds:.2f} s" for days, seconds in spans.items()))
    if options.json:
        told = {"days": options.days, "rows": options.rows, **found, "windows": spans}
        options.json.write_text(json.dumps(told, indent=2))


if __name__ == "__main__":
    alone(*sys.argv[2:]) if sys.argv[1:2] == ["--alone"] else main()
