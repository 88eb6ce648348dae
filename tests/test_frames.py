"""The door to dataframe libraries: missing is null behind it, and every kernel gives what its definition says."""

import re

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
from penstock.errors import MissingExtraError
from penstock.frames import matrices

TABLE = pa.table({"x": [1.0, None, 3.0, 1.0], "n": pa.array([1, 2, None, 1], pa.int64()), "s": ["a", None, "b", "a"]})


def test_nan_is_null_from_the_door_on_and_an_infinity_a_value(tmp_path):
    table = pa.table({"x": [1.0, np.nan, None, np.inf], "y": pa.array([0.5, np.nan, 1, 2], pa.float32())})
    pq.write_table(table, tmp_path / "f.parquet")
    for found in (frames.from_arrow(table), frames.read_parquet([str(tmp_path / "f.parquet")], 0, 4, ["x", "y"])):
        assert found["x"].to_list() == [1.0, None, None, np.inf]
        assert found["y"].null_count() == 1


def test_read_parquet_gives_the_rows_and_columns_asked_for(tmp_path):
    path = tmp_path / "a[1]*.parquet"  # a name that a glob would misread
    pq.write_table(pa.table({"a": range(100), "b": range(100, 200)}), path, row_group_size=30)
    found = frames.read_parquet([str(path)], 25, 40, ["b"])
    assert found.columns == ["b"]
    assert found["b"].to_list() == list(range(125, 165))


def test_value_counts_are_in_canonical_types():
    found = frames.value_counts(frames.from_arrow(TABLE), ["n", "s"])
    assert sorted(found["n"].to_pylist(), key=str) == [{"value": 1, "count": 2}, {"value": 2, "count": 1}]
    assert sorted(found["s"].to_pylist(), key=str) == [{"value": "a", "count": 2}, {"value": "b", "count": 1}]
    assert found["s"].schema == pa.schema({"value": pa.string(), "count": pa.int64()})


def test_sum_by_key_adds_in_order_of_first_appearance():
    tables = [pa.table({"value": ["b", "a"], "count": [1, 2]}), pa.table({"value": ["a", "c"], "count": [5, 1]})]
    assert frames.sum_by_key(tables, ["value"]).to_pydict() == {"value": ["b", "a", "c"], "count": [1, 7, 1]}


def test_encode_gives_positions_and_codes_of_unseen_and_null_of_a_lazy_frame_too():
    table = pa.table({"c": ["b", None, "z"], "d": [None, "\0", "é"], "n": [1, 2, 3]})
    known = {"c": pa.array(["a", "b"]), "d": pa.array(["é", ""])}
    for given in (frames.from_arrow(table), nw.from_native(pl.LazyFrame(table))):
        made = frames.encode(given, known, {"c": 2, "d": -1}, {"c": 7}).lazy().collect()
        assert made.to_dict(as_series=False) == {"c": [1, 7, 2], "d": [None, -1, 0], "n": [1, 2, 3]}
        assert made.collect_schema() == {"c": nw.Int32, "d": nw.Int32, "n": nw.Int64}


def test_encode_tells_vocabularies_and_codes_of_null_apart():
    frame = frames.from_arrow(pa.table({"c": ["a", "b", None]}))
    for known, null, expected in [
        (["a", "b"], 5, [0, 1, 5]), (["b", "a"], 5, [1, 0, 5]), (["a", "b"], 6, [0, 1, 6]), ([], 5, [2, 2, 5]),
        (["a", "b"], 5, [0, 1, 5]),
    ]:  # fmt: skip
        found = frames.encode(frame, {"c": pa.array(known, pa.string())}, {"c": 2}, {"c": null})
        assert found["c"].to_list() == expected


def test_decode_undoes_encoding_in_the_type_of_the_categories():
    codes = frames.from_arrow(pa.table({"c": pa.array([1, 0, None, 2, -1], pa.int32())}))["c"]
    for values in (["b", "a"], [7, -1], [True, False], [0.5, 2.0]):
        decoded = frames.decode(codes, pa.array(values))
        assert decoded.name == "c"
        assert decoded.to_list() == [values[1], values[0], None, None, None]
        assert frames.to_arrow(decoded.to_frame()).schema.field("c").type == pa.array(values).type
    assert frames.decode(codes, pa.array([], pa.string())).to_list() == [None] * 5


def test_to_matrix_is_row_major_with_nan_for_null():
    frame = frames.from_arrow(pa.table({"a": pa.array([1, None], pa.int8()), "b": [0.5, 2.0], "c": [True, None]}))
    matrix = matrices.to_matrix(frame, ["c", "a", "b"])
    assert matrix.flags.c_contiguous
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, np.array([[1, 1, 0.5], [np.nan, np.nan, 2.0]], np.float32))


def test_to_matrix_keeps_its_shape_without_rows_or_columns():
    for rows, columns in ((0, ["x"]), (2, []), (0, [])):
        frame = frames.from_arrow(pa.table({"x": [1.0, 2.0]}).slice(0, rows))
        assert matrices.to_matrix(frame, columns).shape == (rows, len(columns))


def test_a_matrix_becomes_a_column_of_lists():
    for matrix in ([[1.0, 2.0], [3.0, 4.0]], np.empty((0, 0)), np.empty((0, 3))):
        frame = frames.from_arrow(pa.table({"x": pa.array([7] * len(matrix), pa.int64())}))
        made = frame.with_columns(matrices.column(frame, "v", np.array(matrix)))
        assert frames.to_arrow(made).schema.field("v").type == pa.list_(pa.float64())
        assert made["v"].to_list() == list(matrix)


def test_conform_orders_casts_and_fills():
    frame = frames.from_arrow(pa.table({"b": pa.array([1], pa.int32()), "extra": [0], "a": ["x"]}))
    schema = pa.schema({"a": pa.string(), "absent": pa.date32(), "b": pa.int64()})
    found = frames.to_arrow(frames.conform(frame, schema))
    assert found.schema == schema
    assert found.to_pylist() == [{"a": "x", "absent": None, "b": 1}]


TYPES = [
    pa.bool_(), pa.int8(), pa.uint64(), pa.float32(), pa.string(), pa.date32(), pa.timestamp("ms"),
    pa.timestamp("ns", "Europe/Paris"), pa.duration("us"), pa.decimal128(20, 3), pa.null(), pa.list_(pa.string()),
    pa.struct([("a", pa.string())]),
]  # fmt: skip
NOT_OF_CUDF = [pa.binary(), pa.time64("us"), pa.binary(16)]


@pytest.mark.parametrize("kinds", [TYPES, pytest.param(NOT_OF_CUDF, marks=pytest.mark.cpu("cuDF has no such type"))])
def test_a_type_comes_back_as_it_went_in(kinds, local):
    for kind in kinds:
        table = pa.table({"c": pa.nulls(2, kind)})
        assert local.from_arrow(table).to_arrow().equals(table), kind


def test_narwhals_types_of_a_schema_need_no_data():
    found = frames.dtypes(pa.schema({"a": pa.int8(), "b": pa.list_(pa.string())}))
    assert found == {"a": nw.Int8(), "b": nw.List(nw.String())}


SCHEMA = pa.schema({"a": pa.int64(), "b": pa.float64(), "s": pa.string()})


def test_roots_are_the_columns_that_an_expression_reads(subtests):
    for expression, expected in [
        (nw.col("a") > 1, ["a"]),
        ((nw.col("b") > nw.col("a")) & (nw.col("s") == "x"), ["a", "b", "s"]),
        (nw.all_horizontal(~nw.all().is_null(), ignore_nulls=True), ["a", "b", "s"]),
        (nw.any_horizontal(ncs.numeric() > 0, ignore_nulls=True), ["a", "b"]),
        (nw.lit(True), []),
    ]:
        with subtests.test(expression=expression):
            assert frames.roots(expression, SCHEMA) == expected


def test_a_frame_is_presented_in_the_form_asked_for():
    forms = {"narwhals": nw.DataFrame, "polars": pl.DataFrame, "pandas": pd.DataFrame, "arrow": pa.Table}
    for form, kind in forms.items():
        found = frames.present(frames.from_arrow(TABLE), form)
        assert isinstance(found, kind)
        assert len(found) == 4


def test_every_form_is_accepted_with_nan_as_null():
    for native in (pl.from_arrow(TABLE), TABLE.to_pandas(types_mapper=pd.ArrowDtype), TABLE):
        for given in (native, nw.from_native(native, eager_only=True)):
            accepted = frames.accept(given, "cpu")
            assert accepted.implementation.is_polars()
            assert accepted["n"].to_list() == [1, 2, None, 1]


def test_a_nan_that_a_user_makes_is_null_and_the_index_of_pandas_left_out():
    for made in (pl.DataFrame({"x": [float("nan")]}), pd.DataFrame({"x": [float("nan")]}, index=["key"])):
        accepted = frames.accept(made, "cpu")
        assert (accepted.columns, accepted["x"].to_list()) == (["x"], [None])
    assert frames.accept(pd.DataFrame({"x": [1]}, index=pd.Index([7], name="key")), "cpu").columns == ["x"]


def test_without_cudf_the_error_names_the_extra(hide_modules):
    hide_modules("cudf")
    with pytest.raises(MissingExtraError, match=re.escape(how_to_install("gpu"))):
        frames.from_arrow(TABLE, "gpu")


def test_a_file_is_created_exclusively(tmp_path):
    path = tmp_path / "f.parquet"
    frames.write_parquet(frames.from_arrow(TABLE), str(path))
    assert pq.read_table(path).cast(TABLE.schema).equals(TABLE)
    with pytest.raises(FileExistsError):
        frames.write_parquet(frames.from_arrow(TABLE), str(path))
