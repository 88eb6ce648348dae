"""A filter is about one row at a time."""

import datetime as dt

import narwhals as nw
import pyarrow as pa
import pytest

from penstock import LocalEngine
from penstock.errors import SchemaError
from penstock.expressions.rowwise import check_rowwise

SCHEMA = pa.schema(
    {
        "a": pa.int64(),
        "x": pa.float64(),
        "s": pa.string(),
        "t": pa.timestamp("us"),
        "b": pa.bool_(),
        "l": pa.list_(pa.int8()),
    }
)


def test_what_depends_on_other_rows_is_refused(subtests):
    for condition in [
        nw.col("a") > nw.col("a").mean(),
        nw.col("x").max() > 0.5,
        nw.len() > 1,
        nw.col("a") == nw.col("a").max().over("s"),
        nw.col("s").is_duplicated(),
        nw.col("x").rank() > 1,
        nw.col("t") < nw.col("t").max(),
        nw.col("a").null_count() > 0,
        nw.col("b").any(),
    ]:
        with subtests.test(str(condition)), pytest.raises(SchemaError, match="depends on the rows beside it"):
            check_rowwise(condition, SCHEMA)


def test_what_is_about_a_row_passes(subtests):
    for condition in [
        nw.col("a") > 0,
        nw.col("a").is_null() | (nw.col("x") == 1),
        nw.col("s").str.contains("0"),
        nw.col("s").str.to_datetime("%Y") > dt.datetime(2020, 1, 1),  # raises for the sample's texts
        nw.col("t") >= dt.datetime(1970, 1, 1),
        nw.col("b") & (nw.col("l").list.len() > 0),
        nw.lit(True),
        nw.max_horizontal("a", "x") > 0.5,
    ]:
        with subtests.test(str(condition)):
            check_rowwise(condition, SCHEMA)


def test_a_dataset_refuses_it_before_reading():
    data = LocalEngine(device="cpu").from_arrow(pa.table({"a": [1, 2, 3]}))
    with pytest.raises(SchemaError, match="depends on the rows beside it"):
        data.filter(nw.col("a") > nw.col("a").mean())
