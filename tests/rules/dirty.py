"""Rows with something wrong in every column, in two files."""

from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from penstock.dataset import Dataset
from penstock.engines.base import Engine

ROWS = 400
_ZIPS = ("8001", "80 01", "", None, "4051")


def dirty_rows() -> pl.DataFrame:
    """Return rows with duplicates, nulls, NaN, values out of range, codes that are not known, and odd texts."""
    rng = np.random.default_rng(7)
    age = rng.integers(0, 120, ROWS).astype(float)
    age[rng.integers(0, ROWS, 9)] = np.nan
    age[[301, 333]] = [-4, 130]
    days = [date(2024, 1, 1) + timedelta(int(each)) for each in rng.integers(0, 60, ROWS)]
    return pl.DataFrame(
        {
            "id": [None if each % 97 == 0 else int(each) for each in [*range(ROWS - 3), 8, 8, 250]],
            "age": age,
            "shop": [None if each == 4 else f"s{each}" for each in rng.integers(0, 5, ROWS)],
            "zip": [_ZIPS[each] for each in rng.choice(5, ROWS, p=[0.5, 0.01, 0.01, 0.08, 0.4])],
            "day": [None if each == 11 else day for each, day in enumerate(days)],
            "seen": [datetime(2024, 3, 1, 12) + timedelta(minutes=int(each)) for each in rng.integers(0, 999, ROWS)],
            "amount": rng.integers(-(2**40), 2**62, ROWS),
            "empty": pl.Series([None] * ROWS, dtype=pl.Float64),
        }
    )


def oracle_rows() -> pl.DataFrame:
    """Return the same rows as a dataset has them: NaN is null."""
    return dirty_rows().with_columns(pl.col("age").fill_nan(None))


def dirty_dataset(engine: Engine, folder: Path) -> Dataset:
    """Return the rows in two files of two row groups each, which are several fragments."""
    rows = dirty_rows()
    for place, part in enumerate((rows[:170], rows[170:])):
        part.write_parquet(folder / f"{place}.parquet", row_group_size=100)
    (folder / "_SUCCESS").touch()
    return engine.read_parquet(str(folder / "*.parquet"))
