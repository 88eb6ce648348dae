"""DuckDB: its types are Arrow's, one process writes a file, and nobody in that process loses what others write."""

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from subprocess import PIPE
from typing import Any

import narwhals as nw
import pyarrow as pa
import pytest

from penstock.engines.base import Engine
from penstock.errors import CommitConflictError, ConfigError, InputError, MissingInputError, OutputError, SchemaError

MIDNIGHT, NAMES = dt.datetime(2020, 1, 1, tzinfo=dt.UTC), pa.list_(pa.string())
TYPES: list[tuple[str, pa.DataType, Any]] = [
    ("true", pa.bool_(), True),
    ("(-128)::tinyint", pa.int8(), -128),
    ("18446744073709551615::ubigint", pa.uint64(), 2**64 - 1),
    ("1000000000000000000000000000000::hugeint", pa.decimal128(38, 0), Decimal(10**30)),
    ("1.5::float", pa.float32(), 1.5),
    ("'NaN'::double", pa.float64(), None),
    ("'größe'", pa.string(), "größe"),
    (r"'\x00\xFF'::blob", pa.binary(), b"\0\xff"),
    ("(-1.25)::decimal(12, 3)", pa.decimal128(12, 3), Decimal("-1.250")),
    ("date '9999-12-31'", pa.date32(), dt.date(9999, 12, 31)),
    ("timestamp '1900-01-01 00:00:00.000001'", pa.timestamp("us"), dt.datetime(1900, 1, 1, 0, 0, 0, 1)),
    ("timestamp_s '2020-01-01 00:00:01'", pa.timestamp("s"), dt.datetime(2020, 1, 1, 0, 0, 1)),
    ("timestamptz '2020-01-01 00:00+02'", pa.timestamp("us", "UTC"), dt.datetime(2019, 12, 31, 22, tzinfo=dt.UTC)),
    ("time '01:02:03.5'", pa.time64("us"), dt.time(1, 2, 3, 500_000)),
    ("[1, NULL]::bigint[]", pa.list_(pa.int64()), [1, None]),
    ("[[1.5], NULL]::double[][]", pa.list_(pa.list_(pa.float64())), [[1.5], None]),
    ("[timestamptz '2020-01-01 02:00+02']", pa.list_(pa.timestamp("us", "UTC")), [MIDNIGHT]),
    ("[1, 2]::integer[2]", pa.list_(pa.int32()), [1, 2]),
    ("{'a': 1::tinyint, 'map': ['x']}", pa.struct({"a": pa.int8(), "map": NAMES}), {"a": 1, "map": ["x"]}),
    ("'x'::enum('x', 'y')", pa.string(), "x"),
    ("'12345678-1234-5678-1234-567812345678'::uuid", pa.string(), "12345678-1234-5678-1234-567812345678"),
    ("""'{"a": 1}'::json""", pa.string(), '{"a": 1}'),
]  # fmt: skip

ROWS = pa.table({"k": pa.array([1, 2, None]), "s": ["a", None, "c\0"]})


def path_of(uri: str) -> str:
    return uri.removeprefix("duckdb:///")


def connect(path: str, **options: Any) -> Any:
    import duckdb

    return duckdb.connect(path, **options)


def run(uri: str, *statements: str) -> None:
    with connect(path_of(uri)) as connection:
        for statement in statements:
            connection.execute(statement)


def read(local: Engine, uri: str, query: str = "t") -> list[dict[str, Any]]:
    return sorted(local.read_sql(query, uri).to_arrow().to_pylist(), key=str)


@pytest.mark.cpu("cuDF has no times of day")
def test_types_of_duckdb_are_those_of_arrow(local, duckdb):
    columns = ", ".join(f"{value} AS c{place}" for place, (value, *_) in enumerate(TYPES))
    run(duckdb, f"CREATE TABLE t AS SELECT {columns}", "INSERT INTO t (c0) VALUES (NULL)")
    table = local.read_sql("t", duckdb).to_arrow()
    for place, (value, kind, expected) in enumerate(TYPES):
        assert table.schema.field(f"c{place}").type == kind, value
        assert table[f"c{place}"].to_pylist() == [expected, None], value


@pytest.mark.cpu("cuDF has no times of day")
@pytest.mark.thorough
def test_rows_of_every_type_are_the_same_to_duckdb_and_come_back_as_they_were(local, duckdb):
    start = dt.datetime(2024, 2, 28, 23, 59, 59, 999999)
    columns: dict[str, tuple[pa.DataType, Any]] = {
        "u8": (pa.uint8(), 255),
        "u64": (pa.uint64(), 2**64 - 1),
        "f32": (pa.float32(), -3.25),
        "s": (pa.string(), "'größe'\0"),
        "b": (pa.binary(), b"\0\xff"),
        "d": (pa.date32(), dt.date(1, 1, 1)),
        "dec": (pa.decimal128(38, 3), Decimal("12345678901234567890123456789012345.678")),
        "us": (pa.timestamp("us"), start),
        "ns": (pa.timestamp("ns"), 1_000_000_001),
        "ms": (pa.timestamp("ms"), start.replace(microsecond=1000)),
        "utc": (pa.timestamp("us", "UTC"), start.replace(tzinfo=dt.UTC)),
        "t": (pa.time64("us"), dt.time(23, 59, 59, 1)),
        "l": (pa.list_(pa.decimal128(9, 2)), [Decimal("1.25"), None]),
        "n": (pa.struct([("a b", pa.list_(pa.int8())), ("z", pa.timestamp("us"))]), {"a b": [1, None], "z": start}),
    }
    rows = pa.table({"id": [0, 1]} | {name: pa.array([value, None], kind) for name, (kind, value) in columns.items()})
    local.from_arrow(rows).write_sql("t", duckdb)
    with connect(path_of(duckdb), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        theirs = connection.sql("SELECT * FROM t ORDER BY id").to_arrow_table()
    assert theirs.cast(rows.schema) == rows
    again = local.read_sql("t", duckdb, partition_on="id").to_arrow()
    assert (again.schema, again) == (rows.schema, rows)


def test_what_arrow_has_no_place_for_is_refused_by_name(local, duckdb, subtests):
    run(duckdb, "CREATE TABLE t (y INTEGER)")
    for value, message in (
        ("interval '1 day'", "column 'x' is INTERVAL, which is not read"),
        ("'1010'::bit", "column 'x' is BIT"),
        ("[interval '1 day']", r"column 'x' is INTERVAL\[\]"),
        ("map {'a': 1}", r"column 'x' is MAP\(VARCHAR, INTEGER\)"),
        ("union_value(a := 1)", r"column 'x' is UNION"),
        ("5::bignum", "column 'x' is BIGNUM"),
        ("'01:02:03+02'::timetz", "column 'x' is TIME WITH TIME ZONE"),
        ("'infinity'::timestamptz", r"column 'x' is infinite, or has more than 38 digits, in 1 row"),
        ("'-infinity'::date", r"column 'x' is infinite, or has more than 38 digits, in 1 row"),
        ("170141183460469231731687303715884105727::hugeint", r"column 'x' is infinite, or has more than 38 digits"),
    ):
        with subtests.test(value=value), pytest.raises(SchemaError, match=message):
            local.read_sql(f"SELECT {value} AS x", duckdb)


@pytest.mark.thorough
def test_rows_are_partitioned_by_bounds_and_none_is_lost(local, duckdb):
    run(
        duckdb,
        "CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 10 = 0 THEN NULL ELSE i END AS k,"
        " timestamptz '2020-01-01' + to_days(i::integer) AS at, date '2020-01-01' + i::integer AS day,"
        " (timestamp '2020-01-01' + to_days(i::integer))::timestamp_ns AS ns FROM range(1, 1001) AS r(i)",
    )
    for column, parts in (("id", 4), ("k", 5), ("at", 4), ("day", 4), ("ns", 4)):
        data = local.read_sql("t", duckdb, partition_on=column, partitions=4)
        assert len(data.fragments) == parts
        assert max(fragment.rows for fragment in data.fragments) <= 251
        assert sorted(data.to_arrow()["id"].to_pylist()) == list(range(1, 1001))


def test_a_file_or_a_table_that_is_not_there_is_named(local, duckdb):
    with pytest.raises(MissingInputError, match="there is no file"):
        local.read_sql("t", duckdb)
    run(duckdb, "CREATE TABLE t (x INTEGER)")
    relation = pa.table({"x": [1]})  # DuckDB would take a variable of this name, or of the reader's, for a table
    with pytest.raises(MissingInputError, match="relation does not exist"):
        local.read_sql("relation", duckdb)
    assert relation.num_rows == 1
    with pytest.raises(ConfigError, match=r"duckdb:///file\.db"):
        local.read_sql("t", "duckdb://shop.db")


@pytest.mark.thorough
def test_who_has_the_file_open_in_this_process_and_penstock_keep_what_each_writes(local, duckdb):
    with connect(path_of(duckdb)) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1 AS x")
        assert read(local, duckdb, "mine") == [{"x": 1}]
        local.from_arrow(ROWS).write_sql("t", duckdb)
        connection.execute("INSERT INTO mine VALUES (2)")
        assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(3,)]
        local.from_arrow(ROWS).write_sql("t", duckdb, mode="append")
    assert len(read(local, duckdb)) == 6
    assert read(local, duckdb, "mine") == [{"x": 1}, {"x": 2}]


@pytest.mark.thorough
def test_rows_are_written_into_the_file_that_they_are_read_from(local, duckdb):
    run(duckdb, "CREATE TABLE t AS SELECT i AS id, i % 7 AS x FROM range(1000) AS r(i)")
    data = local.read_sql("t", duckdb, partition_on="id", partitions=8)
    assert len(data.fragments) == 8
    assert data.filter(nw.col("x") > 3).write_sql("u", duckdb).rows == 428
    expected = sorted(range(1000), key=lambda i: str({"id": i, "x": i % 7}))
    assert [row["id"] for row in read(local, duckdb, "u")] == [i for i in expected if i % 7 > 3]


@contextmanager
def another_process(uri: str, read_only: bool) -> Iterator[None]:
    """Have the file open in another process."""
    opened = f"import duckdb; connection = duckdb.connect({path_of(uri)!r}, read_only={read_only})"
    code = f"{opened}; print('open', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield
        process.communicate("\n")


@pytest.mark.thorough
def test_a_file_that_another_process_writes_is_refused_and_one_that_it_reads_is_read(local, duckdb):
    data = local.from_arrow(ROWS)
    data.write_sql("t", duckdb)
    with another_process(duckdb, read_only=False):
        with pytest.raises(InputError, match="Could not set lock") as caught:
            local.read_sql("t", duckdb)
        assert "close it elsewhere" in str(caught.value.hint)
        with pytest.raises(CommitConflictError, match="Could not set lock"):
            data.write_sql("t", duckdb, mode="append")
    with another_process(duckdb, read_only=True):
        assert len(read(local, duckdb)) == 3
        with pytest.raises(CommitConflictError, match="Could not set lock"):
            data.write_sql("t", duckdb, mode="append")
    data.write_sql("t", duckdb, mode="append")
    assert len(read(local, duckdb)) == 6


def test_a_connection_of_this_process_that_only_reads_is_to_be_closed_before_a_write(local, duckdb):
    local.from_arrow(ROWS).write_sql("t", duckdb)
    with connect(path_of(duckdb), read_only=True):
        with pytest.raises(OutputError, match="different configuration") as caught:
            local.from_arrow(ROWS).write_sql("t", duckdb, mode="append")
        assert "close it elsewhere" in str(caught.value.hint)
        assert len(read(local, duckdb)) == 3


def test_workers_of_a_cluster_read_a_file_and_do_not_write_it(distributed_engine, duckdb):
    table = pa.table({"id": range(100), "x": [[row / 7] for row in range(100)]})
    run(duckdb, "CREATE TABLE t AS SELECT i AS id, [i / 7] AS x FROM range(100) AS r(i)")
    assert distributed_engine.read_sql("t", duckdb, partition_on="id", partitions=3).to_arrow().equals(table)
    with pytest.raises(ConfigError, match="one process at a time writes a file of DuckDB"):
        distributed_engine.from_arrow(table).write_sql("u", duckdb)


@pytest.mark.thorough
def test_a_merge_leaves_nothing_beside_the_file(local, duckdb, tmp_path):
    local.from_arrow(ROWS).write_sql("main.t", duckdb)
    newer = pa.table({"k": pa.array([2, None]), "s": ["B", "C"]})
    local.from_arrow(newer).write_sql("main.t", duckdb, mode="merge", keys="k")
    assert read(local, duckdb) == [{"k": 1, "s": "a"}, {"k": 2, "s": "B"}, {"k": None, "s": "C"}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shop.duckdb"]
