"""Binarizer against scikit-learn and MLlib."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sklearn.preprocessing

from penstock.errors import ConfigError, SchemaError
from penstock.stages import Binarizer


@pytest.mark.parametrize("threshold", [0, -0.25, 1.0])
def test_agrees_with_scikit_learn(apply, threshold):
    x = np.random.default_rng(3).normal(size=500).round(2)
    made = apply(Binarizer("x", threshold=threshold), pa.table({"x": x}))["x"].to_numpy()
    oracle = sklearn.preprocessing.Binarizer(threshold=threshold).fit_transform(x[:, None])[:, 0]
    np.testing.assert_array_equal(made, oracle)


def test_the_threshold_itself_is_not_above(apply):
    x = [np.nextafter(0.1, 0.0), 0.1, np.nextafter(0.1, 1.0)]
    assert apply(Binarizer("x", threshold=0.1), pa.table({"x": x}))["x"].to_pylist() == [0.0, 0.0, 1.0]


def test_a_float32_value_is_compared_as_it_is(apply):
    x = pa.array([0.1], pa.float32())  # 0.1 of float32 is above 0.1 of float64
    assert apply(Binarizer("x", threshold=0.1), pa.table({"x": x}))["x"].to_pylist() == [1.0]


def test_every_column_can_have_its_own(apply):
    table = pa.table({"a": [1, 2, 3], "b": [True, False, None]})
    made = apply(Binarizer(["a", "b"], threshold=[2, 0.5], output_columns=["c", "d"]), table)
    assert made.select(["c", "d"]).to_pydict() == {"c": [0.0, 0.0, 1.0], "d": [1.0, 0.0, None]}


def test_nulls_stay_and_infinities_are_ends(apply):
    made = apply(Binarizer("x", threshold=1e308), pa.table({"x": [None, math.inf, -math.inf]}))
    assert made["x"].to_pylist() == [None, 1.0, 0.0]


@pytest.mark.parametrize("threshold", [math.nan, math.inf, "1", None, (), (1, math.inf), True, 10**400])
def test_a_threshold_is_a_finite_number(threshold):
    with pytest.raises(ConfigError, match=r"threshold of Binarizer is .*, expected a finite number or one for each"):
        Binarizer("x", threshold=threshold)


def test_as_many_thresholds_as_columns_are_asked_for():
    with pytest.raises(ConfigError, match="threshold of Binarizer has 3 values for 2 columns"):
        Binarizer(["a", "b"], threshold=[1, 2, 3]).bind(pa.schema({"a": pa.int64(), "b": pa.int64()}))


def test_strings_are_refused_before_reading():
    with pytest.raises(SchemaError, match="column 's' is string, but Binarizer takes numeric columns"):
        Binarizer("s").bind(pa.schema({"s": pa.string()}))


def test_parameters_round_trip():
    stage = Binarizer(["a", "b"], threshold=[1, 2.5])
    assert Binarizer.from_parameters(stage.parameters()) == stage


@pytest.mark.spark
def test_agrees_with_mllib(apply, spark: Any):
    from pyspark.ml.feature import Binarizer as MLlib

    rows = [(-1.0, 0.5), (0.0, 0.0), (0.1, -2.0), (2.0, 0.50001)]
    model = MLlib(inputCols=["a", "b"], outputCols=["c", "d"], thresholds=[0.1, 0.5])
    expected = [tuple(row) for row in model.transform(spark.createDataFrame(rows, "a double, b double")).collect()]
    table = pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]})
    made = apply(Binarizer(["a", "b"], threshold=[0.1, 0.5], output_columns=["c", "d"]), table)
    assert [tuple(row.values()) for row in made.to_pylist()] == expected
