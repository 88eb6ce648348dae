"""Monitoring beside scoring: clicks scored and written with the comparison with the model's profile, and without.

A side runs in a process of its own, turn by turn; medians are compared, and that both write the same scores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
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

_FRAGMENT_ROWS = 100_000
_GOAL = 1.25
SIDES = {"scored": False, "monitored": True}


def _engine() -> Any:
    from penstock import LocalEngine

    return LocalEngine(device="cpu")


def prepare(folder: Path, rows: int) -> None:
    """Write the rows to fit on and to score, and the model with its profile."""
    from pipelines.clicks import Parameters, build

    for place in range(max(1, rows // _FRAGMENT_ROWS) + 1):
        table = pa.concat_tables(clicks.generate(min(rows, _FRAGMENT_ROWS), place))
        pq.write_table(table, folder / f"{place:03d}.parquet", compression="zstd", compression_level=1)
    build(Parameters()).fit(_engine().read_parquet(str(folder / "000.parquet")), keep_profile=True).save(
        folder / "model"
    )


def alone(side: str, folder: Path) -> None:
    """Do a side, and print what it took; what it imports is loaded before, on the rows of the fit."""
    import penstock as ps

    model, parts = ps.PipelineModel.load(folder / "model"), sorted(map(str, folder.glob("*.parquet")))
    out = folder / f"scored-{side}"
    model.transform(_engine().read_parquet(parts[:1]), monitor=SIDES[side]).write_parquet(out, overwrite=True)
    with measured() as cost:
        written = model.transform(_engine().read_parquet(parts[1:]), monitor=SIDES[side]).write_parquet(
            out, overwrite=True
        )
    alarms = None if written.drift is None else len(written.drift.drifted)
    print(json.dumps({**figures(cost), "rows": written.rows, "alarms": alarms}))


def compared(folder: Path, rounds: int) -> dict[str, Any]:
    """Return the medians of both sides, and their ratios."""
    runs = [{side: run_alone(__file__, side, folder) for side in SIDES} for _ in range(rounds)]
    one, other = (pq.read_table(folder / f"scored-{side}") for side in SIDES)
    if not one.equals(other):
        raise SystemExit("monitoring has changed the scores")
    names = ("seconds", "cpu_seconds", "peak_bytes", "rows")
    found = {side: {name: statistics.median(run[side][name] for run in runs) for name in names} for side in SIDES}
    ratios = {name: found["monitored"][name] / found["scored"][name] for name in names}
    return {**found, "alarms": runs[0]["monitored"]["alarms"], "ratios": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        prepare(Path(temporary), options.rows)
        found = compared(Path(temporary), options.rounds)
    table = Table("", "CPU s", "wall s", "peak MiB")
    for side in SIDES:
        row = found[side]
        table.add_row(
            side, *(f"{row[name]:.2f}" for name in ("cpu_seconds", "seconds")), f"{row['peak_bytes'] / 2**20:.0f}"
        )
    console = Console()
    console.print(table)
    console.print(
        f"CPU ratio {found['ratios']['cpu_seconds']:.2f}, goal {_GOAL}; columns with an alarm: {found['alarms']}"
    )
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        alone(sys.argv[2], Path(sys.argv[3]))
    else:
        main()
