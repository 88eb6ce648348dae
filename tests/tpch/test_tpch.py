"""22 queries in the manner of TPC-H, written as verbs, have the rows that DuckDB gives for their SQL."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest
import tpch
from tpch_sql import SQL

from benchmarks.tpch.verbs import QUERIES
from penstock.engines.base import Engine

ON_CLUSTERS = ("q1", "q13", "q15", "q18", "q21", "q22")
"""Those that every run tries on Dask and Spark: aggregates, joins of all kinds, what Spark SQL leaves to Polars."""


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return tpch.tables(1000)


@pytest.fixture(scope="module")
def oracle(tables: dict[str, pa.Table]) -> Any:
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        yield lambda query: connection.sql(SQL[query]).to_arrow_table().to_pylist()


def check(engine: Engine, tables: dict[str, pa.Table], query: str, expected: list[dict[str, Any]]) -> None:
    data = {name: engine.from_arrow(table, fragment_bytes=2**15) for name, table in tables.items()}
    made = QUERIES[query](data)
    rows = made.to_arrow()
    assert expected
    assert rows.schema == made.schema
    assert len(expected) == rows.num_rows
    for mine, its in zip(rows.to_pylist(), expected, strict=True):
        assert mine == {name: close(value) for name, value in its.items()}


def close(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_has_the_rows_of_duckdb(local, tables, oracle, query):
    check(local, tables, query, oracle(query))


@pytest.mark.parametrize("query", ON_CLUSTERS)
def test_a_query_has_the_rows_of_duckdb_on_a_cluster(distributed_engine, tables, oracle, query):
    check(distributed_engine, tables, query, oracle(query))


@pytest.mark.exhaustive
@pytest.mark.parametrize("query", [query for query in QUERIES if query not in ON_CLUSTERS])
def test_every_other_query_has_the_rows_of_duckdb_on_a_cluster(distributed_engine, tables, oracle, query):
    check(distributed_engine, tables, query, oracle(query))
