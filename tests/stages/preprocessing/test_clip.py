"""Clip against NumPy, and the types it keeps."""

import math

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import ConfigError
from penstock.stages import Clip


def test_agrees_with_numpy(apply, subtests):
    x = np.random.default_rng(1).normal(size=500)
    for lower, upper in [(-0.5, 0.5), (None, 0.25), (0, None), (0, 0)]:
        with subtests.test(lower=lower, upper=upper):
            made = apply(Clip("x", lower=lower, upper=upper), pa.table({"x": x}))["x"].to_numpy()
            np.testing.assert_array_equal(made, np.clip(x, lower, upper))


def test_the_type_is_kept_where_it_holds_the_bounds(apply, subtests):
    for kind, lower, upper, expected in [
        (pa.int8(), 0, 100, pa.int8()),
        (pa.int8(), -1.0, None, pa.int8()),
        (pa.int8(), 0, 128, pa.float64()),
        (pa.uint8(), -1, None, pa.float64()),
        (pa.uint64(), 0, 2**64 - 1, pa.uint64()),
        (pa.int64(), 0.5, None, pa.float64()),
        (pa.float32(), 0.1, None, pa.float32()),
        (pa.float32(), None, 1e300, pa.float64()),
        (pa.float64(), None, 1e300, pa.float64()),
        (pa.bool_(), 0, 1, pa.float64()),
    ]:
        with subtests.test(kind=kind, lower=lower, upper=upper):
            made = apply(Clip("x", lower=lower, upper=upper), pa.table({"x": pa.array([True, False, None]).cast(kind)}))
            assert made.schema.field("x").type == expected


def test_large_integers_are_exact(apply):
    x = [2**62 + 1, 2**62 - 1, -(2**62) - 1]
    made = apply(Clip("x", lower=-(2**62), upper=2**62), pa.table({"x": x}))
    assert made["x"].to_pylist() == [2**62, 2**62 - 1, -(2**62)]


def test_wrong_bounds_are_refused(subtests):
    for parameters, message in [
        ({"lower": 2, "upper": 1}, r"lower of Clip is 2, above upper, 1"),
        ({}, r"lower and upper of Clip are None and None, expected at least one finite number"),
        ({"lower": math.inf}, r"are inf and None, expected at least one finite number"),
        ({"upper": math.nan}, r"upper of Clip is nan, expected a number"),
        ({"upper": "3"}, r"upper of Clip is '3', expected a number"),
        ({"upper": True}, r"upper of Clip is True, expected a number"),
        ({"upper": 10**400}, r"expected at least one finite number"),
    ]:
        with subtests.test(parameters=parameters), pytest.raises(ConfigError, match=message):
            Clip("x", **parameters)
