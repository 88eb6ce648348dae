"""QuantileDiscretizer and KBinsDiscretizer against scikit-learn and closed forms."""

import math

import numpy as np
import pyarrow as pa
import pytest
import sklearn.preprocessing

from penstock import frames
from penstock.errors import ConfigError
from penstock.stages import KBinsDiscretizer, QuantileDiscretizer

X = np.random.default_rng(7).lognormal(size=1000)
KINDS = (QuantileDiscretizer, KBinsDiscretizer)


def test_bins_are_those_of_scikit_learn(learn, subtests):
    for n_bins in [2, 5, 64]:
        with subtests.test(n_bins=n_bins):
            bound, fitted = learn(KBinsDiscretizer("x", n_bins=n_bins), pa.table({"x": X}))
            oracle = sklearn.preprocessing.KBinsDiscretizer(n_bins, encode="ordinal", strategy="uniform").fit(
                X[:, None]
            )
            np.testing.assert_allclose(fitted["splits"]["x"], oracle.bin_edges_[0][1:-1], rtol=1e-14)
            new = np.concatenate(
                [X, [-1e9, 1e9, X.min(), X.max()]]
            )  # what lies outside is in the first or the last bin
            made = bound.transform(frames.from_arrow(pa.table({"x": new})), fitted)["x"].to_numpy()
            np.testing.assert_array_equal(made, oracle.transform(new[:, None])[:, 0])


def test_buckets_hold_as_many_values_each(apply, subtests):
    for count in [2, 4, 10]:
        with subtests.test(count=count):
            made = apply(QuantileDiscretizer("x", num_buckets=count), pa.table({"x": X}))["x"].to_numpy()
            ranks = np.argsort(np.argsort(X)) + 1
            # The value at rank i/n * 1000 is the lower end of a bucket: the first one is a value short.
            np.testing.assert_array_equal(
                made, np.searchsorted(np.arange(1, count) * (1000 / count), ranks, side="right")
            )


def test_what_is_made_is_int32(apply, subtests):
    for kind in KINDS:
        with subtests.test(kind=kind):
            assert apply(kind("x"), pa.table({"x": [1, 2]}))["x"].type == pa.int32()


def test_equal_quantiles_count_once(learn):
    bound, fitted = learn(QuantileDiscretizer("x", num_buckets=5), pa.table({"x": [0.0] * 8 + [1.0, 2.0]}))
    assert fitted["splits"] == {"x": [0.0]}
    new = frames.from_arrow(pa.table({"x": [-math.inf, -1e-300, 0.0, math.inf]}))
    assert bound.transform(new, fitted)["x"].to_list() == [0, 0, 1, 1]


def test_minus_zero_is_zero(learn):
    _, fitted = learn(QuantileDiscretizer("x", num_buckets=4), pa.table({"x": [-1.0, -0.0, 0.0, 1.0]}))
    assert [split.hex() for split in fitted["splits"]["x"]] == [value.hex() for value in (-1.0, 0.0)]


def test_splits_of_many_values_have_ranks_within_the_error_told(learn):
    x = np.random.default_rng(11).permutation(200_000) + 1.0
    parts = [pa.table({"x": part}) for part in np.split(x, 4)]
    _, fitted = learn(QuantileDiscretizer("x", num_buckets=10), *parts)
    error = fitted["rank_error"]["x"]
    assert 0 < error < 1e-3
    assert np.abs(np.array(fitted["splits"]["x"]) - 20_000 * np.arange(1, 10)).max() <= error * 200_000


def test_a_constant_column_is_in_one_bucket(apply):
    table = pa.table({"x": [5.0, 5.0]})
    assert apply(KBinsDiscretizer("x"), table)["x"].to_pylist() == [0, 0]
    assert apply(QuantileDiscretizer("x", num_buckets=9), table)["x"].to_pylist() == [1, 1]  # MLlib: -inf, 5, inf


def test_bins_narrower_than_float64_tells_apart_are_empty(apply):
    made = apply(KBinsDiscretizer("x", n_bins=8), pa.table({"x": [1.0, np.nextafter(1.0, 2.0)]}))["x"].to_pylist()
    assert (made[0] < made[1], made[1]) == (True, 7)


def test_there_are_at_least_two_buckets(subtests):
    for count in [1, 0, 2.0, True, None, "2", (), (2, 1)]:
        with subtests.test(count=count):
            with pytest.raises(
                ConfigError, match=r"num_buckets of QuantileDiscretizer is .*, expected an integer >= 2"
            ):
                QuantileDiscretizer("x", num_buckets=count)
            with pytest.raises(ConfigError, match=r"n_bins of KBinsDiscretizer is .*, expected an integer >= 2"):
                KBinsDiscretizer("x", n_bins=count)


def test_another_strategy_is_refused():
    with pytest.raises(ConfigError, match="strategy of KBinsDiscretizer is 'kmeans'"):
        KBinsDiscretizer("x", strategy="kmeans")
