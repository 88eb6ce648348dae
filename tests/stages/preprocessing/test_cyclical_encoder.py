"""CyclicalEncoder against its formula, and together with DateParts."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import ConfigError
from penstock.stages import CyclicalEncoder

X = np.random.default_rng(6).uniform(-1000, 1000, 501)


def test_agrees_with_the_formula(apply, subtests):
    for period, number in [
        (24, 24), (0.1, 0.1), (1e9, 1e9), ("second", 60), ("minute", 60), ("hour", 24), ("weekday", 7), ("day", 31),
        ("ordinal_day", 365.25), ("month", 12)
    ]:  # fmt: skip
        with subtests.test(period=period, number=number):
            made = apply(CyclicalEncoder("x", period=period), pa.table({"x": X}))
            angles = 2 * np.pi * X / number
            error = 4 * np.finfo(float).eps * np.abs(angles).max()  # of the formula: it rounds large angles
            np.testing.assert_allclose(made["x_sin"].to_numpy(), np.sin(angles), rtol=0, atol=error)
            np.testing.assert_allclose(made["x_cos"].to_numpy(), np.cos(angles), rtol=0, atol=error)


def test_large_numbers_lose_nothing(apply, subtests):
    for value in [1e16 + 2, -7e200, 2**53 + 1, 0.1, -0.1]:
        with subtests.test(value=value):
            made = apply(CyclicalEncoder("x", period=7), pa.table({"x": [float(value)]}))
            share = float(Fraction(float(value)) / 7 % 1)
            expected = [math.sin(math.tau * share), math.cos(math.tau * share)]
            np.testing.assert_allclose(
                [made["x_sin"][0].as_py(), made["x_cos"][0].as_py()], expected, rtol=0, atol=2e-15
            )


def test_what_is_no_period_is_refused(subtests):
    for period in [0, -1, math.inf, math.nan, True, "week", (), (24, "week")]:
        with subtests.test(period=period), pytest.raises(ConfigError, match="period of CyclicalEncoder is"):
            CyclicalEncoder("x", period=period)
