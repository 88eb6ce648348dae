"""How the local engine grows: fit, transform and write at several sizes, seconds per row and peak memory."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks as generator  # noqa: E402

from benchmarks.contenders import CORES, WARM_UP_ROWS, Contender  # noqa: E402
from benchmarks.side_by_side import folders, generated, run  # noqa: E402

OURS = Contender("local", "prepare", "penstock_prepare.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 4_000_000, 16_000_000])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--data", type=Path, help="keep generated data here; a temporary folder unless given")
    options = parser.parse_args()
    results = {}
    with folders(options.data) as (folder, scratch):
        warm_up = generated(generator, WARM_UP_ROWS, folder)
        for rows in options.rows:
            results[rows] = run(OURS, generated(generator, rows, folder), warm_up, scratch)
    shown = Table(title=f"fit, transform and write on the local engine, {CORES} cores")
    for heading in ("rows", "wall s", "us/row", "CPU us/row", "peak GiB"):
        shown.add_column(heading, justify="right")
    for rows, r in results.items():
        shown.add_row(
            f"{rows:,}", f"{r['seconds']:.1f}", f"{1e6 * r['seconds'] / rows:.2f}",
            f"{1e6 * r['cpu_seconds'] / rows:.2f}", f"{r['peak_bytes'] / 2**30:.2f}",
        )  # fmt: skip
    Console().print(shown)
    if options.json:
        options.json.write_text(json.dumps({str(rows): r for rows, r in results.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
