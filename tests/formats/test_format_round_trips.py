"""Every type that a format holds, written and read again to the bit; the others are refused by name."""

import datetime as dt
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from penstock.errors import ConfigError

NOON = dt.datetime(1969, 12, 31, 12)
LATE = dt.datetime(2200, 1, 1, 0, 0, 0, 5000)
VALUES: dict[pa.DataType, list[Any]] = {
    pa.bool_(): [True, None, False],
    pa.int8(): [-128, None, 127],
    pa.int16(): [-(2**15), None, 2**15 - 1],
    pa.int32(): [-(2**31), None, 2**31 - 1],
    pa.int64(): [-(2**63), None, 2**63 - 1],
    pa.uint8(): [0, None, 255],
    pa.uint16(): [0, None, 2**16 - 1],
    pa.uint32(): [0, None, 2**32 - 1],
    pa.uint64(): [0, None, 2**64 - 1],
    pa.float32(): [-0.0, None, 1.401298464324817e-45],
    pa.float64(): [float("-inf"), None, 5e-324],
    pa.string(): ["", None, "größe\n\0"],
    pa.binary(): [b"", None, b"\0\xff"],
    pa.date32(): [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)],
    pa.timestamp("ms"): [NOON, None, LATE],
    pa.timestamp("us"): [NOON, LATE, dt.datetime(1700, 1, 1)],
    pa.timestamp("ns"): [-(10**9), None, 2**62 + 1],
    pa.timestamp("us", "UTC"): [NOON, None, LATE],
    pa.timestamp("ms", "Europe/Berlin"): [NOON, None, LATE],
    pa.timestamp("ns", "UTC"): [-(10**9), None, 2**62 + 1],
    pa.time64("us"): [dt.time(0), None, dt.time(23, 59, 59, 999_999)],
    pa.time64("ns"): [1, None, 2],
    pa.duration("us"): [dt.timedelta(-1), None, dt.timedelta(1)],
    pa.decimal128(10, 2): [Decimal("-0.01"), None, Decimal("99999999.99")],
    pa.decimal128(38, 0): [Decimal(-(10**37)), None, Decimal(10**38 - 1)],
    pa.null(): [None, None, None],
    pa.list_(pa.int64()): [[], None, [1, None]],
    pa.list_(pa.list_(pa.string())): [[["a", None], None, []], None, []],
    pa.list_(pa.timestamp("us")): [[NOON, None], None, []],
    pa.list_(pa.int8()): [[1, None], None, []],
    pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]): [{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}],
    pa.map_(pa.string(), pa.int64()): [[("a", 1), ("b", None)], None, []],
}
REFUSED = {
    "orc": {pa.uint64(), pa.time64("us"), pa.time64("ns"), pa.duration("us"), pa.null()},
    "avro": {pa.uint64(), pa.time64("ns"), pa.duration("us"), pa.null(), pa.map_(pa.string(), pa.int64())},
    "arrow": set[pa.DataType](),
}
if pl.__version__ < "2":
    REFUSED["avro"] |= {kind for kind in VALUES if "list" in str(kind)}  # Polars would lose empty ones
ODD = [kind for kind in VALUES if str(kind)[:3] in ("map", "tim")]
PLAIN = [kind for kind in VALUES if kind not in ODD]


@pytest.mark.thorough
@pytest.mark.parametrize("format", REFUSED)
@pytest.mark.parametrize("kinds", [PLAIN, pytest.param(ODD, marks=pytest.mark.cpu("cuDF has no such types"))])
def test_a_column_comes_back_to_the_bit_in_the_type_that_is_declared(local, format, kinds, tmp_path, subtests):
    for place, kind in enumerate(kinds):
        rows = pa.table({"x": pa.array(VALUES[kind], kind), "row": [0, 1, 2]})
        data, target = local.from_arrow(rows), tmp_path / str(place)
        with subtests.test(kind=str(kind)):
            if kind in REFUSED[format]:
                with pytest.raises(ConfigError, match=r"column 'x' is .*, which .* cannot hold"):
                    data.write(target, format=format)
                continue
            data.write(target, format=format)
            again = local.read(format, target, schema=rows.schema).to_arrow()
            assert again.schema == rows.schema
            assert again.equals(rows)


TEXTUAL = [k for k in VALUES if not pa.types.is_nested(k) and str(k)[:4] not in ("bina", "dura", "null", "time")]
TEXTUAL += [pa.timestamp("us"), pa.timestamp("ms", "Europe/Berlin")]


@pytest.mark.parametrize("format", ["csv", "json_lines"])
def test_a_column_without_values_has_the_type_that_was_written(local, format, tmp_path, subtests):
    lists = [pa.list_(pa.int8()), pa.list_(pa.float64())] if format == "json_lines" else []
    schema = pa.schema([("k", pa.int64()), *((str(kind), kind) for kind in (*TEXTUAL, *lists))])
    for rows in (2, 0):
        output = tmp_path / str(rows)
        nulls = [pa.array(range(rows)), *(pa.nulls(rows, kind) for kind in schema.types[1:])]
        local.from_arrow(pa.table(nulls, schema=schema)).write(output, format=format)
        for path in (output, output / "part-*"):
            with subtests.test(rows=rows, path=path.name):
                assert local.read(format, path).schema.equals(schema)
