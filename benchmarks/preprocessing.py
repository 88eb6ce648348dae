"""Preprocessing side by side: one-hot, target and quantile encoding and PCA, by ours, MLlib and scikit-learn."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import mixed as generator  # noqa: E402

from benchmarks.answers import difference  # noqa: E402
from benchmarks.contenders import CORES, PREPROCESSINGS, RANK_ERROR, WARM_UP_ROWS  # noqa: E402
from benchmarks.preprocessed import SPACED, categories, figures  # noqa: E402
from benchmarks.side_by_side import Results, arguments, folders, generated, ratios, run_all, save, show  # noqa: E402

_GOALS = {"mllib": 10.0, "sklearn": 3.0}  # times that the local engine should be as fast
_SUMS = 1e-9  # sums are taken in other orders
_SAME = {  # by how much figures may differ, relative to the largest; ranks by what `_rank_error` returns
    "encodings": _SUMS,
    "explained_variance_ratio": _SUMS,
    "components": 1e-6,  # an error of _SUMS turns them by that over the gap of two eigenvalues, over a hundredth
    "ones": 0.0,  # they are counted
    "encoded": _SUMS,
    "buckets": 0.01,  # each of 9 edges may be off by a thousandth of the rows, in one answer and in the other
    "scores": _SUMS,
}


def _rank_error(rows: int) -> float:
    """Return by how much edges may miss equal spacing: an edge is a value of the data, whose rank is a whole number."""
    return float((RANK_ERROR + 1 / rows) / SPACED.max())


def check(results: Results, data: Path, rows: int, console: Console) -> None:
    """Fail unless the contenders of each work learned, and wrote, the same; tell how near they are."""
    for of_work in results.values():
        first = next(iter(of_work))
        answers = {name: found["check"] for name, found in of_work.items()}
        known = figures(answers[first], data) | {"ranks": SPACED}
        for name, answer in answers.items():
            if categories(answer) != categories(answers[first]):
                raise SystemExit(f"{name} and {first} do not have the same categories")
            found = figures(answer, data)
            differences = {figure: difference(found[figure], known[figure]) for figure in known}
            of_work[name] |= {"differences": differences, "check": {"edges": answer["edges"]}}  # encodings are many
            _agree(f"{name} and {first}", differences, _SAME | {"ranks": _rank_error(rows)}, console)


def _agree(who: str, differences: dict[str, float], most: dict[str, float], console: Console) -> None:
    told = ", ".join(f"{figure} {value:.1e}" for figure, value in differences.items())
    console.print(f"{who} differ by: {told}", style="dim", highlight=False)
    if not all(value <= most[figure] for figure, value in differences.items()):  # nor where it is not a number
        raise SystemExit(f"{who} do not agree: {told}; expected at most {most}")


def show_goals(results: Results, console: Console) -> None:
    """Print how often the local engine is as fast as each peer at its best, and whether that was the goal."""
    found = ratios(PREPROCESSINGS, results, "seconds")
    for work in results:
        for peer, goal in _GOALS.items():
            of_peer = [
                value for name, value in found.items() if name.startswith(peer) and name.endswith(f"/local.{work}")
            ]
            if of_peer:
                told = "reached" if min(of_peer) >= goal else "missed"
                console.print(
                    f"{work}: {min(of_peer):.1f} times as fast as {peer}, goal {goal:.0f}: {told}", highlight=False
                )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", default="fit,fit_transform", help="works to run, by comma; both unless given")
    options = parser.parse_args()
    console, only, works = Console(), options.only.split(","), options.work.split(",")
    chosen = [
        each
        for each in PREPROCESSINGS
        if each.work in works and (not options.only or each.name.removesuffix(f".{each.work}") in only)
    ]
    with folders(options.data) as (folder, scratch):
        data, warm_up = (generated(generator, rows, folder) for rows in (options.rows, WARM_UP_ROWS))
        results = run_all(chosen, lambda _: (data, warm_up), scratch, console)
        check(results, data, options.rows, console)
    show(f"preprocessing, {options.rows:,} rows, {CORES} cores", PREPROCESSINGS, results, console)
    show_goals(results, console)
    if options.json:
        save(options.json, options.rows, PREPROCESSINGS, results)


if __name__ == "__main__":
    main()
