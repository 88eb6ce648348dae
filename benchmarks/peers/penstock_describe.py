"""Ours, on the engine named: all that `describe` says, or with ``.full`` all that its page shows."""

from __future__ import annotations

import sys
import time
from typing import Any

from benchmarks.contenders import CATEGORIES, CORES, COUNTS, LEVELS
from benchmarks.measure import measured, report
from benchmarks.ours import engine
from penstock.dataset.description.column_description import ColumnDescription
from penstock.dataset.description.data_description import DataDescription


def facts(column: ColumnDescription) -> dict[str, Any]:
    """Return what all contenders find of a column."""
    found = {"count": column.count, "missing": column.missing, "distinct": column.distinct}
    if column.name not in COUNTS:
        return found
    numbers = {name: getattr(column, name) for name in ("mean", "std", "min", "max")}
    return {**found, **numbers, "quantiles": [column.quantiles[level] for level in LEVELS]}


def main(name: str, data: str, warm_up: str) -> None:
    began = time.perf_counter()
    kind, _, how = name.partition(".")
    runner = engine(kind, CORES)

    def run(folder: str) -> DataDescription:
        rows = runner.read_parquet(f"{folder}/*.parquet")
        return rows.describe([*COUNTS, *CATEGORIES], quantiles=LEVELS, full=how == "full")  # type: ignore[no-any-return]

    run(warm_up)
    started = time.perf_counter() - began
    with measured() as cost:
        found = run(data)
    report(started, cost, {column.name: facts(column) for column in found.columns})


if __name__ == "__main__":
    main(*sys.argv[1:4])
