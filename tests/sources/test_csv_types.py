"""The types of CSV columns that nobody declared."""

from datetime import UTC, date, datetime
from itertools import product

import pyarrow as pa


def test_the_narrowest_type_that_loses_nothing(read_csv, write, subtests):
    for step, (texts, kind, values) in product((1, 2**20), (
        (["1", "-2", ""], pa.int64(), [1, -2, None]),
        (["1", "2.5"], pa.float64(), [1.0, 2.5]),
        (["1", "1e3"], pa.float64(), [1.0, 1000.0]),
        (["1.5", "nan", "inf"], pa.float64(), [1.5, None, float("inf")]),
        (["true", "False", ""], pa.bool_(), [True, False, None]),
        (["1", "0"], pa.int64(), [1, 0]),
        (["1", "true"], pa.string(), ["1", "true"]),
        (["2020-02-29"], pa.date32(), [date(2020, 2, 29)]),
        (["2020-02-29", "2020-01-01 10:30"], pa.timestamp("us"), [datetime(2020, 2, 29), datetime(2020, 1, 1, 10, 30)]),
        (["2020-01-01T00:00:00+02:00"], pa.timestamp("us", "UTC"), [datetime(2019, 12, 31, 22, tzinfo=UTC)]),
        (["12:34:56"], pa.string(), ["12:34:56"]),
        (["1", "x"], pa.string(), ["1", "x"]),
        (["1", "2020-02-29"], pa.string(), ["1", "2020-02-29"]),
        (["", '""'], pa.string(), [None, None]),
        (["02139", "1"], pa.string(), ["02139", "1"]),
        (["0x1F"], pa.string(), ["0x1F"]),
        (["-007.5", "1"], pa.string(), ["-007.5", "1"]),
        (["0", "-0", "0.5"], pa.float64(), [0.0, 0.0, 0.5]),
        (["9223372036854775807"], pa.int64(), [2**63 - 1]),
        (["9223372036854775808"], pa.string(), ["9223372036854775808"]),
        (["9007199254740993", "0.5"], pa.string(), ["9007199254740993", "0.5"]),
        (["9007199254740991", "0.5"], pa.float64(), [2.0**53 - 1, 0.5]),
        (["1e999", "1"], pa.string(), ["1e999", "1"]),
        (["1500-01-01", "2020-01-01T00:00:00.5"], pa.string(), ["1500-01-01", "2020-01-01T00:00:00.5"]),
    )):  # fmt: skip
        with subtests.test(texts=texts, kind=kind, values=values, step=step):
            found = read_csv(write("\n".join(["x,y", *(f"{text},a" for text in texts), ""])), fragment_bytes=step)
            assert found.schema.field("x").type == kind
            assert found["x"].to_pylist() == values


def test_fractions_of_seconds_are_kept(read_csv, write):
    found = read_csv(write("x\n2020-01-01\n2020-01-01T00:00:00.123456789\n"), fragment_bytes=1)
    assert found["x"].cast(pa.int64()).to_pylist() == [1577836800000000000, 1577836800123456789]


def test_types_come_from_all_files(read_csv, write):
    files = [write("x,y,z\n1,1,\n", "a.csv"), write("x,y,z\n2.5,x,3\n", "b.csv")]
    found = read_csv(files)
    assert found.schema == pa.schema({"x": pa.float64(), "y": pa.string(), "z": pa.int64()})
    assert found.to_pydict() == {"x": [1.0, 2.5], "y": ["1", "x"], "z": [None, 3]}


def test_declared_booleans_may_be_digits(read_csv, write):
    found = read_csv(write("x\n1\n0\ntrue\n"), schema=pa.schema({"x": pa.bool_()}))
    assert found["x"].to_pylist() == [True, False, True]
