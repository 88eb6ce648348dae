"""Types of Avro as fastavro writes them, and ours as fastavro reads them."""

import datetime as dt
import sys
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from penstock.errors import MissingExtraError, SchemaError

UTC = dt.UTC
DAY = {"type": "record", "name": "day", "fields": [{"name": "d", "type": {"type": "int", "logicalType": "date"}}]}
NOT_ON_GPUS = pytest.mark.cpu("cuDF has no times of day")
TYPES: dict[str, tuple[Any, pa.DataType, list[Any]]] = {
    "date": ({"type": "int", "logicalType": "date"}, pa.date32(), [dt.date(1, 1, 1), dt.date(2024, 2, 29)]),
    "millis": (
        {"type": "long", "logicalType": "timestamp-millis"},
        pa.timestamp("ms", "UTC"),
        [dt.datetime(1960, 1, 1, 0, 0, 0, 1000, UTC), dt.datetime(9999, 12, 31, tzinfo=UTC)],
    ),
    "micros": (
        {"type": "long", "logicalType": "timestamp-micros"},
        pa.timestamp("us", "UTC"),
        [dt.datetime(1960, 1, 1, 0, 0, 0, 1, UTC), dt.datetime(9999, 12, 31, tzinfo=UTC)],
    ),
    "local": (
        {"type": "long", "logicalType": "local-timestamp-micros"},
        pa.timestamp("us"),
        [dt.datetime(1960, 1, 1, 0, 0, 0, 1), dt.datetime(9999, 12, 31)],
    ),
    "time": ({"type": "long", "logicalType": "time-micros"}, pa.time64("ns"), [dt.time(0, 0, 0, 1), dt.time(23, 59)]),
    "time_millis": ({"type": "int", "logicalType": "time-millis"}, pa.time64("ns"), [dt.time(0), dt.time(23, 59, 1)]),
    "decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
        pa.decimal128(12, 3),
        [Decimal("-1.250"), Decimal("123456789.001")],
    ),
    "fixed_decimal": (
        {"type": "fixed", "name": "f", "size": 8, "logicalType": "decimal", "precision": 12, "scale": 3},
        pa.decimal128(12, 3),
        [Decimal("-1.250"), Decimal("123456789.001")],
    ),
    "enum": ({"type": "enum", "name": "e", "symbols": ["low", "high"]}, pa.string(), ["high", "low"]),
    "fixed": ({"type": "fixed", "name": "w", "size": 3}, pa.binary(), [b"abc", b"\0\0\0"]),
    "array": ({"type": "array", "items": ["null", "long"]}, pa.list_(pa.int64()), [[1, None], []]),
    "record": (DAY, pa.struct([("d", pa.date32())]), [{"d": dt.date(1, 1, 1)}, {"d": dt.date(2, 1, 1)}]),
    "uuid_text": ("string", pa.string(), ["a", "b"]),
}


def write(path: Path, fields: list[dict[str, Any]], rows: list[dict[str, Any]], codec: str = "null") -> Path:
    import fastavro

    with open(path, "wb") as sink:
        fastavro.writer(
            sink, {"type": "record", "name": "r", "namespace": "n", "fields": fields}, rows, codec, sync_interval=1000
        )
    return path


TIMES = [name for name in TYPES if name.startswith("time")]


@pytest.mark.parametrize(
    "names", [[name for name in TYPES if name not in TIMES], pytest.param(TIMES, marks=NOT_ON_GPUS)], ids=len
)
def test_a_logical_type_of_another_writer_has_its_type_in_arrow(local, names, tmp_path, subtests):
    for name, order in product(names, ("null first", "null last", "never null")):
        kind, expected, values = TYPES[name]
        union = {"null first": ["null", kind], "null last": [kind, "null"], "never null": kind}[order]
        values = values if order == "never null" else [values[0], None, values[1]]
        path = tmp_path / f"{name}, {order}.avro"
        write(path, [{"name": "x", "type": union}], [{"x": value} for value in values])
        with subtests.test(name=name, order=order):
            column = local.read_avro(path).to_arrow()["x"]
            assert column.type == expected
            assert column.to_pylist() == values


def test_times_in_nanoseconds_keep_them(local, tmp_path):
    fields = [
        {"name": "t", "type": ["null", {"type": "long", "logicalType": "timestamp-nanos"}]},
        {"name": "u", "type": {"type": "long", "logicalType": "local-timestamp-nanos"}},
    ]
    path = write(tmp_path / "a.avro", fields, [{"t": 2**60 + 1, "u": -1}, {"t": None, "u": 1}])
    table = local.read_avro(path).to_arrow()
    assert table.schema.types == [pa.timestamp("ns", "UTC"), pa.timestamp("ns")]
    assert [table[name].cast(pa.int64()).to_pylist() for name in "tu"] == [[2**60 + 1, None], [-1, 1]]


def test_a_name_that_was_defined_before_is_what_it_stands_for(local, tmp_path):
    fields = [{"name": "a", "type": DAY}, {"name": "b", "type": ["null", "day"]}, {"name": "c", "type": "n.day"}]
    day = {"d": dt.date(2024, 1, 1)}
    path = write(tmp_path / "a.avro", fields, [{"a": day, "b": None, "c": day}, {"a": day, "b": day, "c": day}])
    assert local.read_avro(path).to_arrow()["b"].to_pylist() == [None, day]


NOT_READ: list[tuple[Any, str]] = [
    (["null", "int", "string"], "a union of 3 type"),
    (["int", "string"], "a union of 2 type"),
    ({"type": "map", "values": "long"}, "map"),
    ({"type": "array", "items": {"type": "enum", "name": "e", "symbols": ["a"]}}, "enum inside of another type"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 2}, "a decimal of 50 digits"),
    ({"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}, "duration"),
    ({"type": "record", "name": "t", "fields": [{"name": "n", "type": ["null", "t"]}]}, "'t' that holds itself"),
]


def test_a_type_that_is_not_read_is_refused_by_name(local, tmp_path, subtests):
    for number, (kind, what) in enumerate(NOT_READ):
        path = write(tmp_path / f"{number}.avro", [{"name": "x", "type": kind}], [])
        with subtests.test(what=what):
            with pytest.raises(SchemaError, match=f"column 'x' of {path} is .*{what}") as caught:
                local.read_avro(path)
            assert caught.value.column == "x"


def test_codecs_that_fastavro_has_are_read(local, tmp_path):
    rows = [{"x": row} for row in range(5000)]
    for codec in ("null", "deflate", "bzip2", "xz"):
        path = write(tmp_path / f"{codec}.avro", [{"name": "x", "type": "long"}], rows, codec)
        data = local.read_avro(path, fragment_bytes=8 * 1000)
        assert len(data.fragments) > 3
        assert data.to_arrow()["x"].to_pylist() == list(range(5000))


@pytest.mark.skipif(pl.__version__ < "2", reason="lists are refused: Polars before 2.0 loses empty ones")
def test_what_is_written_is_read_by_fastavro(local, tmp_path):
    rows = {
        "zoned": pa.array([0, None], pa.timestamp("us", "Europe/Berlin")),
        "local": pa.array([0, None], pa.timestamp("ms")),
        "time": pa.array([1, None], pa.time64("us")),
        "small": pa.array([-1, None], pa.int8()),
        "decimal": pa.array([Decimal("1.25"), None]),
        "items": pa.array([["a", None], None]),
        "inner": pa.array([{"a": 1}, None]),
    }
    local.from_arrow(pa.table(rows)).write(tmp_path / "out", format="avro")
    import fastavro

    with open(tmp_path / "out" / "part-00000.avro", "rb") as stream:
        first, second = fastavro.reader(stream)
    assert first == {
        "zoned": dt.datetime(1970, 1, 1, tzinfo=UTC),
        "local": dt.datetime(1970, 1, 1),
        "time": dt.time(0, 0, 0, 1),
        "small": -1,
        "decimal": Decimal("1.25"),
        "items": ["a", None],
        "inner": {"a": 1},
    }
    assert set(second.values()) == {None}


def test_without_fastavro_the_extra_is_named(local, monkeypatch, tmp_path):
    path = write(tmp_path / "a.avro", [{"name": "x", "type": "long"}], [{"x": 1}])
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(MissingExtraError, match="fastavro cannot be imported") as caught:
        local.read_avro(path)
    assert "[avro]" in str(caught.value.hint)
