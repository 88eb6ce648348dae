"""22 queries in the manner of TPC-H, as verbs and in the SQL that DuckDB is asked, have the rows that it gives."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import tpch
from tpch_sql import SQL

from benchmarks.tpch.verbs import QUERIES
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.engines.relational import RelationalEngine

ON_CLUSTERS = ("q13", "q22")
"""Those that every run tries on Dask and Spark: groups of groups, three kinds of join, what Spark SQL leaves to Polars.
"""
EXACT = ("q4", "q16")
"""Queries without sums of floats: every run tries their SQL there, to the bit (EXISTS, NOT IN, distinct counts)."""
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables as files, two of each: workers need not be sent rows, nor stage them for Spark."""
    made = tmp_path_factory.mktemp("tpch")
    tpch.write(made, 1000, files=2)
    return made


def datasets(engine: Engine, tables: dict[str, pa.Table]) -> dict[str, Dataset]:
    return {name: engine.from_arrow(table, fragment_bytes=2**15) for name, table in tables.items()}


def on_files(engine: Engine, folder: Path) -> dict[str, Dataset]:
    return {path.name: engine.read_parquet(path, allow_unmanifested=True) for path in folder.iterdir()}


def rows_of(made: Dataset) -> pa.Table:
    rows = made.to_arrow()
    assert rows.schema == made.schema
    return rows


def check(rows: pa.Table, expected: list[dict[str, Any]]) -> None:
    assert expected
    assert rows.to_pylist() == [{name: close(value) for name, value in row.items()} for row in expected]


def close(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


def check_verbs(data: dict[str, Dataset], queries: Iterable[str], oracle: Oracle, subtests: pytest.Subtests) -> None:
    for query in queries:
        with subtests.test(query):
            check(rows_of(QUERIES[query](data)), oracle(query))


@pytest.mark.thorough
def test_verbs_have_the_rows_of_duckdb(local, tables, oracle, subtests):
    check_verbs(datasets(local, tables), QUERIES, oracle, subtests)


def test_verbs_have_the_rows_of_duckdb_on_a_cluster(distributed_engine, folder, oracle, subtests):
    check_verbs(on_files(distributed_engine, folder), ON_CLUSTERS, oracle, subtests)


@pytest.mark.exhaustive
def test_all_other_verbs_have_the_rows_of_duckdb_on_a_cluster(distributed_engine, folder, oracle, subtests):
    others = [query for query in QUERIES if query not in ON_CLUSTERS]
    check_verbs(on_files(distributed_engine, folder), others, oracle, subtests)


@pytest.mark.thorough
def test_sql_has_the_rows_of_duckdb(local: RelationalEngine, tables, oracle, subtests):
    data = datasets(local, tables)
    for query, text in SQL.items():
        with subtests.test(query):
            check(rows_of(local.sql(text, **data)), oracle(query))


def test_sql_has_the_rows_of_the_local_engine_on_a_cluster(distributed_engine, local, folder, subtests):
    there, here = on_files(distributed_engine, folder), on_files(local, folder)
    for query in EXACT:
        with subtests.test(query):
            expected = rows_of(local.sql(SQL[query], **here))
            assert rows_of(distributed_engine.sql(SQL[query], **there)).equals(expected)
