"""Training side by side: linear and logistic regression, k-means and a cross-validated ridge, by ours and by MLlib."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import measurements as generator  # noqa: E402

from benchmarks.answers import Rows, difference, figures  # noqa: E402
from benchmarks.contenders import CORES, HYPERPARAMETERS, TRAININGS, WARM_UP_ROWS  # noqa: E402
from benchmarks.side_by_side import Results, arguments, folders, generated, run_all, save, show  # noqa: E402

_LIMIT = 4 * 3600
_EXACT = 1e-6  # both solve for the minimum of a ridge, up to rounding
_SUMS = 1e-9  # sums are taken in other orders
_SAME = {  # by how much figures may differ, relative to the largest
    "linear": {"model": _EXACT},
    "ridge_cv": {"model": _EXACT, "mean_rmse": _SUMS, "reg_param": 0.0},
    "logistic": {"model": 1e-4, "objective": 1e-8},  # both stop short of the minimum, by rules of their own
    "kmeans": {"inertia": 0.02},  # from other seeds to other minima, and neither is the least
}


def check(results: Results, data: Path, console: Console) -> None:
    """Fail unless the contenders of each work converged to the same; tell how near they are."""
    rows = Rows.of(data)
    for work, of_work in results.items():
        for name, found in of_work.items():
            if work == "logistic" and found["iterations"] >= HYPERPARAMETERS[work]["max_iter"]:
                raise SystemExit(f"{name} has not converged after {found['iterations']} iterations")
        (first, known), *others = [(name, figures(work, found["check"], rows)) for name, found in of_work.items()]
        for name, found in others:
            differences = {figure: difference(found[figure], known[figure]) for figure in known}
            of_work[name]["differences"] = differences
            told = ", ".join(f"{figure} {value:.1e}" for figure, value in differences.items())
            console.print(f"{name} differs from {first} by: {told}", style="dim", highlight=False)
            if any(value > _SAME[work][figure] for figure, value in differences.items()):
                raise SystemExit(f"{name} and {first} do not agree: {told}; expected at most {_SAME[work]}")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", default=",".join(HYPERPARAMETERS), help="works to run, by comma; all unless given")
    options = parser.parse_args()
    console, only, works = Console(), options.only.split(","), options.work.split(",")
    chosen = [
        each
        for each in TRAININGS
        if each.work in works and (not options.only or each.name.removesuffix(f".{each.work}") in only)
    ]
    with folders(options.data) as (folder, scratch):
        data, warm_up = (generated(generator, rows, folder) for rows in (options.rows, WARM_UP_ROWS))
        results = run_all(chosen, lambda _: (data, warm_up), scratch, console, _LIMIT)
        check(results, data, console)
    show(f"training, {options.rows:,} rows, {CORES} cores", TRAININGS, results, console)
    if options.json:
        save(options.json, options.rows, TRAININGS, results)


if __name__ == "__main__":
    main()
