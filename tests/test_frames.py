"""The door to dataframe libraries: missing is null behind it, and every kernel gives what its definition says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import narwhals.selectors as ncs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import frames
from penstock.core.extras import how_to_install
from penstock.errors import ConfigError, MissingExtraError, SchemaError
from penstock.frames import matrices

TABLE = pa.table({"x": [1.0, None, 3.0, 1.0], "n": pa.array([1, 2, None, 1], pa.int64()), "s": ["a", None, "b", "a"]})
LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "polars": pl.from_arrow,
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pyarrow": lambda table: table,
}


@pytest.fixture(params=LIBRARIES)
def frame(request: pytest.FixtureRequest) -> nw.DataFrame:
    """The same table in each library that Narwhals stands over."""
    return nw.from_native(LIBRARIES[request.param](TABLE), eager_only=True)


def test_nan_is_null_from_the_door_on() -> None:
    found = frames.from_arrow(pa.table({"x": [1.0, float("nan"), None], "y": pa.array([0.5, np.nan, 1], pa.float32())}))
    assert found["x"].to_list() == [1.0, None, None]
    assert found["y"].null_count() == 1


def test_nan_in_a_parquet_file_is_null(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, float("nan")]}), tmp_path / "f.parquet")
    assert frames.read_parquet([str(tmp_path / "f.parquet")], 0, 2, ["x"])["x"].to_list() == [1.0, None]


def test_an_infinity_is_a_value() -> None:
    assert frames.from_arrow(pa.table({"x": [float("inf")]}))["x"].to_list() == [float("inf")]


def test_read_parquet_gives_the_rows_and_columns_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a[1]*.parquet"  # a name that a glob would misread
    pq.write_table(pa.table({"a": range(100), "b": range(100, 200)}), path, row_group_size=30)
    found = frames.read_parquet([str(path)], 25, 40, ["b"])
    assert found.columns == ["b"]
    assert found["b"].to_list() == list(range(125, 165))


def test_value_counts_are_those_of_any_library(frame: nw.DataFrame) -> None:
    found = frames.value_counts(frame, ["n", "s"])
    assert sorted(found["n"].to_pylist(), key=str) == [{"value": 1, "count": 2}, {"value": 2, "count": 1}]
    assert sorted(found["s"].to_pylist(), key=str) == [{"value": "a", "count": 2}, {"value": "b", "count": 1}]


def test_value_counts_have_canonical_types(frame: nw.DataFrame) -> None:
    assert frames.value_counts(frame, ["s"])["s"].schema == pa.schema({"value": pa.string(), "count": pa.int64()})


def test_value_counts_of_no_rows_is_empty() -> None:
    assert frames.value_counts(frames.from_arrow(TABLE.slice(0, 0)), ["s"])["s"].num_rows == 0


def test_sum_by_key_adds_in_order_of_first_appearance() -> None:
    tables = [pa.table({"value": ["b", "a"], "count": [1, 2]}), pa.table({"value": ["a", "c"], "count": [5, 1]})]
    assert frames.sum_by_key(tables, ["value"]).to_pydict() == {"value": ["b", "a", "c"], "count": [1, 7, 1]}


def test_encode_gives_positions_unseen_and_null() -> None:
    frame = frames.from_arrow(pa.table({"c": ["b", None, "z", "a", "b"], "d": ["", "é", "\0", None, "é"]}))
    codes = frames.encode(frame, {"c": pa.array(["a", "b"]), "d": pa.array(["é", ""])}, {"c": 2, "d": -1})
    assert codes["c"].to_list() == [1, None, 2, 0, 1]
    assert codes["d"].to_list() == [1, 0, -1, None, 0]
    assert codes["c"].dtype == nw.Int32


def test_encode_gives_null_a_code_and_keeps_what_has_none_of_a_lazy_frame_too() -> None:
    table = pa.table({"c": ["b", None, "z"], "d": [None, "a", "b"], "n": [1, 2, 3]})
    known = {"c": pa.array(["a", "b"]), "d": pa.array(["b"])}
    for given in (frames.from_arrow(table), nw.from_native(pl.LazyFrame(table))):
        made = frames.encode(given, known, {"c": 2, "d": 1}, {"c": 7}).lazy().collect()
        assert made.to_dict(as_series=False) == {"c": [1, 7, 2], "d": [None, 1, 0], "n": [1, 2, 3]}
        assert made.collect_schema() == {"c": nw.Int32, "d": nw.Int32, "n": nw.Int64}


def test_encode_tells_codes_of_null_apart() -> None:
    frame, known = frames.from_arrow(pa.table({"c": [None, "a"]})), {"c": pa.array(["a"])}
    found = [frames.encode(frame, known, {"c": 1}, {"c": code})["c"].to_list() for code in (5, 6, 5)]
    assert found == [[5, 0], [6, 0], [5, 0]]


def test_encode_tells_vocabularies_of_one_column_apart() -> None:
    frame = frames.from_arrow(pa.table({"c": ["a", "b"]}))
    for known, expected in ((["a", "b"], [0, 1]), (["b", "a"], [1, 0]), (["a", "b"], [0, 1])):
        assert frames.encode(frame, {"c": pa.array(known)}, {"c": 2})["c"].to_list() == expected


def test_encode_with_no_category_knows_none() -> None:
    frame = frames.from_arrow(pa.table({"c": ["a", None]}))
    assert frames.encode(frame, {"c": pa.array([], pa.string())}, {"c": 0})["c"].to_list() == [0, None]


@pytest.mark.parametrize("values", [["b", "a"], [7, -1], [True, False], [0.5, 2.0]], ids=str)
def test_decode_undoes_encoding_in_the_type_of_the_categories(values: list[Any]) -> None:
    codes = frames.from_arrow(pa.table({"c": pa.array([1, 0, None, 2, -1], pa.int32())}))["c"]
    decoded = frames.decode(codes, pa.array(values))
    assert decoded.name == "c"
    assert decoded.to_list() == [values[1], values[0], None, None, None]
    assert frames.to_arrow(decoded.to_frame()).schema.field("c").type == pa.array(values).type


def test_decode_without_categories_is_null() -> None:
    codes = frames.from_arrow(pa.table({"c": [0, 1]}))["c"]
    assert frames.decode(codes, pa.array([], pa.string())).to_list() == [None, None]


def test_log1p_is_exact_near_zero() -> None:
    values = [0.0, 1e-18, 1.0, -0.5, None]
    found = frames.log1p(frames.from_arrow(pa.table({"x": values})), {"x": "y"})["y"].to_list()
    assert found == [None if value is None else np.log1p(value) for value in values]


def test_to_matrix_is_row_major_with_nan_for_null() -> None:
    frame = frames.from_arrow(pa.table({"a": pa.array([1, None], pa.int8()), "b": [0.5, 2.0], "c": [True, None]}))
    matrix = matrices.to_matrix(frame, ["c", "a", "b"])
    assert matrix.flags.c_contiguous
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, np.array([[1, 1, 0.5], [np.nan, np.nan, 2.0]], np.float32))


@pytest.mark.parametrize(("rows", "columns"), [(0, ["x"]), (2, []), (0, [])])
def test_to_matrix_keeps_its_shape_without_rows_or_columns(rows: int, columns: list[str]) -> None:
    frame = frames.from_arrow(pa.table({"x": [1.0, 2.0]}).slice(0, rows))
    assert matrices.to_matrix(frame, columns).shape == (rows, len(columns))


def test_a_matrix_becomes_a_column_of_lists() -> None:
    frame = frames.from_arrow(pa.table({"x": [1, 2]}))
    made = frame.with_columns(matrices.column(frame, "v", np.array([[1.0, 2.0], [3.0, 4.0]])))
    assert frames.to_arrow(made).schema.field("v").type == pa.list_(pa.float64())
    assert made["v"].to_list() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("width", [0, 3])
def test_a_matrix_without_rows_becomes_an_empty_column_of_lists(width: int) -> None:
    frame = frames.from_arrow(pa.table({"x": pa.array([], pa.int64())}))
    made = frame.with_columns(matrices.column(frame, "v", np.empty((0, width))))
    assert frames.to_arrow(made).schema.field("v").type == pa.list_(pa.float64())


def test_conform_orders_casts_and_fills() -> None:
    frame = frames.from_arrow(pa.table({"b": pa.array([1], pa.int32()), "extra": [0], "a": ["x"]}))
    schema = pa.schema({"a": pa.string(), "absent": pa.date32(), "b": pa.int64()})
    found = frames.to_arrow(frames.conform(frame, schema))
    assert found.schema == schema
    assert found.to_pylist() == [{"a": "x", "absent": None, "b": 1}]


@pytest.mark.parametrize(
    "kind",
    [
        pa.bool_(), pa.int8(), pa.uint64(), pa.float32(), pa.string(), pa.date32(),
        pa.timestamp("ms"), pa.timestamp("ns", "Europe/Paris"), pa.duration("us"), pa.decimal128(20, 3), pa.null(),
        pa.list_(pa.string()), pa.struct([("a", pa.string())]),
        *[
            pytest.param(kind, marks=pytest.mark.cpu("cuDF has no such type"))
            for kind in (pa.binary(), pa.time64("us"), pa.binary(16))
        ],
    ],
    ids=str,
)  # fmt: skip
def test_a_type_comes_back_as_it_went_in(kind: pa.DataType, local: Any) -> None:
    table = pa.table({"c": pa.nulls(2, kind)})
    assert local.from_arrow(table).to_arrow().equals(table)


def test_narwhals_types_of_a_schema_need_no_data() -> None:
    found = frames.dtypes(pa.schema({"a": pa.int8(), "b": pa.list_(pa.string())}))
    assert found == {"a": nw.Int8(), "b": nw.List(nw.String())}


SCHEMA = pa.schema({"a": pa.int64(), "b": pa.float64(), "s": pa.string()})


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (nw.col("a") > 1, ["a"]),
        ((nw.col("b") > nw.col("a")) & (nw.col("s") == "x"), ["a", "b", "s"]),
        (nw.all_horizontal(~nw.all().is_null(), ignore_nulls=True), ["a", "b", "s"]),
        (nw.any_horizontal(ncs.numeric() > 0, ignore_nulls=True), ["a", "b"]),
        (nw.lit(True), []),
    ],
    ids=str,
)
def test_roots_are_the_columns_that_an_expression_reads(expression: nw.Expr, expected: list[str]) -> None:
    assert frames.roots(expression, SCHEMA) == expected


@pytest.mark.parametrize(
    "expression", [nw.col("absent") > 1, nw.col("s") > 1, nw.col("a").cum_sum() > 3], ids=["absent", "type", "order"]
)
def test_an_expression_that_does_not_fit_is_refused_before_reading(expression: nw.Expr) -> None:
    with pytest.raises(SchemaError, match="the expression does not fit the data"):
        frames.roots(expression, SCHEMA)


@pytest.mark.parametrize(
    ("form", "kind"),
    [("narwhals", nw.DataFrame), ("polars", pl.DataFrame), ("pandas", pd.DataFrame), ("arrow", pa.Table)],
)
def test_a_frame_is_presented_in_the_form_asked_for(form: str, kind: type) -> None:
    found = frames.present(frames.from_arrow(TABLE), form)
    assert isinstance(found, kind)
    assert len(found) == 4


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ConfigError, match="frame is 'spark', expected one of arrow, cudf, narwhals, pandas, polars"):
        frames.check_form("spark")


def test_every_form_is_accepted_with_nan_as_null(frame: nw.DataFrame) -> None:
    for given in (frame, nw.to_native(frame)):
        accepted = frames.accept(given, "cpu")
        assert accepted.implementation.is_polars()
        assert accepted["n"].to_list() == [1, 2, None, 1]


def test_a_nan_that_a_user_makes_is_null() -> None:
    for made in (pl.DataFrame({"x": [float("nan")]}), pd.DataFrame({"x": [float("nan")]})):
        assert frames.accept(made, "cpu")["x"].to_list() == [None]


def test_the_index_of_pandas_is_left_out() -> None:
    assert frames.accept(pd.DataFrame({"x": [1]}, index=pd.Index([7], name="key")), "cpu").columns == ["x"]


def test_without_cudf_the_error_names_the_extra(hide_modules: Callable[..., None]) -> None:
    hide_modules("cudf")
    with pytest.raises(MissingExtraError, match=re.escape(how_to_install("gpu"))):
        frames.from_arrow(TABLE, "gpu")


def test_a_file_is_created_exclusively(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    frames.write_parquet(frames.from_arrow(TABLE), str(path))
    assert pq.read_table(path).cast(TABLE.schema).equals(TABLE)
    with pytest.raises(FileExistsError):
        frames.write_parquet(frames.from_arrow(TABLE), str(path))
