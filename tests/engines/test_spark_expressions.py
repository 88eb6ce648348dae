"""What Spark SQL computes itself is to the bit what Polars computes."""

import datetime
import math

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from penstock.engines.spark.expressions import is_native

DOUBLES = [0.1, -0.0, math.inf, -math.inf, 1e308, 5e-324, None, 2.0]
TABLE = pa.table(
    {
        "row": pa.array(range(8), pa.int64()),
        "x": pa.array(DOUBLES, pa.float64()),
        "y": pa.array([0.3, 0.0, math.inf, 7.5, 10.0, 0.5, 1.0, None], pa.float64()),
        "f": pa.array([0.1, -0.0, math.inf, 3e38, 1e-45, None, 1.5, 2.5], pa.float32()),
        "n": pa.array([2**53 + 1, -(2**63), 2**63 - 1, None, 0, 7, -1, 2], pa.int64()),
        "i": pa.array([2**31 - 1, -(2**31), 0, 3, None, 1, 2, 5], pa.int32()),
    }
)
TYPES = dict(zip(TABLE.schema.names, TABLE.schema.types, strict=True))
ODD = {
    "at": pa.timestamp("us"), "there": pa.timestamp("us", "America/New_York"), "small": pa.uint8(), "a.b": pa.float64(),
}  # fmt: skip
NATIVE = {
    "revenue": nw.col("x") * (1 - nw.col("y")),
    "charge": nw.col("x") * (1 - nw.col("y")) * (nw.col("i") + nw.col("y")),
    "difference": nw.col("x") - nw.col("n"),
    "mixed": nw.col("f") + nw.col("x"),
    "scaled": nw.col("n") * 0.1,
    "of_long": nw.col("n").cast(nw.Float64),
    "of_single": nw.col("f").cast(nw.Float64),
    "to_long": nw.col("i").cast(nw.Int64),
    "chosen": nw.when(nw.col("x") > 1).then(nw.col("x") * 2).otherwise(nw.col("y")),
}


@pytest.mark.spark
def test_arithmetic_and_casts_are_those_of_polars_to_the_bit(engines, local):
    assert [name for name, each in NATIVE.items() if not is_native(each, TYPES)] == []
    mine, its = (
        engine.from_arrow(TABLE).with_columns(**NATIVE).sort("row").to_arrow()
        for engine in (engines.get("spark"), local)
    )
    assert mine.schema == its.schema
    for name in NATIVE:
        assert mine[name].is_null().equals(its[name].is_null()), name
        assert bits(mine[name]) == bits(its[name]), name


def bits(column: pa.ChunkedArray) -> bytes:
    return np.asarray(column.drop_null()).tobytes()


def test_what_may_differ_is_left_to_polars():
    for why, expression in {
        "integers overflow": nw.col("n") + 1,
        "single precision stays so in Polars": nw.col("f") * 2.0,
        "single precision of an integer": nw.col("f") * nw.col("n"),
        "division by zero": nw.col("x") / nw.col("y"),
        "a cast that can fail": nw.col("x").cast(nw.Int64),
        "a cast that rounds": nw.col("x").cast(nw.Float32),
        "a cast to text": nw.col("n").cast(nw.String),
        "in an argument": nw.col("x") * (nw.col("n") + 1),
        "a column that is not there": nw.col("absent") * 2.0,
        "a time by the clocks of this machine": nw.col("at") > datetime.datetime(2024, 3, 1),
        "one of several": nw.col("at").is_in([datetime.datetime(2024, 3, 1)]),
        "the hour in another zone": nw.col("there").dt.year() > 2023,
        "an integer that Spark has wider": nw.col("small") == 2,
        "a name that cannot be said": nw.col("a.b") == 2.0,
        "a type that Spark lacks": nw.lit(None, nw.UInt8),
    }.items():
        assert not is_native(expression, TYPES | ODD), why
    assert is_native(nw.col("a.b"), TYPES | ODD)
    assert is_native(nw.col("at").dt.year() > 2023, TYPES | ODD)
