"""Evaluation side by side: every metric of MLlib's evaluators, by ours in one call and by MLlib in one each."""

from __future__ import annotations

import math
import sys
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import scored as generator  # noqa: E402

from benchmarks.contenders import CORES, EVALUATIONS, METRICS, SHARED, WARM_UP_ROWS  # noqa: E402
from benchmarks.side_by_side import Results, arguments, folders, generated, run_all, save, show  # noqa: E402

_LIMIT = 4 * 3600
_SAME = 1e-9  # sums are taken in other orders
_WANTED = {"evaluate": METRICS, "shared": SHARED}


def check(results: Results) -> None:
    """Fail unless every contender has every metric of its work, all with the same values."""
    values: dict[str, dict[str, float | None]] = {}
    for work, of_work in results.items():
        wanted = [f"{kind}.{metric}" for kind, metrics in _WANTED[work].items() for metric in metrics]
        for name, found in of_work.items():
            for metric in wanted:
                values.setdefault(metric, {})[name] = found["check"].get(metric)
    for metric, of_metric in values.items():
        known = next(iter(of_metric.values()))
        if not all(_same(value, known) for value in of_metric.values()):
            raise SystemExit(f"{metric} is not the same for all contenders, or missing: {of_metric}")


def _same(left: float | None, right: float | None) -> bool:
    return left is not None and right is not None and math.isclose(left, right, rel_tol=_SAME, abs_tol=_SAME)


def main() -> None:
    options = arguments(__doc__).parse_args()
    console, only = Console(), options.only.split(",")
    chosen = [each for each in EVALUATIONS if not options.only or each.name in only]
    with folders(options.data) as (folder, scratch):
        data, warm_up = (generated(generator, rows, folder) for rows in (options.rows, WARM_UP_ROWS))
        results = run_all(chosen, lambda _: (data, warm_up), scratch, console, _LIMIT)
    check(results)
    show(f"evaluation, {options.rows:,} rows, {CORES} cores", EVALUATIONS, results, console)
    if options.json:
        save(options.json, options.rows, EVALUATIONS, results)


if __name__ == "__main__":
    main()
