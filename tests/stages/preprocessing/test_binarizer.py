"""Binarizer: what is above a threshold, and which thresholds are refused."""

import math

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import ConfigError
from penstock.stages import Binarizer


def test_the_threshold_itself_is_not_above(apply):
    x = [np.nextafter(0.1, 0.0), 0.1, np.nextafter(0.1, 1.0)]
    assert apply(Binarizer("x", threshold=0.1), pa.table({"x": x}))["x"].to_pylist() == [0.0, 0.0, 1.0]


def test_a_float32_value_is_compared_as_it_is(apply):
    x = pa.array([0.1], pa.float32())  # 0.1 of float32 is above 0.1 of float64
    assert apply(Binarizer("x", threshold=0.1), pa.table({"x": x}))["x"].to_pylist() == [1.0]


def test_a_threshold_is_a_finite_number(subtests):
    for threshold in [math.nan, math.inf, "1", None, (), (1, math.inf), True, 10**400]:
        told = r"threshold of Binarizer is .*, expected a finite number or one for each"
        with subtests.test(threshold=threshold), pytest.raises(ConfigError, match=told):
            Binarizer("x", threshold=threshold)
