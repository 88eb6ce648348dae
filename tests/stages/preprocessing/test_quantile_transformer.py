"""QuantileTransformer against scikit-learn and closed forms."""

import math

import numpy as np
import pyarrow as pa
import pytest
import sklearn.preprocessing
from scipy.stats import norm

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError
from penstock.stages import QuantileTransformer

RNG = np.random.default_rng(7)
SHAPES = {
    "skewed": RNG.lognormal(size=3001),
    "with ties": np.round(RNG.normal(size=3000) * 4),
    "mostly zero": np.where(RNG.random(3000) < 0.7, 0.0, RNG.normal(size=3000)),
    "two values": np.arange(3000) % 3 % 2 * 1.0,
}


def test_agrees_with_scikit_learn(learn, subtests):
    for shape in SHAPES:
        for n_quantiles in [2, 77, 1000]:
            for output_distribution in ["uniform", "normal"]:
                with subtests.test(shape=shape, n_quantiles=n_quantiles, output_distribution=output_distribution):
                    x = SHAPES[shape]
                    new = np.concatenate([x, np.random.default_rng(1).uniform(x.min() - 1, x.max() + 1, 500)])
                    options = {"n_quantiles": n_quantiles, "output_distribution": output_distribution}
                    bound, fitted = learn(
                        QuantileTransformer("x", **options), pa.table({"x": x[:900]}), pa.table({"x": x[900:]})
                    )
                    made = bound.transform(frames.from_arrow(pa.table({"x": new})), fitted)["x"].to_numpy()
                    oracle = sklearn.preprocessing.QuantileTransformer(**options, subsample=None).fit(x[:, None])
                    np.testing.assert_allclose(made, oracle.transform(new[:, None])[:, 0], rtol=1e-11, atol=1e-13)


def test_places_of_more_values_than_are_kept_are_within_the_error_in_ranks(learn):
    x = np.random.default_rng(1).permutation(300_000).astype(float)
    bound, fitted = learn(QuantileTransformer("x"), *(pa.table({"x": part}) for part in np.array_split(x, 4)))
    made = bound.transform(frames.from_arrow(pa.table({"x": x})), fitted)["x"].to_numpy()
    worst = 300_000 / 2**14 * math.log2(300_000 / 2**16)  # of the docstring of Quantiles
    assert 0 < np.abs(made * 299_999 - x).max() <= worst + 1


def test_ends_of_a_normal_do_not_depend_on_the_scale(apply, subtests):
    for scale in [1e-9, 1.0, 1e12]:
        with subtests.test(scale=scale):
            made = apply(
                QuantileTransformer("x", output_distribution="normal"), pa.table({"x": scale * np.arange(1.0, 10.0)})
            )
            places = np.clip(np.arange(9) / 8, 1e-7, 1 - 1e-7)
            np.testing.assert_allclose(made["x"].to_numpy(), norm.ppf(places), rtol=1e-8, atol=1e-15)


def test_a_constant_column_becomes_zero(apply, subtests):
    for value in [0.0, -7.5, 1e308, 5e-324]:
        with subtests.test(value=value):
            tables = [pa.table({"x": [value, None]}), pa.table({"x": [value] * 3})]
            assert apply(QuantileTransformer("x"), *tables)["x"].to_pylist() == [0.0, None]


def test_values_that_differ_by_the_smallest_number_are_told_apart(apply):
    made = apply(QuantileTransformer("x", n_quantiles=2), pa.table({"x": [0.0, 5e-324, 1e-323]}))
    assert made["x"].to_pylist() == [0.0, 0.5, 1.0]


def test_wrong_parameters_are_refused():
    with pytest.raises(ConfigError, match="n_quantiles of QuantileTransformer is 1, expected an integer >= 2"):
        QuantileTransformer("x", n_quantiles=1)
    with pytest.raises(ConfigError, match="Did you mean 'normal'"):
        QuantileTransformer("x", output_distribution="norml")


def test_quantiles_that_fall_on_equal_values_are_equal_to_them(learn):
    x = np.repeat([0.1, 0.7, 1.3], [35, 33, 35])  # 0.7 is at 35 / 102, which times 102 is no whole number
    _, fitted = learn(QuantileTransformer("x"), pa.table({"x": x}))
    assert fitted["quantiles"]["x"]["quantile"].to_pylist() == x.tolist()


def test_a_row_between_two_quantiles_is_placed_between_them(local):
    model = ps.Pipeline(QuantileTransformer("i")).fit(local.from_arrow(pa.table({"i": [1, None, 3, 5]})))
    assert model.predict([{"i": 2}, {"i": 3}]) == [{"i": 0.25}, {"i": 0.5}]
