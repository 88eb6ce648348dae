"""Skewness against SciPy and exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from gathering import cut, gathered
from scipy import stats

from penstock.statistics.skewness import Skewness


def skewness(values, size=97, kind=None):
    table = pa.table({"x": pa.array(values, kind)})
    return gathered(Skewness(("x",)), *cut(table, *range(size, len(table), size)))["x"]


def exact(values):
    numbers = [Fraction(float(value)) for value in values]
    mean = sum(numbers) / len(numbers)
    second, third = (sum((value - mean) ** power for value in numbers) / len(numbers) for power in (2, 3))
    return float(third) / float(second) ** 1.5


def test_it_is_scipys():
    for draw in ("normal", "exponential", "lognormal"):
        values = getattr(np.random.default_rng(3), draw)(size=1000)
        for size in (97, 1000):
            assert skewness(values, size) == pytest.approx(stats.skew(values), rel=1e-12)
        assert skewness(values[:50], 1) == pytest.approx(stats.skew(values[:50]), rel=1e-12)


def test_values_far_from_zero_lose_nothing():
    values = 1e8 + np.random.default_rng(3).exponential(size=300)
    assert skewness(values) == pytest.approx(exact(values), rel=1e-9)


def test_nulls_and_infinite_numbers_are_left_out():
    assert skewness([1.0, None, 4.0, math.inf, 1.0, -math.inf, 1e300], 2) == pytest.approx(stats.skew([1, 4, 1]))


def test_whole_numbers_and_booleans_have_one():
    assert skewness([1, 2, 9], kind=pa.int8()) == pytest.approx(stats.skew([1, 2, 9]))
    assert skewness([True, False, False]) == pytest.approx(stats.skew([1, 0, 0]))


def test_of_too_few_values_or_of_one_it_is_undefined():
    for values in ([], [None, None], [1.0, 2.0], [7.1] * 9, [1e15 + 0.125] * 9):
        assert skewness(values, kind=pa.float64()) is None
