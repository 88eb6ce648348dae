"""Tables, and what DuckDB makes of them."""

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine

SALES = pa.table(
    {
        "row": pa.array(range(40), pa.int64()),
        "shop": pa.array([None if row % 7 == 3 else row % 4 for row in range(40)], pa.int64()),
        "sold": pa.array([None if row % 5 == 2 else row % 9 for row in range(40)], pa.int32()),
        "price": pa.array([None if row % 6 == 4 else (row * 37 % 11) / 8 for row in range(40)]),
        "day": pa.array([datetime.date(2024, 3, 1 + row * 13 % 28) for row in range(40)]),
    }
)
SHOPS = pa.table(
    {
        "shop": pa.array([2, 0, 1, None, 5, 0], pa.int32()),
        "town": ["Bé", "Aa", None, "nowhere", "Za", "Ab"],
        "sold": pa.array([1, 2, 3, 4, 5, 6], pa.int64()),
    }
)


def duck(sql: str, **tables: pa.Table) -> list[dict[str, Any]]:
    """Return the rows that DuckDB gives, which has the tables by their names."""
    import duckdb

    with duckdb.connect() as connection:
        for name, table in {"sales": SALES, "shops": SHOPS, **tables}.items():
            connection.register(name, table)
        rows: list[dict[str, Any]] = connection.sql(sql).to_arrow_table().to_pylist()
        return rows


def on_files(engine: Engine, folder: Path) -> dict[str, Dataset]:
    """Return the datasets of the folders of Parquet in a folder, by their names."""
    return {path.name: engine.read_parquet(path, allow_unmanifested=True) for path in folder.iterdir()}
