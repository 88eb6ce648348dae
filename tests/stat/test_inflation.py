"""Variance inflation factors against the inverse of NumPy's correlations."""

import math

import numpy as np
import pyarrow as pa
import pytest

from penstock import stat
from penstock.errors import ConfigError, DataValueError, SchemaError

NUMBERS = ("x", "y.z", "n", "b", "label")


def test_factors_are_the_diagonal_of_the_inverse_correlations(data, drawn):
    matrix = np.column_stack([drawn[name].astype(float) for name in NUMBERS])
    found = stat.variance_inflation(data, NUMBERS)
    expected = np.diag(np.linalg.inv(np.corrcoef(matrix.T)))
    np.testing.assert_allclose([found[name] for name in NUMBERS], expected, rtol=1e-10)


def test_columns_that_explain_each_other_are_infinite_and_spoil_no_others(local):
    rng = np.random.default_rng(1)
    a, b, c, d = rng.normal(size=(4, 200)) + 1e3
    table = pa.table({"a": a, "b": b, "sum": a + b, "c": c, "d": c + d, "same": np.full(200, 0.1)})
    found = stat.variance_inflation(local.from_arrow(table), ["a", "b", "sum", "c", "d", "same"])
    assert [found[name] for name in ("a", "b", "sum", "same")] == [math.inf, math.inf, math.inf, None]
    expected = np.diag(np.linalg.inv(np.corrcoef([a, b, c, c + d])))[2:]
    np.testing.assert_allclose([found["c"], found["d"]], expected, rtol=1e-9)


def test_a_column_alone_has_one(local):
    assert stat.variance_inflation(local.from_arrow(pa.table({"x": [1.0, 5.0, 2.0]})), "x") == {"x": 1.0}


def test_what_has_no_factor_is_refused(local, subtests):
    for table, columns, error, message in [
        ({"x": ["a"]}, "x", SchemaError, "column 'x' is string, variance_inflation expects numbers"),
        ({"x": [1.0]}, [], ConfigError, "variance_inflation"),
        ({"x": [1.0, None]}, "x", DataValueError, "column 'x'"),
        ({"x": pa.array([], pa.float64())}, "x", DataValueError, "variance_inflation has no rows"),
    ]:
        with subtests.test(message), pytest.raises(error, match=message):
            stat.variance_inflation(local.from_arrow(pa.table(table)), columns)
