"""Clicks on a GPU beside the same machine's cores, and beside cuDF, cuML and Polars by hand: one command, ten minutes.

Each part runs in a process of its own, the most telling first, and the figures are written after each of them.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

from benchmarks.on_gpu.machine import describe_machine  # noqa: E402
from benchmarks.on_gpu.parts import PARTS, Part, choose_parts  # noqa: E402
from benchmarks.on_gpu.report import Report, show, tell  # noqa: E402
from benchmarks.on_gpu.runner import Record, Setting, run_parts  # noqa: E402
from benchmarks.side_by_side import folders  # noqa: E402
from penstock import devices  # noqa: E402
from penstock.cli.reporting import describe  # noqa: E402
from penstock.errors import ConfigError, ExecutionError  # noqa: E402

ROWS, REHEARSED_ROWS = 40_000_000, 20_000
RESULTS = ROOT / "benchmarks" / "results" / "gpu.json"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line, with the rows that are worked on where none are given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help=f"{ROWS:,} unless given, {REHEARSED_ROWS:,} in a rehearsal")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all parts together")
    parser.add_argument("--out", type=Path, help="the JSON of figures; benchmarks/results/gpu.json unless given")
    parser.add_argument("--only", default="", help="works or parts (train, train.gpu), by comma; all unless given")
    parser.add_argument("--suite", action="store_true", help="run the tests on the GPU too, in the time that is left")
    parser.add_argument("--data", type=Path, help="keep generated data here; a temporary folder unless given")
    parser.add_argument("--rehearse", action="store_true", help="try all this without a GPU, on few rows")
    options = parser.parse_args(arguments)
    options.rows = options.rows or (REHEARSED_ROWS if options.rehearse else ROWS)
    if options.rehearse and options.out is None:
        parser.error("--rehearse needs --out: figures without a GPU are not to be taken for those of one")
    options.out = options.out or RESULTS
    return options


def require_gpu() -> int:
    """Return 0 where a GPU can be used; else say in a line why not, and return the exit code of the command line."""
    try:
        devices.choose("gpu")
        return 0
    except ConfigError as error:
        found = describe(error)
        hint = f" {found['hint']}" if found["hint"] else ""
        print(f"{found['message']}.{hint} Without a GPU, pass --rehearse.", file=sys.stderr)
        return int(found["exit_code"])


def run(options: argparse.Namespace, parts: Sequence[Part], console: Console) -> int:
    """Run the parts, show what they found, and return the exit code."""
    report = Report(options.out, facts(options))

    def done(record: Record) -> None:
        report.add(record)
        tell(record, console)

    with folders(options.data) as (folder, scratch):
        run_parts(parts, Setting(folder, scratch, options.rows, options.rehearse), 60 * options.minutes, done)
    show(f"clicks, {options.rows:,} rows", report.parts, console)
    return 0 if report.is_good() else int(describe(ExecutionError(""))["exit_code"])


def facts(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the figures are of."""
    return {
        "rows": options.rows,
        "minutes": options.minutes,
        "rehearsed": options.rehearse,
        "machine": describe_machine(),
    }


def main(arguments: Sequence[str] | None = None, parts: Sequence[Part] = PARTS) -> int:
    """Run the command line, and return its exit code: 2 without a GPU, 4 where a part failed or answers differ."""
    options = parse(arguments)
    try:
        chosen = choose_parts(options.only, suite=options.suite, parts=parts)
    except ValueError as error:
        print(error, file=sys.stderr)
        return int(describe(ConfigError(str(error)))["exit_code"])
    code = 0 if options.rehearse else require_gpu()
    return code or run(options, chosen, Console())


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that a part ends with this process
    sys.exit(main())
