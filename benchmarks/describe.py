"""Descriptions side by side: what the columns of clicks hold, by ours, by MLlib and by Polars by hand."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks as generator  # noqa: E402

from benchmarks.contenders import CORES, DESCRIPTIONS, WARM_UP_ROWS  # noqa: E402
from benchmarks.side_by_side import arguments, folders, generated, run_all, save, show  # noqa: E402

_DISTINCT = 0.05  # how far estimates of different values may be from each other
_CLOSE = {"mean": 1e-9, "std": 1e-9}


def check(found: dict[str, dict[str, Any]]) -> None:
    """Fail unless all contenders found the same of each column."""
    (first, known), *others = [(name, each["check"]) for name, each in found.items()]
    for name, other in others:
        for column, facts in known.items():
            for fact, value in facts.items():
                if not _same(fact, value, other[column][fact]):
                    raise SystemExit(f"{name} and {first} differ in {fact} of {column}: {other[column][fact]}, {value}")


def _same(fact: str, left: float, right: float) -> bool:
    if fact == "distinct":
        return math.isclose(left, right, rel_tol=_DISTINCT)
    if fact == "quantiles":  # ranks may be off by a thousandth
        return True
    return math.isclose(left, right, rel_tol=_CLOSE.get(fact, 0.0))


def main() -> None:
    options = arguments(__doc__).parse_args()
    console, only = Console(), options.only.split(",")
    chosen = [each for each in DESCRIPTIONS if not options.only or each.name in only]
    with folders(options.data) as (folder, scratch):
        data, warm_up = (generated(generator, rows, folder) for rows in (options.rows, WARM_UP_ROWS))
        results = run_all(chosen, lambda _: (data, warm_up), scratch, console)
    check(results["describe"])
    show(f"description, {options.rows:,} rows, {CORES} cores", DESCRIPTIONS, results, console)
    if options.json:
        save(options.json, options.rows, DESCRIPTIONS, results)


if __name__ == "__main__":
    main()
