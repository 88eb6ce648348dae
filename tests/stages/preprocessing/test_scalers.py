"""Scalers of columns against scikit-learn, MLlib and closed forms."""

import math

import numpy as np
import pyarrow as pa
import pytest
import sklearn.preprocessing
from onnxruntime import InferenceSession

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError
from penstock.stages import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

X = np.random.default_rng(7).normal(3, 2, 1001)
SCALERS = (MinMaxScaler, MaxAbsScaler, RobustScaler)


def test_min_max_agrees_with_scikit_learn(apply, subtests):
    for low, high in [(0.0, 1.0), (-3, 5.5), (0.25, 0.5)]:
        with subtests.test(low=low, high=high):
            made = apply(MinMaxScaler("x", min=low, max=high), pa.table({"x": X}))["x"].to_numpy()
            oracle = sklearn.preprocessing.MinMaxScaler((low, high)).fit_transform(X[:, None])[:, 0]
            np.testing.assert_allclose(made, oracle, rtol=1e-12, atol=1e-14)


def test_max_abs_agrees_with_scikit_learn(apply):
    made = apply(MaxAbsScaler("x"), pa.table({"x": X}))["x"].to_numpy()
    np.testing.assert_allclose(made, sklearn.preprocessing.MaxAbsScaler().fit_transform(X[:, None])[:, 0], rtol=1e-15)


RANGES = [
    (MaxAbsScaler, {}, (-1.0, 1.0)),
    *(
        (MinMaxScaler, {"min": low, "max": high}, (low, high))
        for low, high in ((0.0, 1.0), (-1.0, 0.7), (-1.0, 0.001), (10.0, 20.0))
    ),
]
LARGEST = [14.62, 49.0, 1.7e308, 1e-300, 1.9999999999999998, *np.random.default_rng(0).uniform(0.1, 1000, 25)]


@pytest.mark.thorough
def test_the_ends_of_the_fit_become_the_ends_of_the_range_to_the_bit(engine, subtests):
    table = pa.table({f"c{place}": [-value, value, value / 3] for place, value in enumerate(LARGEST)})
    for kind, options, ends in RANGES:
        scaled = [name for name, value in zip(table.column_names, LARGEST, strict=True) if value < 9e307 or not options]
        given = table.select(scaled)  # the range of others overflows
        model = ps.Pipeline(kind(scaled, **options)).fit(engine.from_arrow(given))
        made = model.transform(engine.from_arrow(given)).to_arrow().to_pylist()
        feeds = {name: np.array(given[name])[:, None] for name in scaled}
        graph = InferenceSession(model.to_onnx().SerializeToString()).run(None, feeds)
        with subtests.test(kind.__name__, **options):
            assert [set(row.values()) for row in made[:2]] == [{ends[0]}, {ends[1]}]
            assert all(ends[0] < value < ends[1] for value in made[2].values())
            assert [model.predict(row) for row in given.to_pylist()] == made
            assert np.array_equal(np.hstack(graph), [[*row.values()] for row in made])


def test_robust_agrees_with_scikit_learn_where_quantiles_are_values(apply, subtests):
    for with_centering in [True, False]:
        for with_scaling in [True, False]:
            with subtests.test(with_centering=with_centering, with_scaling=with_scaling):
                # Of 1001 values the quartiles are values for both: at 0.25 * 1000 and at ceil(0.25 * 1001) - 1.
                made = apply(
                    RobustScaler("x", with_centering=with_centering, with_scaling=with_scaling), pa.table({"x": X})
                )
                oracle = sklearn.preprocessing.RobustScaler(with_centering=with_centering, with_scaling=with_scaling)
                np.testing.assert_allclose(
                    made["x"].to_numpy(), oracle.fit_transform(X[:, None])[:, 0], rtol=1e-12, atol=1e-14
                )


def test_robust_takes_the_values_at_the_quantiles_asked_for(learn):
    _, fitted = learn(RobustScaler("x", lower=0.1, upper=0.9), pa.table({"x": np.arange(1.0, 11.0)}))
    assert (fitted["median"], fitted["range"]) == ({"x": 5.0}, {"x": 9.0 - 1.0})


def test_min_max_puts_a_constant_column_in_the_middle(apply, subtests):
    for value in [0.0, -7.5, 1e308, 5e-324]:
        with subtests.test(value=value):
            tables = [pa.table({"x": [value, None]}), pa.table({"x": [value] * 3})]
            assert apply(MinMaxScaler("x", min=-1, max=4), *tables)["x"].to_pylist() == [1.5, None]


def test_max_abs_leaves_zeros_and_what_is_next_to_them(apply, subtests):
    for value in [0.0, 5e-324]:
        with subtests.test(value=value):
            assert apply(MaxAbsScaler("x"), pa.table({"x": [value, None]}))["x"].to_pylist() == [value, None]


def test_robust_makes_zero_of_a_column_without_a_range(apply):
    made = apply(RobustScaler("x"), pa.table({"x": [0.0, 0.0, 0.0, 0.0, 9.0, None]}))
    assert made["x"].to_pylist() == [0.0] * 5 + [None]


def test_numbers_near_the_ends_of_float64_make_no_nan(apply, subtests):
    for stage in [kind("x") for kind in SCALERS]:
        for x in [[0.0, 5e-324], [-1e-310, 0.0, 1e-310], [1e308, 1.7e308], [-2.0, 1e308]]:
            with subtests.test(stage=stage, x=x):
                assert np.isfinite(apply(stage, pa.table({"x": x}))["x"].to_numpy()).all()


def test_min_max_needs_a_finite_range(subtests):
    for low, high in [(1, 1), (2, 1), (-math.inf, 0), (0, math.inf), (-1.7e308, 1.7e308)]:
        with subtests.test(low=low, high=high), pytest.raises(ConfigError, match="min and max of MinMaxScaler are"):
            MinMaxScaler("x", min=low, max=high)


def test_robust_needs_two_fractions_in_order(subtests):
    for lower, upper in [(0.5, 0.5), (0.7, 0.2), (-0.1, 0.5), (0.5, 1.1)]:
        with subtests.test(lower=lower, upper=upper), pytest.raises(ConfigError, match="RobustScaler"):
            RobustScaler("x", lower=lower, upper=upper)


@pytest.mark.spark
def test_agrees_with_mllib(apply, spark, subtests):
    from pyspark.ml import feature
    from pyspark.ml.functions import array_to_vector, vector_to_array

    x = X[:60].round(3)
    rows = [([value, 5.0],) for value in x.tolist()]
    frame = spark.createDataFrame(rows, "v array<double>").select(array_to_vector("v").alias("v")).coalesce(1)
    for stage, name, options in [
        (MinMaxScaler(["x", "c"], min=-1.0, max=4.0), "MinMaxScaler", {"min": -1.0, "max": 4.0}),
        (MaxAbsScaler(["x", "c"]), "MaxAbsScaler", {}),
        (RobustScaler(["x", "c"]), "RobustScaler", {"withCentering": True}),
        (
            RobustScaler(["x", "c"], lower=0.1, upper=0.8),
            "RobustScaler",
            {"lower": 0.1, "upper": 0.8, "withCentering": True},
        ),
    ]:
        with subtests.test(stage=stage, name=name, options=options):
            model = getattr(feature, name)(inputCol="v", outputCol="z", **options).fit(frame)
            expected = [row[0] for row in model.transform(frame).select(vector_to_array("z")).collect()]
            made = apply(stage, pa.table({"x": x, "c": [5.0] * len(x)}))
            np.testing.assert_allclose(np.column_stack([made["x"], made["c"]]), expected, rtol=1e-12, atol=1e-14)


def test_standard_agrees_with_scikit_learn_up_to_the_sample_deviation(apply, rng, subtests):
    x = rng.normal(3, 2, 1000)
    for with_mean in [True, False]:
        for with_std in [True, False]:
            with subtests.test(with_mean=with_mean, with_std=with_std):
                made = apply(StandardScaler("x", with_mean=with_mean, with_std=with_std), pa.table({"x": x}))
                oracle = sklearn.preprocessing.StandardScaler(with_mean=with_mean, with_std=with_std).fit_transform(
                    x[:, None]
                )[:, 0]
                to_sample = (
                    math.sqrt(999 / 1000) if with_std else 1.0
                )  # scikit-learn divides by n, MLlib and this by n - 1
                np.testing.assert_allclose(made["x"].to_numpy(), oracle * to_sample, rtol=1e-12, atol=1e-13)


def test_a_constant_column_becomes_zero(apply, subtests):
    for value in [0.0, 0.1, 1e8 + 0.1, -1e-300]:
        with subtests.test(value=value):
            tables = [pa.table({"x": [value] * 777}), pa.table({"x": [value] * 3})]
            assert set(apply(StandardScaler("x"), *tables)["x"].to_pylist()) == {0.0}


def test_a_column_that_varies_in_its_last_digit_is_not_constant(apply):
    x = [1.0, np.nextafter(1.0, 2.0)]
    made = apply(StandardScaler("x"), pa.table({"x": x}))["x"].to_pylist()
    assert made[0] < made[1]


def test_no_nan_comes_of_an_infinity_after_the_fit(learn, subtests):
    for with_mean in [True, False]:
        with subtests.test(with_mean=with_mean):
            bound, fitted = learn(
                StandardScaler(["x", "c"], with_mean=with_mean), pa.table({"x": [1.0, 2.0], "c": [3.0, 3.0]})
            )
            new = frames.from_arrow(pa.table({"x": [-math.inf], "c": [math.inf]}))
            assert bound.transform(new, fitted).rows() == [(-math.inf, 0.0)]
