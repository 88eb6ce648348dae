"""MinMaxScaler, MaxAbsScaler and RobustScaler against scikit-learn, MLlib and closed forms."""

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
from penstock.stages import MaxAbsScaler, MinMaxScaler, RobustScaler

X = np.random.default_rng(7).normal(3, 2, 1001)
SCALERS = (MinMaxScaler, MaxAbsScaler, RobustScaler)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3, 5.5), (0.25, 0.5)])
def test_min_max_agrees_with_scikit_learn(apply, low, high):
    made = apply(MinMaxScaler("x", min=low, max=high), pa.table({"x": X}))["x"].to_numpy()
    oracle = sklearn.preprocessing.MinMaxScaler((low, high)).fit_transform(X[:, None])[:, 0]
    np.testing.assert_allclose(made, oracle, rtol=1e-12, atol=1e-14)


def test_max_abs_agrees_with_scikit_learn(apply):
    made = apply(MaxAbsScaler("x"), pa.table({"x": X}))["x"].to_numpy()
    np.testing.assert_allclose(made, sklearn.preprocessing.MaxAbsScaler().fit_transform(X[:, None])[:, 0], rtol=1e-15)


@pytest.mark.parametrize("with_centering", [True, False])
@pytest.mark.parametrize("with_scaling", [True, False])
def test_robust_agrees_with_scikit_learn_where_quantiles_are_values(apply, with_centering, with_scaling):
    # Of 1001 values the quartiles are values for both: at 0.25 * 1000 and at ceil(0.25 * 1001) - 1.
    made = apply(RobustScaler("x", with_centering=with_centering, with_scaling=with_scaling), pa.table({"x": X}))
    oracle = sklearn.preprocessing.RobustScaler(with_centering=with_centering, with_scaling=with_scaling)
    np.testing.assert_allclose(made["x"].to_numpy(), oracle.fit_transform(X[:, None])[:, 0], rtol=1e-12, atol=1e-14)


def test_robust_takes_the_values_at_the_quantiles_asked_for(learn):
    _, fitted = learn(RobustScaler("x", lower=0.1, upper=0.9), pa.table({"x": np.arange(1.0, 11.0)}))
    assert (fitted["median"], fitted["range"]) == ({"x": 5.0}, {"x": 9.0 - 1.0})


def test_an_outlier_does_not_move_the_robust_scale(apply):
    made = apply(RobustScaler("x"), pa.table({"x": [1.0, 2.0, 3.0, 1e300]}))["x"].to_pylist()
    assert made[:3] == [-0.5, 0.0, 0.5]


@pytest.mark.parametrize("value", [0.0, -7.5, 1e308, 5e-324])
def test_min_max_puts_a_constant_column_in_the_middle(apply, value):
    tables = [pa.table({"x": [value, None]}), pa.table({"x": [value] * 3})]
    assert apply(MinMaxScaler("x", min=-1, max=4), *tables)["x"].to_pylist() == [1.5, None]


@pytest.mark.parametrize("value", [0.0, 5e-324])
def test_max_abs_leaves_zeros_and_what_is_next_to_them(apply, value):
    assert apply(MaxAbsScaler("x"), pa.table({"x": [value, None]}))["x"].to_pylist() == [value, None]


def test_robust_makes_zero_of_a_column_without_a_range(apply):
    made = apply(RobustScaler("x"), pa.table({"x": [0.0, 0.0, 0.0, 0.0, 9.0, None]}))
    assert made["x"].to_pylist() == [0.0] * 5 + [None]


@pytest.mark.parametrize("stage", [kind("x") for kind in SCALERS], ids=str)
@pytest.mark.parametrize("x", [[0.0, 5e-324], [-1e-310, 0.0, 1e-310], [1e308, 1.7e308], [-2.0, 1e308]])
def test_numbers_near_the_ends_of_float64_make_no_nan(apply, stage, x):
    assert np.isfinite(apply(stage, pa.table({"x": x}))["x"].to_numpy()).all()


@pytest.mark.parametrize("kind", [MinMaxScaler, RobustScaler])
def test_a_range_that_overflows_is_refused(learn, kind):
    with pytest.raises(DataValueError, match=r"column 'x' reaches from -1.7e\+308 to 1.7e\+308, a range that float64"):
        learn(kind("x"), pa.table({"x": [-1.7e308, 0.0, 1.7e308]}))


@pytest.mark.parametrize("kind", SCALERS)
def test_integers_near_the_largest_and_booleans_are_numbers(apply, kind):
    table = pa.table({"x": [2**62, 2**62 + 2**40, -(2**62)], "b": [True, False, None]})
    made = apply(kind(["x", "b"]), table)
    as_floats = pa.table({"x": table["x"].cast(pa.float64(), safe=False), "b": [1.0, 0.0, None]})
    assert made.equals(apply(kind(["x", "b"]), as_floats))


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (MinMaxScaler(["x", "c"]), (-math.inf, 0.5)),
        (MaxAbsScaler(["x", "c"]), (-math.inf, math.inf)),
        (RobustScaler(["x", "c"]), (-math.inf, 0.0)),
    ],
    ids=str,
)
def test_no_nan_comes_of_an_infinity_after_the_fit(learn, stage, expected):
    bound, fitted = learn(stage, pa.table({"x": [1.0, 2.0], "c": [0.0, 0.0]}))
    later = frames.from_arrow(pa.table({"x": [-math.inf], "c": [math.inf]}))
    assert bound.transform(later, fitted).rows() == [expected]


@pytest.mark.parametrize("kind", SCALERS)
def test_what_is_learned_does_not_depend_on_partitions(learn, kind):
    x = pa.table({"x": X})
    parts = [x.slice(0, 0), x.slice(0, 300), x.slice(300, 1), x.slice(301)]
    assert learn(kind("x"), *parts)[1] == learn(kind("x"), x)[1]


@pytest.mark.parametrize("kind", SCALERS)
def test_nothing_is_learned_of_nulls(learn, kind):
    with pytest.raises(DataValueError, match="column 'x' has no value: all of its 3 rows are null"):
        learn(kind("x"), pa.table({"x": pa.nulls(3, pa.float64())}))


@pytest.mark.parametrize("kind", SCALERS)
def test_an_infinity_is_refused_at_fit_with_its_file_and_row(local, tmp_path, kind):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [3.0, math.inf, -math.inf]}), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(DataValueError, match="column 'x' has 2 values that are infinite") as caught:
        ps.Pipeline(kind("x")).fit(data)
    assert (str(caught.value.path).endswith("b.parquet"), caught.value.row) == (True, 1)


@pytest.mark.parametrize("kind", SCALERS)
def test_strings_are_refused_before_reading(kind):
    with pytest.raises(SchemaError, match=rf"column 's' is string, but {kind.__name__} takes numeric columns"):
        kind("s").bind(pa.schema({"s": pa.string()}))


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (-math.inf, 0), (0, math.inf), (-1.7e308, 1.7e308)])
def test_min_max_needs_a_finite_range(low, high):
    with pytest.raises(ConfigError, match="min and max of MinMaxScaler are"):
        MinMaxScaler("x", min=low, max=high)


@pytest.mark.parametrize(("lower", "upper"), [(0.5, 0.5), (0.7, 0.2), (-0.1, 0.5), (0.5, 1.1)])
def test_robust_needs_two_fractions_in_order(lower, upper):
    with pytest.raises(ConfigError, match="RobustScaler"):
        RobustScaler("x", lower=lower, upper=upper)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("stage", "name", "options"),
    [
        (MinMaxScaler(["x", "c"], min=-1.0, max=4.0), "MinMaxScaler", {"min": -1.0, "max": 4.0}),
        (MaxAbsScaler(["x", "c"]), "MaxAbsScaler", {}),
        (RobustScaler(["x", "c"]), "RobustScaler", {"withCentering": True}),
        (RobustScaler(["x", "c"], lower=0.1, upper=0.8), "RobustScaler",
         {"lower": 0.1, "upper": 0.8, "withCentering": True}),
    ],
    ids=str,
)  # fmt: skip
def test_agrees_with_mllib(apply, spark: Any, stage, name, options):
    from pyspark.ml import feature
    from pyspark.ml.functions import array_to_vector, vector_to_array

    x = X[:60].round(3)
    rows = [([value, 5.0],) for value in x.tolist()]
    frame = spark.createDataFrame(rows, "v array<double>").select(array_to_vector("v").alias("v")).coalesce(1)
    model = getattr(feature, name)(inputCol="v", outputCol="z", **options).fit(frame)
    expected = [row[0] for row in model.transform(frame).select(vector_to_array("z")).collect()]
    made = apply(stage, pa.table({"x": x, "c": [5.0] * len(x)}))
    np.testing.assert_allclose(np.column_stack([made["x"], made["c"]]), expected, rtol=1e-12, atol=1e-14)
