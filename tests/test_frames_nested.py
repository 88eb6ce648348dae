"""NaN inside lists, structs and maps is missing, as it is in a column of numbers."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.base import Engine
from penstock.frames.nested import nan_to_null
from penstock.pipeline.row_values import taking

NAN = math.nan
COLUMNS = {
    "lists": pa.array([[1.0, NAN], None, [], [NAN], [2.0, None]], pa.list_(pa.float32())),
    "large_lists": pa.array([[[1.0], [NAN]], None, [None], [[]], [[NAN, 2.0]]], pa.large_list(pa.list_(pa.float64()))),
    "pairs": pa.array([[1.0, NAN], None, [NAN, NAN], [0.0, 1.0], [2.0, None]], pa.list_(pa.float64(), 2)),
    "structs": pa.array(
        [{"a": NAN, "b": "x"}, None, {"b": "y"}, {"a": 1.0}, {"a": NAN}],
        pa.struct({"a": pa.float64(), "b": pa.string()}),
    ),
    "lists_of_structs": pa.array(
        [[{"a": NAN}, None], None, [], [{"a": 1.0}], [{}]], pa.list_(pa.struct({"a": pa.float64()}))
    ),
    "maps": pa.array(
        [[("a", NAN)], None, [], [("b", 1.0)], [("c", NAN), ("d", None)]], pa.map_(pa.string(), pa.float64())
    ),
}


def without_nan(value: Any) -> Any:
    """Return a value of Python with None in place of NaN at any depth: what is to come of it."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {name: without_nan(item) for name, item in value.items()}
    return type(value)(map(without_nan, value)) if isinstance(value, list | tuple) else value


def test_nan_at_any_depth_is_null_and_nothing_else_changes(subtests: pytest.Subtests) -> None:
    for name, column in COLUMNS.items():
        for rows in (slice(None), slice(1, None), slice(2, 4), slice(0, 0)):
            with subtests.test(name, rows=rows):
                given = column[rows]
                found = nan_to_null(pa.chunked_array([given]))
                found.validate(full=True)
                assert found.type == given.type
                assert found.to_pylist() == without_nan(given.to_pylist())


def test_a_column_without_nan_is_not_copied() -> None:
    column = pa.chunked_array([[[1.0, None], None, []]])
    assert nan_to_null(column) is column


def test_every_way_in_has_null_for_a_nan_inside(local: Engine, tmp_path: Path) -> None:
    expected = {name: without_nan(column.to_pylist()) for name, column in COLUMNS.items()}
    pq.write_table(pa.table(COLUMNS), tmp_path / "a.parquet")
    for data in (local.from_arrow(pa.table(COLUMNS)), local.read_parquet(tmp_path / "a.parquet")):
        assert data.to_arrow().to_pydict() == expected


def test_a_nan_that_a_function_leaves_in_a_list_is_null(local: Engine) -> None:
    made = pa.table({"v": COLUMNS["lists"]})
    found = local.from_arrow(pa.table({"x": [1]})).map_partitions(lambda _: made, made.schema, frame="arrow")
    assert found.to_arrow()["v"].to_pylist() == [[1.0, None], None, [], [None], [2.0, None]]


def test_a_nan_in_a_list_or_a_struct_of_one_row_is_missing() -> None:
    for value in ([1.0, NAN], np.array([1.0, NAN])):
        assert taking(pa.field("v", pa.list_(pa.float64())))(value) == [1.0, None]
    assert taking(pa.field("s", pa.struct({"a": pa.float64()})))({"a": NAN}) == {"a": None}
