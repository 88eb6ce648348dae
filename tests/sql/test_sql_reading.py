"""Queries of databases as datasets: types, partitions, and what cannot be read."""

import datetime as dt
import pickle
import shutil
import sqlite3
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from sql_statements import run

from penstock.errors import (
    ConfigError,
    IncompleteInputError,
    InputError,
    MissingExtraError,
    MissingInputError,
    PenstockError,
    SchemaDriftError,
    SchemaError,
)
from penstock.io.databases import find_database

pytestmark = pytest.mark.xdist_group("postgresql")

TYPES: list[tuple[str, pa.DataType, Any]] = [
    ("true", pa.bool_(), True),
    ("(-32768)::int2", pa.int16(), -32768),
    ("(-2147483648)::int4", pa.int32(), -(2**31)),
    ("9223372036854775807::int8", pa.int64(), 2**63 - 1),
    ("1.5::float4", pa.float32(), 1.5),
    ("'-Infinity'::float8", pa.float64(), float("-inf")),
    ("'NaN'::float8", pa.float64(), None),
    ("'größe'::text", pa.string(), "größe"),
    ("'ab'::char(4)", pa.string(), "ab  "),
    (r"'\x00ff'::bytea", pa.binary(), b"\0\xff"),
    ("date '9999-12-31'", pa.date32(), dt.date(9999, 12, 31)),
    ("timestamp '1900-01-01 00:00:00.000001'", pa.timestamp("us"), dt.datetime(1900, 1, 1, 0, 0, 0, 1)),
    ("timestamptz '2020-01-01 00:00+02'", pa.timestamp("us", "UTC"), dt.datetime(2019, 12, 31, 22, tzinfo=dt.UTC)),
    ("time '01:02:03.5'", pa.time64("us"), dt.time(1, 2, 3, 500_000)),
    ("(-1.25)::numeric(12, 3)", pa.decimal128(12, 3), Decimal("-1.250")),
    ("123.4500::numeric", pa.decimal128(7, 4), Decimal("123.4500")),
    ("'NaN'::numeric(5, 2)", pa.decimal128(5, 2), None),
    ("array[1, null]::int8[]", pa.list_(pa.int64()), [1, None]),
    (
        "'12345678-1234-5678-1234-567812345678'::uuid",
        pa.string(),
        str(uuid.UUID(int=0x12345678123456781234567812345678)),
    ),
    ("""'{"a": 1}'::json""", pa.string(), '{"a": 1}'),
]


@pytest.mark.services
def test_types_of_postgresql_are_those_of_arrow(local, postgresql):
    columns = ", ".join(
        f"{value} AS c{place}, NULLIF({value}::text, {value}::text) AS n{place}"
        for place, (value, *_) in enumerate(TYPES)
    )
    table = local.read_sql(f"SELECT {columns}", postgresql).to_arrow()
    for place, (value, kind, expected) in enumerate(TYPES):
        assert table.schema.field(f"c{place}").type == kind, value
        assert table[f"c{place}"].to_pylist() == [expected], value


@pytest.mark.services
def test_rows_are_partitioned_by_bounds_and_none_is_lost(local, postgresql):
    run(
        find_database(postgresql),
        "CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 10 = 0 THEN NULL ELSE i END AS k,"
        " timestamptz '2020-01-01' + i * interval '1 day' AS at, date '2020-01-01' + i AS day"
        " FROM generate_series(1, 1000) AS i",
    )
    for column, parts in (("id", 4), ("k", 5), ("at", 4), ("day", 4)):
        data = local.read_sql("t", postgresql, partition_on=column, partitions=4)
        assert len(data.fragments) == parts
        assert max(fragment.rows for fragment in data.fragments) <= 251
        assert sorted(data.to_arrow()["id"].to_pylist()) == list(range(1, 1001))
    assert len(local.read_sql("t", postgresql, partition_on="id", fragment_bytes=2000).fragments) > 4
    assert len(local.read_sql("SELECT * FROM t WHERE id < 0;", postgresql, partition_on="id").fragments) == 1


@pytest.mark.thorough
def test_two_reads_give_the_same_order_whichever_columns_they_ask_for(local, uri):
    values = ", ".join(f"({(37 * row) % 11}, {(53 * row) % 101})" for row in range(101))
    run(find_database(uri), "CREATE TABLE t (a INTEGER, b INTEGER)", f"INSERT INTO t VALUES {values}")
    data = local.read_sql("t", uri)
    rows = data.to_arrow()
    assert rows.sort_by([("a", "ascending"), ("b", "ascending")]).equals(rows)
    assert data.select("b").to_arrow()["b"].equals(rows["b"])
    train, test = (part.to_arrow()["b"].to_pylist() for part in data.split([0.5, 0.5], seed=3))
    assert sorted(train + test) == sorted(rows["b"].to_pylist())


def test_a_table_that_changed_since_it_was_planned_is_told(local, sqlite):
    run(find_database(sqlite), "CREATE TABLE t (x INTEGER)", "INSERT INTO t VALUES (1), (2)")
    data = local.read_sql("t", sqlite)
    run(find_database(sqlite), "INSERT INTO t VALUES (3)")
    with pytest.raises(IncompleteInputError, match="has 3 rows where 2 were when planned"):
        data.to_arrow()


def test_names_with_any_characters_are_quoted(local, uri):
    run(find_database(uri), """CREATE TABLE "odd ""table" ("a b" INTEGER, "select" INTEGER)""")
    run(find_database(uri), """INSERT INTO "odd ""table" VALUES (1, 2)""")
    assert local.read_sql('odd "table', uri, partition_on="a b").to_arrow().to_pydict() == {"a b": [1], "select": [2]}


@pytest.mark.services
def test_a_type_that_is_not_read_is_refused_by_name(local, postgresql, subtests):
    for query, message in (
        ("SELECT 1::money AS x", "column 'x' is money"),
        ("SELECT interval '1 day' AS x", "column 'x' is interval"),
        ("SELECT 'infinity'::timestamptz AS x", r"column 'x' is infinite in 1 row\(s\)"),
        ("SELECT 'infinity'::numeric AS x", "column 'x' is numeric and has an infinite value"),
        ("SELECT 1e40::numeric AS x", "column 'x' is numeric and takes 41 digits"),
        ("SELECT inet '127.0.0.1' AS x", "column 'x' is inet"),
    ):
        with subtests.test(query=query, message=message):
            with pytest.raises(SchemaError, match=message) as caught:
                local.read_sql(query, postgresql)
            assert caught.value.column == "x"


@pytest.mark.services
def test_a_declared_type_that_may_not_hold_a_column_is_refused(local, postgresql):
    query = "SELECT 1.25::numeric(12, 2) AS m, 7::int8 AS n"
    with pytest.raises(SchemaDriftError, match=r"column 'm' is decimal128\(12, 2\) .* declared double may not hold it"):
        local.read_sql(query, postgresql, schema={"m": "float64"})
    with pytest.raises(SchemaDriftError, match="column 'n' is int64"):
        local.read_sql(query, postgresql, schema={"n": "int32"})
    wide = {"m": pa.decimal128(20, 4)}
    assert local.read_sql(query, postgresql, schema=wide).to_arrow().to_pydict() == {"m": [Decimal("1.2500")]}


def test_columns_of_sqlite_have_the_types_of_all_their_values(local, sqlite):
    run(find_database(sqlite), "CREATE TABLE t (id INTEGER, late, mixed, day TEXT, unset TEXT)")
    late = ", ".join(
        f"({row}, {'NULL' if row < 1500 else row / 2}, {row if row % 2 else row / 4}, '2024-02-29', NULL)"
        for row in range(1600)
    )
    run(find_database(sqlite), f"INSERT INTO t VALUES {late}")
    data = local.read_sql("t", sqlite, partition_on="id", partitions=3)
    kinds = [pa.int64(), pa.float64(), pa.float64(), pa.string(), pa.string()]
    assert data.schema.types == kinds
    assert data.to_arrow()["late"].to_pylist() == [None] * 1500 + [row / 2 for row in range(1500, 1600)]
    days = local.read_sql("t", sqlite, schema={"day": "date"}).to_arrow()
    assert days["day"].to_pylist() == [dt.date(2024, 2, 29)] * 1600
    run(find_database(sqlite), "INSERT INTO t VALUES (1600, 'text', 1, '30.2.', NULL)")
    with pytest.raises(SchemaError, match=r"column 'late' has values of several types: real in 100 .* text in 1"):
        local.read_sql("t", sqlite)
    with pytest.raises(SchemaDriftError, match=r"column 'day' of .* has a value that is not date32"):
        local.read_sql("SELECT day FROM t", sqlite, schema={"day": "date"}).to_arrow()


def test_columns_of_sqlite_without_values_have_their_declared_types(local, sqlite):
    run(find_database(sqlite), "CREATE TABLE blank (i BIGINT, r DOUBLE, t VARCHAR(9), b BLOB, d DATE)")
    declared = [pa.int64(), pa.float64(), pa.string(), pa.binary(), pa.string()]
    for rows in (0, 1):
        for query in ("blank", "SELECT * FROM blank WHERE 1 = 1"):
            assert local.read_sql(query, sqlite).schema.types == declared, (rows, query)
        run(find_database(sqlite), "INSERT INTO blank (i) VALUES (NULL)")
    assert local.read_sql("SELECT i + 1 AS j FROM blank", sqlite).schema.types == [pa.string()]  # SQLite has none


def test_what_is_not_there_is_told(local, uri, tmp_path):
    run(find_database(uri), "CREATE TABLE t (x INTEGER, s TEXT)")
    with pytest.raises(MissingInputError, match="nothere"):
        local.read_sql("nothere", uri)
    with pytest.raises(SchemaError, match=r"column 'y' is not in the data"):
        local.read_sql("t", uri, partition_on="y")
    with pytest.raises(ConfigError, match="partition_on is 's', which is string"):
        local.read_sql("t", uri, partition_on="s")
    with pytest.raises(ConfigError, match="partitions is 3, expected 1 or more, with partition_on"):
        local.read_sql("t", uri, partitions=3)
    with pytest.raises(MissingInputError, match=r"there is no file .*absent\.db"):
        local.read_sql("t", f"sqlite:///{tmp_path}/absent.db")
    assert not (tmp_path / "absent.db").exists()


def test_a_password_is_in_no_message_no_repr_and_no_pickle(local):
    uri = "postgresql://me:hunter2@127.0.0.1:1/shop"
    with pytest.raises(InputError) as caught:
        local.read_sql("t", uri)
    causes = [caught.value, caught.value.__cause__]
    with pytest.raises(PenstockError) as refused:
        local.read_sql("t", "postgresql://me:hunter2@[::1/shop")
    with pytest.raises(ConfigError) as unknown:
        local.read_sql("t", "mysql://me:hunter2@host/shop")
    database = find_database(uri)
    told = [*map(str, causes), str(refused.value), str(refused.value.__cause__), str(unknown.value), repr(database)]
    assert "127.0.0.1:1/shop" in told[0]
    assert not [text for text in told if "hunter2" in text]
    assert b"hunter2" not in pickle.dumps(database)
    assert pickle.loads(pickle.dumps(database)).uri == uri


def test_without_its_driver_the_extra_is_named(local, monkeypatch, tmp_path):
    for module in ("adbc_driver_postgresql.dbapi", "adbc_driver_sqlite.dbapi"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    for uri in ("postgresql://me@127.0.0.1:1/shop", f"sqlite:///{tmp_path}/shop.db"):
        with pytest.raises(MissingExtraError) as caught:
            local.read_sql("t", uri)
        assert "[sql]" in str(caught.value.hint)


def test_the_half_of_a_transaction_that_a_killed_writer_left_is_undone(local, tmp_path):
    written, left = tmp_path / "a.db", tmp_path / "left.db"
    with sqlite3.connect(written) as connection:
        connection.execute("PRAGMA cache_size = 5")
        connection.execute("CREATE TABLE t (id INTEGER, v TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(row, "old" * 50) for row in range(2000)])
        connection.commit()
        connection.execute("UPDATE t SET v = 'new' || v")  # more than its cache holds, so that the file is half written
        for suffix in ("", "-journal"):
            shutil.copy(f"{written}{suffix}", f"{left}{suffix}")
        connection.rollback()
    assert local.read_sql("SELECT DISTINCT substr(v, 1, 3) AS v FROM t", f"sqlite:///{left}").to_arrow()[
        "v"
    ].to_pylist() == ["old"]
    assert local.read_sql("t", f"sqlite:///{left}").count() == 2000


def test_a_name_that_a_query_gives_twice_is_refused_and_none_is_renamed(local, uri):
    run(find_database(uri), "CREATE TABLE t (x integer, y integer)", "INSERT INTO t VALUES (1, 2)")
    for query in ("SELECT x, y AS x FROM t;", "SELECT a.x, b.x FROM t a JOIN t b ON a.x = b.x"):
        with pytest.raises(SchemaDriftError, match="column 'x' stands twice"):
            local.read_sql(query, uri)
    assert local.read_sql('SELECT x, y AS "x:1", y AS x_1 FROM t', uri).columns == ["x", "x:1", "x_1"]


def test_names_that_differ_in_capitals_alone_are_one_name_to_sqlite_and_duckdb(local, sqlite, duckdb):
    for uri in (sqlite, duckdb):
        run(find_database(uri), "CREATE TABLE t (x integer, y integer)")
        with pytest.raises(SchemaDriftError, match="column 'X' stands twice"):
            local.read_sql("SELECT x, y AS X FROM t", uri)
