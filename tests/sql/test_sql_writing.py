"""Rows into tables: all of them or none, whatever happens on the way."""

import datetime as dt
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from eventually import until
from sql_statements import run

import penstock as ps
from penstock import frames
from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import (
    CommitConflictError,
    ConfigError,
    DataValueError,
    OutputError,
    OutputExistsError,
    RowCountError,
    SchemaDriftError,
)
from penstock.io.databases import find_database
from penstock.io.databases.base import TableName
from penstock.io.fragments import row_bytes
from penstock.io.sinks import sql
from penstock.io.sinks.sql import SqlTable

pytestmark = pytest.mark.xdist_group("postgresql")

NOON = dt.datetime(1969, 12, 31, 12, 0, 0, 5)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "b": (pa.bool_(), [True, None, False]),
    "i8": (pa.int8(), [-128, None, 127]),
    "u8": (pa.uint8(), [0, None, 255]),
    "i16": (pa.int16(), [-(2**15), None, 2**15 - 1]),
    "u16": (pa.uint16(), [0, None, 2**16 - 1]),
    "i32": (pa.int32(), [-(2**31), None, 2**31 - 1]),
    "u32": (pa.uint32(), [0, None, 2**32 - 1]),
    "i64": (pa.int64(), [-(2**63), None, 2**63 - 1]),
    "f32": (pa.float32(), [1.5, None, -3.25]),
    "f64": (pa.float64(), [0.1, None, float("-inf")]),
    "s": (pa.string(), ["größe\n'\"", None, ""]),
    "bin": (pa.binary(), [b"", None, b"\0\xff"]),
    "date": (pa.date32(), [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
    "ms": (pa.timestamp("ms"), [dt.datetime(1900, 1, 1, 0, 0, 0, 1000), None, dt.datetime(9999, 1, 1)]),
    "us": (pa.timestamp("us"), [NOON, None, dt.datetime(2200, 1, 1)]),
    "utc": (pa.timestamp("us", "UTC"), [NOON, None, dt.datetime(2200, 1, 1)]),
    "zone": (pa.timestamp("us", "Europe/Berlin"), [NOON, None, dt.datetime(2200, 1, 1)]),
    "time": (pa.time64("us"), [dt.time(0, 0, 0, 1), None, dt.time(23, 59)]),
    "dec": (pa.decimal128(38, 3), [Decimal("-0.001"), None, Decimal("12345678901234567890123456789012345.678")]),
}
ROWS = pa.table({"k": pa.array([1, 2, None]), "s": ["a", None, "c"]})


def read(engine: Engine, uri: str, query: str = "t") -> list[dict[str, Any]]:
    """Return the rows of a table in the order of their texts."""
    return sorted(engine.read_sql(query, uri).to_arrow().to_pylist(), key=str)


def leftovers(uri: str) -> list[str]:
    """Return the staging tables that are there."""
    database = find_database(uri)
    with database.session() as session:
        return database.tables_like(session, TableName("t"), "_penstock")


@pytest.mark.cpu("cuDF has no times of day")
@pytest.mark.thorough
def test_every_type_comes_back_to_the_bit_where_it_is_declared(local, uri):
    rows = pa.table({name: pa.array(values, kind) for name, (kind, values) in VALUES.items()})
    result = local.from_arrow(rows).write_sql("t", uri)
    assert (result.rows, result.read) == (3, 3)
    again = local.read_sql("t", uri, schema=rows.schema, partition_on="i32").to_arrow()
    order = [{-(2**31): 0, None: 1, 2**31 - 1: 2}[value] for value in again["i32"].to_pylist()]
    assert again.equals(rows.take(order))
    assert again.schema == rows.schema


@pytest.mark.services
def test_types_of_postgresql_are_kept_without_a_declaration(local, postgresql):
    kept = ("b", "i16", "i32", "i64", "f32", "f64", "s", "bin", "date", "us", "utc", "time", "dec")
    rows = pa.table({name: pa.array(VALUES[name][1], VALUES[name][0]) for name in kept})
    local.from_arrow(rows).write_sql("t", postgresql)
    assert local.read_sql("t", postgresql).schema == rows.schema


@pytest.mark.thorough
def test_a_table_that_is_there_is_refused_added_to_or_replaced(local, uri):
    data = local.from_arrow(ROWS)
    data.write_sql("t", uri)
    with pytest.raises(OutputExistsError, match="the table t is there already"):
        data.write_sql("t", uri)
    data.write_sql("t", uri, mode="append")
    assert len(read(local, uri)) == 6
    data.write_sql("t", uri, mode="overwrite")
    assert read(local, uri) == sorted(ROWS.to_pylist(), key=str)
    assert not leftovers(uri)


@pytest.mark.thorough
def test_a_merge_that_runs_three_times_gives_the_same_rows_a_null_being_a_key(local, uri):
    local.from_arrow(ROWS).write_sql("t", uri)
    newer = local.from_arrow(pa.table({"k": pa.array([2, None, 4]), "s": ["B", "C", "D"]}))
    for _ in range(3):
        assert newer.write_sql("t", uri, mode="merge", keys="k").rows == 3
        expected = [{"k": 1, "s": "a"}, {"k": 2, "s": "B"}, {"k": 4, "s": "D"}, {"k": None, "s": "C"}]
        assert read(local, uri) == expected


@pytest.mark.thorough
def test_a_merge_by_two_keys_takes_nulls_in_either(local, uri):
    keys = [(1, 1), (1, None), (None, 1), (None, None), (2, 2)]
    a, b = (list(column) for column in zip(*keys, strict=True))
    rows = pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64()), "v": ["old"] * 5})
    local.from_arrow(rows).write_sql("t", uri)
    newer = rows.set_column(2, "v", pa.array(["new"] * 5)).slice(0, 4)
    local.from_arrow(newer).write_sql("t", uri, mode="merge", keys=["a", "b"])
    again = {(row["a"], row["b"]): row["v"] for row in read(local, uri)}
    assert again == {key: "old" if key == (2, 2) else "new" for key in keys}
    assert len(read(local, uri)) == 5


@pytest.mark.thorough
def test_a_key_that_stands_twice_is_told_and_the_table_is_as_it_was(local, uri):
    local.from_arrow(ROWS).write_sql("t", uri)
    twice = local.from_arrow(pa.table({"k": pa.array([None, None], pa.int64()), "s": ["x", "y"]}))
    with pytest.raises(DataValueError, match="2 rows have the key k=None"):
        twice.write_sql("t", uri, mode="merge", keys="k")
    assert read(local, uri) == sorted(ROWS.to_pylist(), key=str)
    assert not leftovers(uri)


@pytest.mark.thorough
def test_a_table_that_does_not_hold_the_rows_as_they_are_is_refused(local, uri):
    data = local.from_arrow(pa.table({"x": [2**40], "y": [0.5]}))
    database = find_database(uri)
    run(database, "CREATE TABLE t (x BIGINT)")
    with pytest.raises(SchemaDriftError, match="column 'y' is not there in the table t and double in the rows"):
        data.write_sql("t", uri, mode="append")
    run(database, "DROP TABLE t", "CREATE TABLE t (x BIGINT, y BIGINT)")
    with pytest.raises(SchemaDriftError, match=r"column 'y' is .* in the table t and double in the rows"):
        data.write_sql("t", uri, mode="append")
    run(database, "DROP TABLE t", "CREATE TABLE t (x BIGINT, y DOUBLE PRECISION, z TEXT)")
    with pytest.raises(SchemaDriftError, match=r"column 'z' is .* in the table t and not there in the rows"):
        data.write_sql("t", uri, mode="merge", keys="x")
    data.write_sql("t", uri, mode="append")
    assert read(local, uri, "SELECT x, y FROM t WHERE z IS NULL") == [{"x": 2**40, "y": 0.5}]


def test_what_cannot_be_stored_is_refused(local, uri):
    local.from_arrow(ROWS).write_sql("u", uri)
    with pytest.raises(ConfigError, match=r"column 'x' is duration\[us\], which .* cannot hold"):
        local.from_arrow(pa.table({"x": pa.array([1], pa.duration("us"))})).write_sql("t", uri)
    with pytest.raises(ConfigError, match=r"mode is 'upsert', expected one of"):
        local.from_arrow(ROWS).write_sql("t", uri, mode="upsert")
    with pytest.raises(ConfigError, match='"merge" has keys, and no other mode'):
        local.from_arrow(ROWS).write_sql("t", uri, keys="k")
    assert not leftovers(uri)


@pytest.mark.parametrize("uri", ["sqlite", pytest.param("postgresql", marks=pytest.mark.services)], indirect=True)
def test_structs_and_nul_characters_are_refused(local, uri):
    with pytest.raises(ConfigError, match=r"column 'x' is struct<a: int64>, which .* cannot hold"):
        local.from_arrow(pa.table({"x": [{"a": 1}]})).write_sql("t", uri)
    with pytest.raises(DataValueError, match="column 's' has a NUL character") as caught:
        local.from_arrow(pa.table({"s": ["a", "b\0"]})).write_sql("t", uri)
    assert "row 1" in str(caught.value)
    assert not leftovers(uri)


@pytest.mark.services
def test_nanoseconds_that_postgresql_would_cut_off_are_refused(local, postgresql):
    with pytest.raises(DataValueError, match=r"column 't' is timestamp\[ns\], stored as timestamp\[us\]"):
        local.from_arrow(pa.table({"t": pa.array([1001], pa.timestamp("ns"))})).write_sql("t", postgresql)


@pytest.mark.thorough
def test_a_constraint_of_the_table_undoes_the_whole_write(local, uri):
    run(find_database(uri), "CREATE TABLE t (k BIGINT UNIQUE, s TEXT)", "INSERT INTO t VALUES (2, 'old')")
    with pytest.raises(OutputError, match=r"(?i)unique"):
        local.from_arrow(ROWS).write_sql("t", uri, mode="append")
    assert read(local, uri) == [{"k": 2, "s": "old"}]
    assert not leftovers(uri)


@pytest.mark.thorough
def test_an_append_of_a_run_that_is_done_twice_is_there_once(local, uri):
    data, name = local.from_arrow(ROWS), "scheduled__2024-01-01T00:00:00+00:00 o'clock"
    first = data.write_sql("t", uri, mode="append", run_id=name)
    again = data.write_sql("t", uri, mode="append", run_id=name)
    assert (first.rows, first.run_id, again.rows, again.read, again.run_id) == (3, name, 0, 0, name)
    data.write_sql("t", uri, mode="append", run_id="another")
    data.write_sql("u", uri, mode="append", run_id=name)
    assert (len(read(local, uri)), len(read(local, uri, "u"))) == (6, 3)
    data.write_sql("t", uri, mode="overwrite")
    data.write_sql("t", uri, mode="append", run_id=name)
    assert len(read(local, uri)) == 6
    run(find_database(uri), "DROP TABLE t")
    for _ in range(2):
        data.write_sql("t", uri, mode="append", run_id=name)
    assert len(read(local, uri)) == 3
    assert leftovers(uri) == ["_penstock_runs"]


@pytest.mark.thorough
def test_a_run_whose_commit_fails_is_done_again(local, uri, monkeypatch):
    def refuse(step: str) -> None:
        if step == "sql-commit":
            raise OutputError("the disk is full")

    data = local.from_arrow(ROWS)
    with monkeypatch.context() as patch, pytest.raises(OutputError):
        patch.setattr(sql, "failpoint", refuse)
        data.write_sql("t", uri, mode="append", run_id="r")
    for _ in range(2):
        data.write_sql("t", uri, mode="append", run_id="r")
    assert len(read(local, uri)) == 3


@pytest.mark.thorough
def test_a_run_that_another_has_noted_meanwhile_is_refused_whole(local, uri):
    data = local.from_arrow(ROWS)
    data.write_sql("t", uri, mode="append", run_id="r")
    with SqlTable(find_database(uri), TableName("t"), ROWS.schema, "append", (), "x", "s").staged() as is_new:
        assert is_new
        run(find_database(uri), "INSERT INTO _penstock_runs VALUES ('t', 's')")
        table = SqlTable(find_database(uri), TableName("t"), ROWS.schema, "append", (), "x", "s")
        with pytest.raises(OutputError, match=r"(?i)unique|primary key"):
            table.commit([table.loader(frames.from_arrow(ROWS))], rows=3)
    assert len(read(local, uri)) == 3


def target(uri: str, run_id: str = "r1") -> SqlTable:
    return SqlTable(find_database(uri), TableName("t"), ROWS.schema, "append", (), run_id)


@pytest.mark.thorough
def test_only_the_rows_of_attempts_that_are_known_are_moved(local, uri):
    frame, table = frames.from_arrow(ROWS), target(uri)
    with table.staged():
        table.loader(frame)  # an attempt whose worker was lost
        attempts = [table.loader(frame), table.loader(frame.head(1))]
        with pytest.raises(RowCountError, match="4 rows are in the staging table of 5"):
            table.commit(attempts, rows=5)
        table.commit(attempts, rows=4)
    assert len(read(local, uri)) == 4
    assert not leftovers(uri)


@pytest.mark.thorough
def test_of_two_runs_at_once_one_is_told(local, uri):
    with target(uri).staged():
        with pytest.raises(CommitConflictError, match="another run is writing t"):
            local.from_arrow(ROWS).write_sql("t", uri)
        assert len(leftovers(uri)) == 1
    local.from_arrow(ROWS).write_sql("t", uri)
    assert not leftovers(uri)


def test_what_a_run_that_died_has_staged_goes_with_the_next(local, sqlite, monkeypatch):
    with monkeypatch.context() as patch, target(sqlite, "dead").staged():
        patch.setattr(SqlTable, "_drop_staging", lambda _: None)
    assert len(leftovers(sqlite)) == 1
    local.from_arrow(ROWS).write_sql("t", sqlite)
    assert not leftovers(sqlite)


_KILLED = """
import sys
import pyarrow as pa
import penstock as ps

rows = pa.table({"k": pa.array([7, 8]), "s": ["x", "y"]})
ps.LocalEngine(device="cpu").from_arrow(rows, fragment_bytes=1).write_sql("t", sys.argv[1], mode="overwrite")
"""


@pytest.mark.faults
@pytest.mark.parametrize(
    ("uri", "step"),
    [
        ("sqlite", "sql-load"),
        pytest.param("postgresql", "sql-commit", marks=pytest.mark.services),
        ("duckdb", "sql-commit"),
    ],
    indirect=["uri"],
)
def test_a_load_that_is_killed_leaves_the_table_as_it_was_and_the_next_run_cleans_up(local, uri, step):
    local.from_arrow(ROWS).write_sql("t", uri)
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, uri], env={**os.environ, "PENSTOCK_FAILPOINT": step}, check=False
    )
    assert killed.returncode == -9
    assert read(local, uri) == sorted(ROWS.to_pylist(), key=str)
    assert len(leftovers(uri)) == 1
    wait_for_the_end_of_other_sessions(uri)
    local.from_arrow(ROWS).write_sql("t", uri, mode="append")
    assert len(read(local, uri)) == 6
    assert not leftovers(uri)


def wait_for_the_end_of_other_sessions(uri: str) -> None:
    """Wait until a server has noticed that a client is gone; a file of SQLite has nothing to notice."""
    if not uri.startswith("postgresql"):
        return
    others = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory'"
    with find_database(uri).session() as session:
        until(lambda: not session.first(others)[0])


@pytest.mark.thorough
def test_rows_that_are_set_aside_are_counted_and_kept_where_a_quarantine_is_named(local, sqlite, tmp_path, caplog):
    rows = local.from_arrow(pa.table({"x": [1.0, -1.0, 2.0, -3.0]}))
    model = ps.Pipeline(st.Expect("x > 0", action="quarantine")).fit(rows)
    result = model.transform(rows).write_sql("t", sqlite, quarantine=tmp_path / "aside")
    assert (result.rows, result.read, sum(result.quarantined.values())) == (2, 4, 2)
    assert local.read_parquet(tmp_path / "aside").to_arrow()["x"].to_pylist() == [-1.0, -3.0]
    result = model.transform(rows).write_sql("t", sqlite, mode="append")
    assert (result.rows, result.quarantine, sum(result.quarantined.values())) == (2, None, 2)
    assert "rows are set aside and not kept" in caplog.text


def quarantined(local: Engine, place: Path) -> list[int]:
    return sorted(local.read_parquet(place).to_arrow()["k"].to_pylist())


def write_checked(local: Engine, uri: str, place: Path, numbers: list[int], **options: Any) -> None:
    rows = local.from_arrow(pa.table({"k": numbers}))
    model = ps.Pipeline(st.Expect("k > 0", action="quarantine")).fit(rows)
    model.transform(rows).write_sql("t", uri, quarantine=place, **options)


@pytest.mark.thorough
def test_rows_that_are_set_aside_are_not_lost_when_the_commit_fails(local, sqlite, tmp_path):
    aside = tmp_path / "aside"
    write_checked(local, sqlite, aside, [1, -1])
    with pytest.raises(DataValueError, match="2 rows have the key k=2"):
        write_checked(local, sqlite, aside, [2, 2, -2], mode="merge", keys="k")
    assert (read(local, sqlite), quarantined(local, aside)) == ([{"k": 1}], [-2, -1])
    write_checked(local, sqlite, aside, [3, -3], mode="overwrite")
    assert (read(local, sqlite), quarantined(local, aside)) == ([{"k": 3}], [-3])


_DIES = """
import sys
import pyarrow as pa
import penstock as ps

rows = ps.LocalEngine(device="cpu").from_arrow(pa.table({"k": [2, -2]}))
checked = ps.Pipeline(ps.stages.Expect("k > 0", action="quarantine")).fit(rows).transform(rows)
checked.write_sql("t", sys.argv[1], mode="overwrite", quarantine=sys.argv[2])
"""


@pytest.mark.faults
def test_rows_that_are_set_aside_are_not_lost_when_the_process_dies_before_the_commit(local, sqlite, tmp_path):
    aside = tmp_path / "aside"
    write_checked(local, sqlite, aside, [1, -1])
    environment = {**os.environ, "PENSTOCK_FAILPOINT": "sql-commit"}
    killed = subprocess.run([sys.executable, "-c", _DIES, sqlite, aside], env=environment, check=False)
    assert killed.returncode == -9
    assert (read(local, sqlite), quarantined(local, aside)) == ([{"k": 1}], [-2, -1])


@pytest.mark.thorough
def test_rows_of_a_table_are_written_to_files_and_models_are_fitted_on_them(local, sqlite, tmp_path):
    rows = pa.table({"x": [float(row) for row in range(50)], "y": [2.0 * row for row in range(50)]})
    local.from_arrow(rows).write_sql("t", sqlite)
    data = local.read_sql("t", sqlite)
    assert data.write_parquet(tmp_path / "out").rows == 50
    model = ps.Pipeline(st.StandardScaler("x"), st.LinearRegression("y")).fit(data)
    files = local.read_parquet(tmp_path / "out")
    assert model.digest == ps.Pipeline(st.StandardScaler("x"), st.LinearRegression("y")).fit(files).digest


@pytest.mark.services
def test_a_schema_of_the_database_is_named_before_a_dot(local, postgresql):
    run(find_database(postgresql), "DROP SCHEMA IF EXISTS sales CASCADE", "CREATE SCHEMA sales")
    for mode in ("error", "append"):
        local.from_arrow(ROWS).write_sql("sales.t", postgresql, mode=mode)
    assert len(read(local, postgresql, "sales.t")) == 6


@pytest.mark.thorough
def test_many_fragments_come_back_as_they_were(local, uri):
    rows = 20_000
    table = pa.table({"id": range(rows), "x": [i / 7 for i in range(rows)], "s": [f"s{i % 97}" for i in range(rows)]})
    data = local.from_arrow(table, fragment_bytes=rows * row_bytes(table.schema) // 8)
    assert len(data.fragments) >= 8
    assert data.write_sql("t", uri).rows == rows
    again = local.read_sql("t", uri, partition_on="id", partitions=7)
    assert len(again.fragments) == 7
    assert again.to_arrow().equals(table)


def test_workers_of_a_cluster_load_and_read_by_themselves(distributed_engine, sqlite):
    table = pa.table({"id": range(100), "x": [row / 7 for row in range(100)]})
    data = distributed_engine.from_arrow(table, fragment_bytes=25 * row_bytes(table.schema))
    assert data.write_sql("t", sqlite).rows == 100
    assert distributed_engine.read_sql("t", sqlite, partition_on="id", partitions=3).to_arrow().equals(table)
