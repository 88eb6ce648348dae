"""Clip against NumPy, and the types it keeps."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import ConfigError, SchemaError
from penstock.stages import Clip


@pytest.mark.parametrize(("lower", "upper"), [(-0.5, 0.5), (None, 0.25), (0, None), (0, 0)])
def test_agrees_with_numpy(apply, lower, upper):
    x = np.random.default_rng(1).normal(size=500)
    made = apply(Clip("x", lower=lower, upper=upper), pa.table({"x": x}))["x"].to_numpy()
    np.testing.assert_array_equal(made, np.clip(x, lower, upper))


@pytest.mark.parametrize(
    ("kind", "lower", "upper", "expected"),
    [
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
    ],
)
def test_the_type_is_kept_where_it_holds_the_bounds(apply, kind, lower, upper, expected):
    made = apply(Clip("x", lower=lower, upper=upper), pa.table({"x": pa.array([True, False, None]).cast(kind)}))
    assert made.schema.field("x").type == expected


def test_large_integers_are_exact(apply):
    x = [2**62 + 1, 2**62 - 1, -(2**62) - 1]
    made = apply(Clip("x", lower=-(2**62), upper=2**62), pa.table({"x": x}))
    assert made["x"].to_pylist() == [2**62, 2**62 - 1, -(2**62)]


def test_integers_are_clipped_at_a_broken_bound(apply):
    assert apply(Clip("x", upper=1.5), pa.table({"x": [1, 2]}))["x"].to_pylist() == [1.0, 1.5]


def test_a_null_stays_null_and_an_infinity_becomes_the_bound(apply):
    made = apply(Clip("x", lower=-1, upper=1), pa.table({"x": [None, math.inf, -math.inf]}))
    assert made["x"].to_pylist() == [None, 1.0, -1.0]


def test_an_empty_partition_works(apply):
    assert apply(Clip("x", lower=0), pa.table({"x": pa.array([], pa.int32())})).num_rows == 0


def test_through_a_pipeline_only_its_columns_change(local):
    data = local.from_arrow(pa.table({"x": [-1, 1], "y": [-1, 1]}))
    made = ps.Pipeline(Clip("x", lower=0)).fit(data).transform(data).to_arrow()
    assert made.to_pydict() == {"x": [0, 1], "y": [-1, 1]}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lower": 2, "upper": 1}, r"lower of Clip is 2, above upper, 1"),
        ({}, r"lower and upper of Clip are None and None, expected at least one finite number"),
        ({"lower": math.inf}, r"are inf and None, expected at least one finite number"),
        ({"upper": math.nan}, r"upper of Clip is nan, expected a number"),
        ({"upper": "3"}, r"upper of Clip is '3', expected a number"),
        ({"upper": True}, r"upper of Clip is True, expected a number"),
        ({"upper": 10**400}, r"expected at least one finite number"),
    ],
)
def test_wrong_bounds_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        Clip("x", **parameters)


def test_a_string_column_is_refused_before_reading():
    with pytest.raises(SchemaError, match="column 's' is string, but Clip takes numeric columns"):
        Clip("s", lower=0).bind(pa.schema({"s": pa.string()}))


def test_parameters_and_pickle_round_trip():
    stage = Clip(["x", "y"], lower=0, upper=2.5)
    assert Clip.from_parameters(stage.parameters()) == stage
    assert pickle.loads(pickle.dumps(stage)) == stage
