"""Search side by side: a grid over a whole pipeline on clicks, and boosted trees on the same clicks as numbers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "data")]

import clicks as generator  # noqa: E402

from benchmarks.clicks import prepared  # noqa: E402
from benchmarks.contenders import ABSENT, CATEGORIES, CORES, FOLD, METRIC, SEARCHES, SETTINGS, WARM_UP_ROWS, Contender  # noqa: E402
from benchmarks.searched import folds, settings  # noqa: E402
from benchmarks.side_by_side import Results, arguments, folders, generated, ratios, run_all, save, show  # noqa: E402

_LIMIT = 4 * 3600
_SAME = {  # by how much the mean of a setting may differ
    "mllib": 1e-3,  # MLlib's areas are of about 1,000 bins
    "sklearn": 5e-3,  # its code of a category that is unseen at fit is -1, the others' the last
    "xgboost": 3e-3,  # bins are cut from other samples
    "sparkxgb": 3e-3,
}
_GOALS = {
    "mllib.grid/local.grid": 20.0, "mllib.grid/spark.grid": 8.0, "sklearn.grid/local.grid": 5.0,
    "xgboost.boosted/local.boosted": 1.5, "xgboost.kept.boosted/local.boosted": 1.0,
    "sparkxgb.boosted/local.boosted": 3.0,
}  # fmt: skip


def dealt(data: Path) -> Path:
    """Return the folder of the same rows with the number of their fold, and no category null; written once."""
    target = data.with_name(f"{data.name}-{folds()}-folds")
    if not target.exists():
        rows = pl.read_parquet(f"{data}/*.parquet")
        fold = np.random.default_rng(0).integers(0, folds(), len(rows))
        texts = [column for column in CATEGORIES if rows.schema[column] == pl.String]
        target.mkdir()
        made = rows.with_columns(pl.col(texts).fill_null(ABSENT), pl.Series(FOLD, fold, pl.Int32))
        made.write_parquet(target / "part-00000.parquet", row_group_size=generator.CHUNK_ROWS)
    return target


def check(results: Results, console: Console) -> None:
    """Fail unless all contenders of a work come to the same means; tell how near they are."""
    for of_work in results.values():
        (first, known), *others = of_work.items()
        for name, found in others:
            apart = np.abs(np.subtract(found["check"][METRIC], known["check"][METRIC]))
            found["differences"] = {METRIC: float(apart.max())}
            console.print(f"{name} differs from {first} by {apart.max():.1e}", style="dim", highlight=False)
            if not apart.max() <= _SAME.get(name.partition(".")[0], 1e-12):
                raise SystemExit(f"{name} and {first} do not agree: {found['check']}, {known['check']}")


def show_goals(results: Results, console: Console) -> None:
    """Print how often ours is as fast as each peer, and whether that was the goal."""
    for name, ratio in ratios(SEARCHES, results, "seconds").items():
        told = "reached" if ratio >= _GOALS[name] else "missed"
        console.print(f"{name}: {ratio:.1f}, goal {_GOALS[name]:.1f}: {told}", highlight=False)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", default=",".join(SETTINGS), help="works to run, by comma; both unless given")
    parser.add_argument("--settings", help="the first so many settings; all unless given")
    parser.add_argument("--folds", help="how many folds; 5 unless given")
    options = parser.parse_args()
    asked = {"SEARCH_SETTINGS": options.settings, "SEARCH_FOLDS": options.folds}
    os.environ.update({name: value for name, value in asked.items() if value is not None})
    console, only, works = Console(), options.only.split(","), options.work.split(",")
    chosen = [
        each
        for each in SEARCHES
        if each.work in works and (not options.only or each.name.removesuffix(f".{each.work}") in only)
    ]
    with folders(options.data) as (folder, scratch):
        raw = [generated(generator, rows, folder) for rows in (options.rows, WARM_UP_ROWS)]

        def inputs(contender: Contender) -> tuple[Path, Path]:
            sets = [prepared(each) for each in raw] if contender.work == "boosted" else raw
            data, warm_up = (dealt(each) for each in sets)
            return data, warm_up

        results = run_all(chosen, inputs, scratch, console, _LIMIT)
    check(results, console)
    told = ", ".join(f"{len(settings(work))} settings of {work}" for work in results)
    show(f"search, {options.rows:,} rows, {folds()} folds, {told}, {CORES} cores", SEARCHES, results, console)
    show_goals(results, console)
    if options.json:
        save(options.json, options.rows, SEARCHES, results)


if __name__ == "__main__":
    main()
