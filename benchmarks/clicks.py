"""Clicks side by side: every contender in its own process on the same cores, ratios from one run."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks as generator  # noqa: E402

from benchmarks.contenders import CONTENDERS, CORES, WARM_UP_ROWS, Contender  # noqa: E402
from benchmarks.side_by_side import arguments, folders, generated, run_all, save, show  # noqa: E402

_SAME_AUC = 5e-3  # sketches of the quantiles differ with the number of partitions


def prepared(data: Path) -> Path:
    """Return the folder of the same clicks as numbers, for training; made once, by the local engine."""
    from benchmarks.ours import engine
    from benchmarks.peers.penstock_prepare import prepare

    target = data.with_name(f"{data.name}-prepared")
    if not target.exists():
        prepare(engine("local", CORES), str(data), str(target))
    return target


def check(results: dict[str, dict[str, Any]], work: str) -> None:
    """Fail unless all contenders learned the same."""
    (first, known), *others = [(name, found["check"]) for name, found in results.items()]
    for name, found in others:
        for key, values in known.items():
            if not _same(values, found[key], work):
                raise SystemExit(f"{name} and {first} do not agree on {key}:\n{found[key]}\n{values}")


def _same(left: Any, right: Any, work: str) -> bool:
    if work == "train":
        return math.isclose(left, right, abs_tol=_SAME_AUC)
    return all(
        math.isclose(a, b, rel_tol=1e-6) if isinstance(a, float) else a == b for a, b in zip(left, right, strict=True)
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", default="prepare,train")
    options = parser.parse_args()
    console, only = Console(), options.only.split(",")
    chosen = [each for each in CONTENDERS if each.work in options.work and (not options.only or each.name in only)]
    with folders(options.data) as (folder, scratch):
        sets = [generated(generator, rows, folder) for rows in (options.rows, WARM_UP_ROWS)]

        def inputs(contender: Contender) -> tuple[Path, Path]:
            data, warm_up = sets if contender.work == "prepare" else [prepared(each) for each in sets]
            return data, warm_up

        results = run_all(chosen, inputs, scratch, console)
    for work, of_work in results.items():
        check(of_work, work)
    show(f"clicks, {options.rows:,} rows, {CORES} cores", CONTENDERS, results, console)
    if options.json:
        save(options.json, options.rows, CONTENDERS, results)


if __name__ == "__main__":
    main()
