"""The 22 queries in the manner of TPC-H, in the SQL that DuckDB is asked, have its rows on every engine."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest
import tpch
from tpch_sql import SQL

from penstock.engines.relational import RelationalEngine

EXACT = ("q4", "q12", "q16", "q21")
"""Those of no sum of floats, which every run tries on Dask and Spark: subqueries of all kinds, to the bit."""


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return tpch.tables(1000)


def ask(engine: RelationalEngine, tables: dict[str, pa.Table], query: str) -> pa.Table:
    data = {name: engine.from_arrow(table, fragment_bytes=2**15) for name, table in tables.items()}
    made = engine.sql(SQL[query], **data)
    rows = made.to_arrow()
    assert rows.schema == made.schema
    return rows


@pytest.mark.parametrize("query", SQL)
def test_a_query_has_the_rows_of_duckdb(local, tables, query):
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        expected = connection.sql(SQL[query]).to_arrow_table().to_pylist()
    rows = ask(local, tables, query).to_pylist()
    assert expected
    assert rows == [{name: close(value) for name, value in row.items()} for row in expected]


def close(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


@pytest.mark.parametrize("query", EXACT)
def test_a_query_has_the_rows_of_the_local_engine_on_a_cluster(distributed_engine, local, tables, query):
    assert ask(distributed_engine, tables, query).equals(ask(local, tables, query))
