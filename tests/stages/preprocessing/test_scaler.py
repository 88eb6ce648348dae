"""StandardScaler against scikit-learn and closed forms."""

import math

import numpy as np
import pyarrow as pa
import sklearn.preprocessing

from penstock import frames
from penstock.stages import StandardScaler


def test_agrees_with_scikit_learn_up_to_the_sample_deviation(apply, rng, subtests):
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
