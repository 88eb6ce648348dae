"""Lists as rows are those of Polars and Spark's explode_outer."""

import narwhals as nw
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import ConfigError, SchemaError

TABLE = pa.table({"id": range(6), "l": [[1.0, None], [], None, [float("nan")], [2.0, 3.0, 4.0], []]})
ROWS = [(0, 1.0), (0, None), (1, None), (2, None), (3, None), (4, 2.0), (4, 3.0), (4, 4.0), (5, None)]


def test_every_value_is_a_row_and_an_empty_list_is_null(local):
    made = local.from_arrow(TABLE, fragment_bytes=80).explode("l")
    assert made.schema == pa.schema({"id": pa.int64(), "l": pa.float64()})
    assert made.to_polars().rows() == ROWS
    assert made.select("id").to_polars().rows() == [row[:1] for row in ROWS]


def test_rows_without_values_are_dropped_and_counted(tmp_path):
    data = ps.LocalEngine(device="cpu").from_arrow(TABLE)
    result = data.explode("l", keep_empty=False).write(tmp_path / "out")
    assert (result.read, result.rows) == (6, 6)
    assert result.dropped == {"explode(l): null or empty": 3, "explode(l)": -3}


def test_texts_are_split_and_exploded():
    data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"s": ["a,b", None, ""]}))
    made = data.with_columns(s=nw.col("s").str.split(",")).explode("s")
    assert made.to_arrow()["s"].to_pylist() == ["a", "b", None, ""]


def test_rows_have_no_numbers_after_it():
    data = ps.LocalEngine(device="cpu").from_arrow(TABLE).explode("l")
    with pytest.raises(ConfigError, match=r"rows have no numbers after explode\(l\)"):
        data.folds(2)
    assert len(data.folds(2, group="id")) == 2


def test_what_has_no_lists_is_refused():
    data = ps.LocalEngine(device="cpu").from_arrow(TABLE)
    with pytest.raises(SchemaError, match="column 'id' is int64, but explode takes a list"):
        data.explode("id")
    with pytest.raises(SchemaError, match="column 'k' is not in the data"):
        data.explode("k")
