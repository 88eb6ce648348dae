"""Normalizer against scikit-learn, MLlib and closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.preprocessing

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import Normalizer

MATRIX = np.random.default_rng(7).normal(size=(200, 7))
NORMS = ("l1", "l2", "max")
POWERS = (1.5, 3, 2.25, 40.0, 1e300)


def _table(matrix: np.ndarray) -> pa.Table:
    return pa.table({f"x{place}": column for place, column in enumerate(matrix.T)})


def _matrix(table: pa.Table) -> np.ndarray:
    return np.column_stack([column.to_numpy() for column in table.columns])


@pytest.mark.parametrize("norm", NORMS)
def test_agrees_with_scikit_learn(apply, norm):
    table = _table(np.vstack([MATRIX, np.zeros(7)]))
    made = _matrix(apply(Normalizer(table.column_names, norm=norm), table))
    oracle = sklearn.preprocessing.Normalizer(norm).fit_transform(_matrix(table))
    np.testing.assert_allclose(made, oracle, rtol=1e-14)


@pytest.mark.parametrize(
    ("norm", "expected"),
    [
        ("l1", [3 / 7, -4 / 7]),
        ("l2", [0.6, -0.8]),
        ("max", [0.75, -1.0]),
        (3, [3 / 91 ** (1 / 3), -4 / 91 ** (1 / 3)]),
    ],
)
@pytest.mark.parametrize("size", [1.0, 1e-320, 1e-200, 1e200, 4e307])
def test_rows_of_any_size_have_length_one(apply, norm, expected, size):
    made = apply(Normalizer(["a", "b"], norm=norm), pa.table({"a": [3 * size], "b": [-4 * size]}))
    rtol = 1e-15 if size > 1e-300 else 1e-3  # 1e-320 itself is rounded to three digits
    np.testing.assert_allclose(_matrix(made)[0], expected, rtol=rtol)


@pytest.mark.parametrize("power", POWERS)
def test_the_norm_of_a_number_is_that_of_numpy(apply, power):
    table = _table(MATRIX)
    made = _matrix(apply(Normalizer(table.column_names, norm=power), table))
    largest = np.abs(MATRIX).max(axis=1, keepdims=True)
    oracle = MATRIX / largest / np.linalg.norm(MATRIX / largest, ord=power, axis=1)[:, None]
    np.testing.assert_allclose(made, oracle, rtol=1e-14)


@pytest.mark.parametrize(("number", "word"), [(1, "l1"), (2.0, "l2"), (math.inf, "max")])
def test_1_2_and_infinity_are_the_norms_that_have_words(number, word):
    assert Normalizer(["a", "b"], norm=number) == Normalizer(["a", "b"], norm=word)
    assert Normalizer(["a", "b"], norm=number).parameters()["norm"] == word


@pytest.mark.parametrize("norm", [0.5, -1, 10**400, math.nan, True, None, "3"], ids=repr)
def test_what_is_no_norm_is_refused(norm):
    with pytest.raises(ConfigError, match=f"norm of Normalizer is {norm!r}, expected "):
        Normalizer(["a", "b"], norm=norm)


@pytest.mark.parametrize("norm", (*NORMS, *POWERS))
def test_a_row_of_zeros_stays(apply, norm):
    made = apply(Normalizer(["a", "b"], norm=norm), pa.table({"a": [0.0, 0.0], "b": [0, None]}))
    assert made.to_pydict() == {"a": [0.0, 0.0], "b": [0.0, None]}


def test_a_null_stays_and_adds_nothing(apply):
    schema = pa.schema({"a": pa.int64(), "b": pa.float32(), "c": pa.float64()})
    table = pa.table({"a": [3, None], "b": [None, None], "c": [4.0, None]}, schema)
    made = apply(Normalizer(["a", "b", "c"]), table)
    assert made.to_pydict() == {"a": [0.6, None], "b": [None, None], "c": [0.8, None]}


def test_integers_near_the_largest_and_booleans_are_numbers(apply):
    made = apply(Normalizer(["a", "b"], norm="max"), pa.table({"a": [-(2**63), 0], "b": [True, True]}))
    assert made.to_pydict() == {"a": [-1.0, 0.0], "b": [2.0**-63, 1.0]}


def test_output_columns_leave_the_inputs_alone(apply):
    made = apply(Normalizer(["a", "b"], norm="max", output_columns=["b2", "a2"]), pa.table({"a": [1], "b": [2]}))
    assert made.to_pydict() == {"a": [1], "b": [2], "b2": [0.5], "a2": [1.0]}


@pytest.mark.thorough
@pytest.mark.parametrize("norm", (*NORMS, *POWERS))
def test_a_wide_row_is_the_same_among_others_and_alone(norm):
    table = _table(np.random.default_rng(1).lognormal(sigma=9, size=(6, 67)))
    stage = Normalizer(table.column_names, norm=norm).bind(table.schema)
    together = frames.to_arrow(stage.transform(frames.from_arrow(table), {}))
    alone = [frames.to_arrow(stage.transform(frames.from_arrow(table.slice(row, 1)), {})) for row in range(6)]
    rows = table.to_pylist()
    function = stage.row_function(table.schema, {})
    for row in rows:
        function(row)
    assert together.equals(pa.concat_tables(alone))
    assert together.to_pylist() == rows


def test_an_infinity_is_refused_with_its_file_and_row(local, tmp_path):
    pq.write_table(pa.table({"a": [1.0], "b": [2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": [3.0, -math.inf]}), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(DataValueError, match="column 'b' has 1 values that are infinite") as caught:
        ps.Pipeline(Normalizer(["a", "b"])).fit(data).transform(data).to_arrow()
    assert (str(caught.value.path).endswith("b.parquet"), caught.value.row) == (True, 1)


def test_an_infinity_in_a_single_row_is_refused():
    schema = pa.schema({"a": pa.float64(), "b": pa.float64()})
    function = Normalizer(["a", "b"]).bind(schema).row_function(schema, {})
    with pytest.raises(DataValueError, match="column 'b' has 1 values that are infinite"):
        function({"a": 1.0, "b": -math.inf})


def test_an_empty_partition_works(apply):
    assert apply(Normalizer("x"), pa.table({"x": pa.array([], pa.int32())})).num_rows == 0


def test_a_wrong_parameter_is_named():
    with pytest.raises(ConfigError, match=r"norm of Normalizer is 'L2', expected one of l2, l1, max"):
        Normalizer("x", norm="L2")
    with pytest.raises(SchemaError, match="column 's' is string, but Normalizer takes numeric columns"):
        Normalizer("s").bind(pa.schema({"s": pa.string()}))


@pytest.mark.spark
@pytest.mark.parametrize(("norm", "p"), [("l1", 1.0), ("l2", 2.0), ("max", math.inf), (3, 3.0)])
def test_agrees_with_mllib(apply, spark: Any, norm, p):
    from pyspark.ml.feature import Normalizer as MLlib
    from pyspark.ml.functions import array_to_vector, vector_to_array

    rows = [*MATRIX[:20].tolist(), [0.0] * 7]
    frame = spark.createDataFrame([(row,) for row in rows], "v array<double>").select(array_to_vector("v").alias("v"))
    found = MLlib(inputCol="v", outputCol="z", p=p).transform(frame).select(vector_to_array("z")).collect()
    table = _table(np.array(rows))
    made = _matrix(apply(Normalizer(table.column_names, norm=norm), table))
    np.testing.assert_allclose(made, [row[0] for row in found], rtol=1e-14)
