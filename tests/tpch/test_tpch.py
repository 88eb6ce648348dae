"""22 queries in the manner of TPC-H, as verbs and in the SQL that DuckDB is asked, have the rows that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pytest
import tpch
from tpch_sql import SQL

from benchmarks.tpch.verbs import QUERIES
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.relational import RelationalEngine

ON_CLUSTERS = ("q1", "q13", "q15", "q18", "q21", "q22")
"""Those that every run tries on Dask and Spark: aggregates, joins of all kinds, what Spark SQL leaves to Polars."""
EXACT = ("q4", "q12", "q16", "q21")
"""Those of no sum of floats, whose SQL every run tries there: subqueries of all kinds, to the bit."""
Oracle = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    return tpch.tables(1000)


@pytest.fixture(scope="module")
def oracle(tables: dict[str, pa.Table]) -> Any:
    import duckdb

    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        yield lambda query: connection.sql(SQL[query]).to_arrow_table().to_pylist()


def datasets(engine: Engine, tables: dict[str, pa.Table]) -> dict[str, Dataset]:
    return {name: engine.from_arrow(table, fragment_bytes=2**15) for name, table in tables.items()}


def rows_of(made: Dataset) -> pa.Table:
    rows = made.to_arrow()
    assert rows.schema == made.schema
    return rows


def check(rows: pa.Table, expected: list[dict[str, Any]]) -> None:
    assert expected
    assert rows.to_pylist() == [{name: close(value) for name, value in row.items()} for row in expected]


def close(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


def check_verbs(
    engine: Engine, tables: dict[str, pa.Table], queries: Iterable[str], oracle: Oracle, subtests: pytest.Subtests
) -> None:
    data = datasets(engine, tables)
    for query in queries:
        with subtests.test(query):
            check(rows_of(QUERIES[query](data)), oracle(query))


def test_verbs_have_the_rows_of_duckdb(local, tables, oracle, subtests):
    check_verbs(local, tables, QUERIES, oracle, subtests)


def test_verbs_have_the_rows_of_duckdb_on_a_cluster(distributed_engine, tables, oracle, subtests):
    check_verbs(distributed_engine, tables, ON_CLUSTERS, oracle, subtests)


@pytest.mark.exhaustive
def test_all_other_verbs_have_the_rows_of_duckdb_on_a_cluster(distributed_engine, tables, oracle, subtests):
    others = [query for query in QUERIES if query not in ON_CLUSTERS]
    check_verbs(distributed_engine, tables, others, oracle, subtests)


def test_sql_has_the_rows_of_duckdb(local: RelationalEngine, tables, oracle, subtests):
    data = datasets(local, tables)
    for query, text in SQL.items():
        with subtests.test(query):
            check(rows_of(local.sql(text, **data)), oracle(query))


def test_sql_has_the_rows_of_the_local_engine_on_a_cluster(distributed_engine, local, tables, subtests):
    there, here = datasets(distributed_engine, tables), datasets(local, tables)
    for query in EXACT:
        with subtests.test(query):
            expected = rows_of(local.sql(SQL[query], **here))
            assert rows_of(distributed_engine.sql(SQL[query], **there)).equals(expected)
