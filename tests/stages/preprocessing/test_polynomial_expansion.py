"""PolynomialExpansion against MLlib, scikit-learn and closed forms."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.preprocessing import PolynomialFeatures

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import LinearRegression, PolynomialExpansion

NAMES = ["a", "b", "c"]
X = np.random.default_rng(2).normal(size=(50, 3))
TABLE = pa.table(dict(zip(NAMES, X.T, strict=True)))


def added(made: pa.Table) -> dict[str, np.ndarray]:
    return {name: made[name].to_numpy() for name in made.schema.names if name not in NAMES}


@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("degree", [2, 3, 5])
def test_agrees_with_scikit_learn_names_included(apply, degree, interaction_only):
    oracle = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=False).fit(X)
    expected = dict(zip(oracle.get_feature_names_out(NAMES), oracle.transform(X).T, strict=True))
    made = added(apply(PolynomialExpansion(NAMES, degree, interaction_only=interaction_only), TABLE))
    assert {*made, *NAMES} == set(expected)
    for name, values in made.items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-14)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_terms_are_in_the_order_of_mllib(apply, spark: Any):
    from pyspark.ml import feature
    from pyspark.ml.functions import array_to_vector, vector_to_array

    frame = spark.createDataFrame([(row,) for row in X.tolist()], "x array<double>").coalesce(1)
    frame = frame.select(array_to_vector("x").alias("x"))
    frame = feature.PolynomialExpansion(degree=3, inputCol="x", outputCol="p").transform(frame)
    theirs = np.array([row.p for row in frame.select(vector_to_array("p").alias("p")).collect()])
    made = added(apply(PolynomialExpansion(NAMES, 3), TABLE))
    first = [place for place in range(theirs.shape[1]) if any((theirs[:, place] == x).all() for x in X.T)]
    np.testing.assert_allclose(np.column_stack(list(made.values())), np.delete(theirs, first, axis=1), rtol=1e-14)


def test_integers_do_not_overflow_and_booleans_are_zero_and_one(apply):
    table = pa.table({"i": pa.array([2**40, -3], pa.int64()), "b": [True, False]})
    made = apply(PolynomialExpansion(["i", "b"]), table)
    assert [made[name].to_pylist() for name in ("i^2", "i b", "b^2")] == [[2.0**80, 9.0], [2.0**40, -0.0], [1.0, 0.0]]


def test_a_null_makes_null_of_the_products_it_is_in(apply):
    made = apply(PolynomialExpansion(["x", "y"]), pa.table({"x": [None, 0.0], "y": [3.0, None]}))
    assert [made[name].to_pylist() for name in ("x^2", "x y", "y^2")] == [[None, 0.0], [None, None], [9.0, None]]


def test_the_largest_values_allowed_do_not_overflow_and_those_beyond_are_refused(apply):
    for degree in (2, 3, 7):
        largest = sys.float_info.max ** (1 / degree)
        stage = PolynomialExpansion(["x"], degree)
        made = apply(stage, pa.table({"x": [largest * (1 - 2e-12), -largest * (1 - 2e-12)]}))
        assert np.isfinite(made[f"x^{degree}"].to_numpy()).all()
        with pytest.raises(DataValueError, match=rf"column 'x' has 1 values beyond .* a product of {degree}"):
            apply(stage, pa.table({"x": [1.0, -largest * 1.001]}))


def test_an_infinity_is_refused_with_its_row(local):
    data = local.from_arrow(pa.table({"x": [1.0, 2.0, math.inf]}))
    with pytest.raises(DataValueError, match="column 'x' has 1 values beyond") as caught:
        ps.Pipeline(PolynomialExpansion("x")).fit(data).transform(data).to_arrow()
    assert caught.value.row == 2


def test_an_empty_partition_works(apply):
    assert apply(PolynomialExpansion(NAMES), TABLE.slice(0, 0)).num_columns == 9


def test_a_parabola_is_a_line_in_the_expansion(local):
    x = np.arange(10.0)
    data = local.from_arrow(pa.table({"x": x, "y": 3 * x**2 - 2 * x + 1}))
    model = ps.Pipeline(PolynomialExpansion("x"), LinearRegression("y")).fit(data)
    assert model.fitted[1]["features"] == ["x", "x^2"]
    assert model.fitted[1]["coefficients"] == pytest.approx([-2, 3], rel=1e-9)


@pytest.mark.thorough
def test_too_many_terms_are_refused_before_they_are_named():
    wide = pa.schema({f"x{place}": pa.float64() for place in range(3000)})
    with pytest.raises(ConfigError, match="of 3000 columns would add 4,501,500 columns, expected at most 10,000"):
        PolynomialExpansion(wide.names).bind(wide)
    with pytest.raises(ConfigError, match="would add 4,498,500 columns"):
        PolynomialExpansion(wide.names, interaction_only=True).bind(wide)


def test_a_column_that_is_there_is_not_overwritten():
    with pytest.raises(ConfigError, match=r"adds 'x\^2', but there is a column of that name"):
        PolynomialExpansion("x").bind(pa.schema({"x": pa.int64(), "x^2": pa.int64()}))


@pytest.mark.parametrize("degree", [1, 2.0, True])
def test_a_degree_below_two_is_refused(degree):
    with pytest.raises(ConfigError, match="degree of PolynomialExpansion is"):
        PolynomialExpansion("x", degree)


def test_a_string_column_is_refused_before_reading():
    with pytest.raises(SchemaError, match="column 's' is string, but PolynomialExpansion takes numeric columns"):
        PolynomialExpansion("s").bind(pa.schema({"s": pa.string()}))


def test_one_row_alone_gets_the_same_to_the_bit():
    bound = PolynomialExpansion(NAMES, 4).bind(TABLE.schema)
    together = frames.to_arrow(bound.transform(frames.from_arrow(TABLE), {}))
    call = bound.row_function(TABLE.schema, {})
    for row, expected in zip(TABLE.to_pylist(), together.to_pylist(), strict=True):
        call(row)
        assert row == expected
    with pytest.raises(DataValueError, match="column 'b' has 1 values beyond"):
        call({"a": None, "b": math.inf, "c": 1.0})
