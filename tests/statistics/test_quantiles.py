"""Quantiles against NumPy's inverted distribution function, and the rank error they promise."""

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered, states_of
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ConfigError
from penstock.statistics import Quantiles
from penstock.statistics import quantiles as module

GRID = np.linspace(0, 1, 101)


def states(parts, k):
    return states_of(Quantiles(("x",), k=k), *({"x": pa.array(part, pa.float64())} for part in parts))


def distribution(*parts, k=2**14):
    quantiles = Quantiles(("x",), k=k)
    return quantiles.finish(quantiles.merge(states(parts, k)))["x"]


def ranks_missed(values, found):
    """Return, for each q, how far the ranks that the answer takes in the data are from the rank asked for."""
    ordered = np.sort(values)
    answers = np.array([found.quantile(q) for q in GRID])
    low, high = np.searchsorted(ordered, answers, "left") + 1, np.searchsorted(ordered, answers, "right")
    wanted = np.maximum(np.ceil(GRID * len(values)), 1)
    return np.maximum(np.maximum(low - wanted, wanted - high), 0)


@pytest.fixture
def small(monkeypatch):
    """Make sketches of a few values compact, so that small data exercises what large data does."""
    monkeypatch.setattr(module, "EXACT", 16)


def test_small_data_is_exact_in_any_partitioning():
    values = np.random.default_rng(0).normal(size=50_001)
    found = distribution(*np.array_split(values, 7))
    assert found.error == 0
    assert [found.quantile(q) for q in GRID] == np.quantile(values, GRID, method="inverted_cdf").tolist()


@pytest.mark.thorough
@settings(max_examples=50)
@given(st.lists(st.lists(st.floats(allow_nan=False, width=32), max_size=20), min_size=1, max_size=5))
def test_tiny_data_is_exact(parts):
    values = [value for part in parts for value in part]
    found = distribution(*parts)
    expected = np.quantile(values, [0, 0.5, 1], method="inverted_cdf").tolist() if values else [None] * 3
    assert [found.quantile(0), found.median, found.quantile(1)] == expected
    assert found.count == len(values)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["normal", "sorted", "reversed", "ties", "outliers"])
def test_the_rank_error_keeps_its_bound(small, shape):
    rng = np.random.default_rng(3)
    values = {
        "normal": rng.normal(size=20_000),
        "sorted": np.arange(20_000.0),
        "reversed": -np.arange(20_000.0),
        "ties": rng.integers(0, 5, 20_000).astype(float),
        "outliers": rng.standard_cauchy(20_000),
    }[shape]
    for cuts in (1, 2, 13, 200):
        found = distribution(*np.split(values, np.sort(rng.integers(0, len(values), cuts - 1))), k=256)
        assert 0 < found.error < 0.05 * len(values)
        assert ranks_missed(values, found).max() <= found.error
        assert found.rank_error == found.error / 20_000


@pytest.mark.thorough
@settings(max_examples=40)
@given(st.lists(st.integers(0, 300), min_size=2, max_size=30), st.integers(0, 99))
def test_any_order_of_merging_keeps_the_bound_count_and_ends(sizes, seed):
    draw = np.random.default_rng(seed)
    values = [draw.normal(size=size) for size in sizes]
    quantiles = Quantiles(("x",), k=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EXACT", 16)
        pool = states(values, k=8)
        while len(pool) > 1:
            pool = [pool[place] for place in draw.permutation(len(pool))]
            pool = [quantiles.merge(pool[:2]), *pool[2:]]
    found = quantiles.finish(pool[0])["x"]
    everything = np.concatenate(values)
    assert found.count == len(everything)
    if len(everything):
        assert (found.quantile(0), found.quantile(1)) == (everything.min(), everything.max())
        assert ranks_missed(everything, found).max() <= found.error


@pytest.mark.thorough
def test_the_promised_error_holds_when_partitions_are_merged_one_by_one(small):
    # The worst order for a summary: every merge touches everything so far.
    rng = np.random.default_rng(4)
    quantiles, k, n = Quantiles(("x",), k=64), 64, 64 * 256
    state, *others = states(rng.normal(size=(256, 64)), k)
    for other in others:
        state = quantiles.merge([state, other])
    levels = np.log2(n / module.EXACT) + 1
    assert quantiles.finish(state)["x"].error <= n / (module.EXACT - 2) + n / (k - 2) * levels


def test_the_default_stays_within_a_thousandth():
    values = np.random.default_rng(5).exponential(size=1_000_000)
    found = distribution(*np.array_split(values, 5))
    assert ranks_missed(values, found).max() <= found.error <= 1000
    assert found.quantile(0.5) == pytest.approx(np.log(2), abs=0.005)  # three standard errors of the sample


def test_a_state_stays_small(small):
    table = states([np.random.default_rng(6).normal(size=100_000)], k=256)[0]["x"]["table"]
    assert table.num_rows < 256 + 3 * 10


def test_the_same_partitions_give_the_same_result(small):
    parts = np.array_split(np.random.default_rng(7).normal(size=5000), 3)
    first, second = distribution(*parts, k=64), distribution(*[part[::-1] for part in parts], k=64)
    assert first.values.tolist() == second.values.tolist()
    assert first.weights.tolist() == second.weights.tolist()


@pytest.mark.thorough
def test_the_estimated_rank_is_not_biased(small):
    # A coin that always falls on one side would be off by half the weight of each level, 15 ranks in all.
    parts = np.random.default_rng(8).normal(size=(200, 101))
    found = [distribution(part, k=8) for part in parts]
    missed = [each.weights[each.values <= 0].sum() - np.sum(part <= 0) for each, part in zip(found, parts, strict=True)]
    assert abs(np.mean(missed)) < 2


def test_nulls_are_left_out_and_integers_accepted():
    found = gathered(Quantiles(("x",)), {"x": [None, 3, 1, None, 2]})["x"]
    assert (found.median, found.count) == (2.0, 3)


def test_without_values_there_is_no_quantile():
    for column in (pa.array([], pa.float64()), pa.nulls(3)):
        found = gathered(Quantiles(("x",)), {"x": column}, {"x": column})["x"]
        assert (found.median, found.count, found.rank_error) == (None, 0, 0)


@pytest.mark.parametrize("k", [0, 6, 9])
def test_k_is_even_and_at_least_8(k):
    with pytest.raises(ConfigError, match=f"k is {k}, expected an even number of at least 8"):
        Quantiles(("x",), k=k)


def test_a_fraction_outside_zero_and_one_is_refused():
    for q in (-0.1, 1.1, float("nan")):
        with pytest.raises(ConfigError, match="expected a fraction between 0 and 1"):
            distribution([1.0]).quantile(q)


@pytest.mark.parametrize("count", [1, 2, 7, 103])
def test_spaced_quantiles_are_those_of_numpy_between_two_values(count):
    values = np.round(np.random.default_rng(count).normal(size=count), 1)
    for n in (2, 7, 103, 1000):
        made = distribution(values).spaced(n)
        np.testing.assert_allclose(made, np.quantile(values, np.linspace(0, 1, n)), rtol=1e-12, atol=1e-14)
        assert (np.diff(made) >= 0).all()


@pytest.mark.usefixtures("small")
def test_spaced_quantiles_of_a_sketch_count_each_value_as_often_as_it_stands():
    found = distribution(np.arange(4000.0), k=8)
    repeated = np.repeat(found.values, found.weights)
    np.testing.assert_allclose(found.spaced(50), np.quantile(repeated, np.linspace(0, 1, 50)), rtol=1e-12)
