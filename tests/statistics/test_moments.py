"""Means and variances against NumPy, exact rational arithmetic and closed forms."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered, states_of
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import frames
from penstock.errors import DataValueError
from penstock.statistics import Moments


def moment(*columns):
    return gathered(Moments(("x",)), *({"x": column} for column in columns))["x"]


def pieces(values, cuts):
    bounds = [0, *sorted(cut % (len(values) + 1) for cut in cuts), len(values)]
    return [pa.array(values[low:high], pa.float64()) for low, high in itertools.pairwise(bounds)]


def test_variance_does_not_depend_on_the_offset():
    # A half-integer grid is exact in float64 at every offset, and its variance has a closed form.
    n = 2001
    for offset in (0.0, 1e8, 1e12):
        values = offset + 0.5 * np.arange(n)
        found = moment(values[:700], values[700:])
        assert found.mean == pytest.approx(offset + 0.25 * (n - 1), rel=1e-15)
        assert found.variance() == pytest.approx(0.25 * (n * n - 1) / 12, rel=1e-12)


def test_std_is_that_of_numpy():
    values = np.random.default_rng(1).lognormal(sigma=2, size=40_000)
    for ddof in (0, 1):
        assert moment(values[:1], values[1:]).std(ddof) == pytest.approx(np.std(values, ddof=ddof), rel=1e-12)


def test_a_constant_column_has_variance_zero():
    assert moment(np.full(1000, 0.1), np.full(7, 0.1)).variance() == pytest.approx(0, abs=1e-30)


def test_one_row_has_no_sample_variance():
    found = moment(pa.array([5.0]))
    assert (found.mean, found.variance(), found.variance(ddof=1), found.std(ddof=1)) == (5.0, 0.0, None, None)


def test_large_integers_do_not_overflow():
    top = 2**63 - 1
    found = moment(pa.array([top, top, -top, -top], pa.int64()))
    assert found.mean == 0
    assert found.variance() == pytest.approx(2.0**126, rel=1e-15)


def test_float32_is_summed_in_float64():
    values = np.full(100_000, 0.1, dtype=np.float32)
    assert moment(pa.array(values)).mean == pytest.approx(float(np.float32(0.1)), rel=1e-15)


def test_booleans_count_as_zero_and_one():
    assert moment(pa.array([True, False, None, True])).mean == pytest.approx(2 / 3)


def test_nulls_and_nan_are_left_out():
    found = moment(pa.array([None, 1.0, float("nan"), 3.0]), pa.array([None], pa.float64()))
    assert (found.count, found.mean, found.m2) == (2, 2.0, 2.0)


def test_without_values_there_is_no_mean():
    for column in (pa.array([], pa.float64()), pa.nulls(3), pa.array([None], pa.int32())):
        found = moment(column, column)
        assert (found.count, found.mean, found.variance(), found.std()) == (0, None, None, None)


@pytest.mark.thorough
@settings(max_examples=50)
@given(
    st.lists(st.floats(-1e9, 1e9).map(lambda x: 1e8 + x), min_size=1, max_size=50),
    st.lists(st.integers(0, 50), max_size=6),
)
def test_any_partitioning_gives_the_exact_moments(values, cuts):
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    m2 = sum((value - mean) ** 2 for value in exact)
    found = moment(*pieces(values, cuts))
    scale = float(max(abs(value) for value in exact))
    assert found.mean == pytest.approx(float(mean), rel=1e-14, abs=1e-14 * scale)
    assert found.m2 == pytest.approx(float(m2), rel=1e-12, abs=1e-28 * scale**2)


def test_parts_without_values_together_are_as_one():
    states = states_of(Moments(("x",)), *[{"x": pa.nulls(2, pa.float64())}] * 2)
    assert Moments(("x",)).merge(states) == states[0]


def test_one_state_merges_to_itself():
    rest = np.random.default_rng(3).normal(scale=1e-17, size=100)
    for count, each in enumerate(rest.tolist(), start=1):
        state = {"x": {"infinite": 0, "count": count, "mean": 1.0, "rest": each, "m2": 0.5}}
        assert Moments(("x",)).merge([state]) == state


def test_infinite_values_are_refused_with_column_and_count():
    with pytest.raises(DataValueError, match="column 'x' has 3 values that are infinite, expected finite") as caught:
        moment(pa.array([1.0, float("inf")]), pa.array([float("-inf"), float("inf"), None]))
    bad = frames.from_arrow(pa.table({"x": [1.0, float("-inf"), None]})).filter(caught.value.predicate)
    assert bad["x"].to_list() == [float("-inf")]
    assert caught.value.column == "x"


def test_values_whose_squares_overflow_are_refused():
    for values in ([1e200, -1e200], [1.5e308, 1.5e308], [1e308, -1e308, 1.7e308]):
        with pytest.raises(DataValueError, match="overflows float64") as caught:
            moment(pa.array(values), pa.array([1.0]))
        frame = frames.from_arrow(pa.table({"x": [1.0, *values]}))
        assert len(frame.filter(caught.value.predicate)) == len(values)
