"""Polars by hand: one streaming query for all but the quantiles, which take the columns into memory."""

from __future__ import annotations

import sys
import time
from typing import Any

import polars as pl

from benchmarks.contenders import CATEGORIES, COUNTS, LEVELS
from benchmarks.measure import measured, report

_FACTS = {
    "count": pl.Expr.count, "missing": pl.Expr.null_count, "mean": pl.Expr.mean, "std": pl.Expr.std, "min": pl.Expr.min,
    "max": pl.Expr.max,
}  # fmt: skip


def describe(data: str) -> dict[str, dict[str, Any]]:
    clicks = pl.scan_parquet(f"{data}/*.parquet")
    facts = {
        (name, fact): of(pl.col(name))
        for name in (*COUNTS, *CATEGORIES)
        for fact, of in _FACTS.items()
        if name in COUNTS or fact in ("count", "missing")
    }
    facts |= {(name, "distinct"): pl.col(name).drop_nulls().n_unique() for name in (*COUNTS, *CATEGORIES)}
    facts |= {(name, f"{level}"): pl.col(name).quantile(level, "lower") for name in COUNTS for level in LEVELS}
    row = (
        clicks.select(**{f"{place}": each for place, each in enumerate(facts.values())})
        .collect(engine="streaming")
        .row(0)
    )
    found: dict[str, dict[str, Any]] = {name: {} for name in (*COUNTS, *CATEGORIES)}
    levels = {f"{level}" for level in LEVELS}
    for (name, fact), value in zip(facts, row, strict=True):
        if fact in levels:
            found[name].setdefault("quantiles", []).append(value)
        else:
            found[name][fact] = value
    return found


if __name__ == "__main__":
    _, data, warm_up, _ = sys.argv[1:5]
    began = time.perf_counter()
    describe(warm_up)
    started = time.perf_counter() - began
    with measured() as cost:
        found = describe(data)
    report(started, cost, found)
