"""Bucketizer: the ends of buckets, and what is refused."""

import math

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import ConfigError, DataValueError
from penstock.stages import Bucketizer

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
