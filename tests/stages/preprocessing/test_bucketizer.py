"""Bucketizer, Binarizer and Clip: ends of buckets, thresholds and bounds, and which of them are refused."""

import math

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import ConfigError, DataValueError
from penstock.stages import Binarizer, Bucketizer, Clip

SPLITS = [-1.0, -0.25, 0.0, 0.5, 1.0]


def test_a_bucket_holds_its_lower_end_and_the_last_its_upper_too(apply):
    x = [-1.0, np.nextafter(-0.25, -1), -0.25, -0.0, 0.0, 1.0]
    made = apply(Bucketizer("x", splits=SPLITS), pa.table({"x": x}))["x"]
    assert (made.type, made.to_pylist()) == (pa.int32(), [0, 0, 1, 2, 2, 3])


def test_an_invalid_value_is_refused_with_its_row(local, subtests):
    for bad, splits, told in [
        ([1.0, 2.0, -3.0], [0, 1, 5], "has 1 values that are null or outside the splits, 0.0 to 5.0"),
        ([1.0, 2.0, None], [0, 1, 5], "has 1 values that are null or outside the splits, 0.0 to 5.0"),
        ([1.0, 2.0, None], ["-inf", 1, "inf"], "has 1 values that are null, which are in no bucket"),
    ]:
        data = local.from_arrow(pa.table({"x": bad}))
        with subtests.test(bad=bad, splits=splits):
            with pytest.raises(DataValueError, match=told) as caught:
                ps.Pipeline(Bucketizer("x", splits=splits)).fit(data).transform(data).to_arrow()
            assert caught.value.row == 2


def test_a_column_may_be_replaced_by_another_and_swapped(apply):
    made = apply(Bucketizer(["a", "b"], splits=[0, 1, 2], output_columns=["b", "a"]), pa.table({"a": [0], "b": [1]}))
    assert made.to_pydict() == {"a": [1], "b": [0]}


def test_splits_are_three_numbers_that_ascend(subtests):
    for splits in [
        [], [0, 1], [0, 1, 1], [0, 2, 1], [0, math.nan, 1], [0, "1", 2], "abc", None, [[0, 1, 2], [0, 1]], [0, [1], 2],
        [False, True, 2], [0, 1, 10**400]
    ]:  # fmt: skip
        told = "expected at least three numbers that ascend strictly"
        with subtests.test(splits=splits), pytest.raises(ConfigError, match=told):
            Bucketizer("x", splits=splits)


def test_an_unknown_way_with_invalid_values_is_refused():
    with pytest.raises(ConfigError, match=r"handle_invalid of Bucketizer is 'kep', .* Did you mean 'keep'\?"):
        Bucketizer("x", splits=SPLITS, handle_invalid="kep")


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


def test_clip_agrees_with_numpy(apply, subtests):
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


def test_large_integers_are_clipped_exactly(apply):
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
