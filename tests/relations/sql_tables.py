"""What a query of `engine.sql` gives, and what DuckDB gives for the same text."""

from typing import Any

import pyarrow as pa
import pytest
from duck_tables import SALES, SHOPS, duck

from penstock.dataset.dataset import Dataset
from penstock.engines.relational import RelationalEngine


def ask(engine: RelationalEngine, text: str, **tables: pa.Table) -> Dataset:
    """Return the dataset of a query over sales, shops and other tables, which lie in several fragments."""
    given = {"sales": SALES, "shops": SHOPS, **tables}
    return engine.sql(text, **{name: engine.from_arrow(table, fragment_bytes=500) for name, table in given.items()})


def check(engine: RelationalEngine, text: str, **tables: pa.Table) -> list[dict[str, Any]]:
    """Assert that a query has the columns and rows of DuckDB, in their order where it has ORDER BY; return the rows."""
    made = ask(engine, text, **tables)
    rows = made.to_arrow()
    assert rows.schema == made.schema
    mine, its = rows.to_pylist(), duck(text, **tables)
    if "ORDER BY" not in text.upper():
        mine, its = sorted(mine, key=repr), sorted(its, key=repr)
    assert mine == [{name: close(value) for name, value in row.items()} for row in its]
    return mine


def close(value: Any) -> Any:
    """Return what a value is compared with: sums of floats differ in their last bits."""
    return pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
