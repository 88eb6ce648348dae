"""Bucketizer against NumPy, pandas and MLlib."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import Bucketizer

SPLITS = [-1.0, -0.25, 0.0, 0.5, 1.0]


def test_agrees_with_numpy_and_pandas(apply):
    x = np.random.default_rng(5).uniform(-1, 1, 500).round(2)
    made = apply(Bucketizer("x", splits=SPLITS), pa.table({"x": x}))["x"].to_numpy()
    np.testing.assert_array_equal(made, np.clip(np.digitize(x, SPLITS) - 1, 0, 3))
    inside = x < 1.0
    np.testing.assert_array_equal(made[inside], pd.cut(x[inside], SPLITS, right=False, labels=False))


def test_a_bucket_holds_its_lower_end_and_the_last_its_upper_too(apply):
    x = [-1.0, np.nextafter(-0.25, -1), -0.25, -0.0, 0.0, 1.0]
    made = apply(Bucketizer("x", splits=SPLITS), pa.table({"x": x}))["x"]
    assert (made.type, made.to_pylist()) == (pa.int32(), [0, 0, 1, 2, 2, 3])


def test_infinite_splits_hold_infinities(apply):
    made = apply(Bucketizer("x", splits=[-math.inf, 0, math.inf]), pa.table({"x": [-math.inf, math.inf]}))
    assert made["x"].to_pylist() == [0, 1]


@pytest.mark.parametrize(("handle_invalid", "expected"), [("skip", [None, 0, None, None]), ("keep", [4, 0, 4, 4])])
def test_nulls_and_what_is_outside_are_invalid(apply, handle_invalid, expected):
    table = pa.table({"x": [None, -1.0, np.nextafter(1.0, 2), -math.inf]})
    assert apply(Bucketizer("x", splits=SPLITS, handle_invalid=handle_invalid), table)["x"].to_pylist() == expected


@pytest.mark.parametrize(
    ("bad", "splits", "told"),
    [
        ([2.0, -3.0], [0, 1, 5], "has 1 values that are null or outside the splits, 0.0 to 5.0"),
        ([2.0, None], [0, 1, 5], "has 1 values that are null or outside the splits, 0.0 to 5.0"),
        ([2.0, None], ["-inf", 1, "inf"], "has 1 values that are null, which are in no bucket"),
    ],
)
def test_an_invalid_value_is_refused_with_its_file_and_row(local, tmp_path, bad, splits, told):
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": bad}), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(DataValueError, match=told) as caught:
        ps.Pipeline(Bucketizer("x", splits=splits)).fit(data).transform(data).to_arrow()
    assert (str(caught.value.path).endswith("b.parquet"), caught.value.row) == (True, 1)


def test_every_column_can_have_its_own(apply):
    table = pa.table({"a": [1, 2**62], "b": [True, False]})
    made = apply(Bucketizer(["a", "b"], splits=[[0, 2, 1e19], [0, 1, 2]], output_columns=["c", "d"]), table)
    assert made.to_pydict() == {**table.to_pydict(), "c": [0, 1], "d": [1, 0]}


def test_a_column_may_be_replaced_by_another_and_swapped(apply):
    made = apply(Bucketizer(["a", "b"], splits=[0, 1, 2], output_columns=["b", "a"]), pa.table({"a": [0], "b": [1]}))
    assert made.to_pydict() == {"a": [1], "b": [0]}


@pytest.mark.parametrize(
    "splits",
    [[], [0, 1], [0, 1, 1], [0, 2, 1], [0, math.nan, 1], [0, "1", 2], "abc", None, [[0, 1, 2], [0, 1]], [0, [1], 2],
     [False, True, 2], [0, 1, 10**400]],
    ids=repr,
)  # fmt: skip
def test_splits_are_three_numbers_that_ascend(splits):
    with pytest.raises(ConfigError, match="expected at least three numbers that ascend strictly"):
        Bucketizer("x", splits=splits)


def test_as_many_splits_as_columns_are_asked_for():
    with pytest.raises(ConfigError, match="splits of Bucketizer has 1 values for 2 columns"):
        Bucketizer(["a", "b"], splits=[[0, 1, 2]]).bind(pa.schema({"a": pa.int64(), "b": pa.int64()}))


def test_an_unknown_way_with_invalid_values_is_refused():
    with pytest.raises(ConfigError, match=r"handle_invalid of Bucketizer is 'kep', .* Did you mean 'keep'\?"):
        Bucketizer("x", splits=SPLITS, handle_invalid="kep")


def test_strings_are_refused_before_reading():
    with pytest.raises(SchemaError, match="column 's' is string, but Bucketizer takes numeric columns"):
        Bucketizer("s", splits=SPLITS).bind(pa.schema({"s": pa.string()}))


@pytest.mark.parametrize("splits", [["-inf", 0, math.inf], [[0, 1, 2.5], [-math.inf, 0, 1]]])
def test_parameters_survive_strict_json(splits):
    stage = Bucketizer(["a", "b"], splits=splits)
    assert Bucketizer.from_parameters(json.loads(json.dumps(stage.parameters(), allow_nan=False))) == stage


@pytest.mark.spark
@pytest.mark.parametrize("handle_invalid", ["error", "keep"])
def test_agrees_with_mllib(apply, spark: Any, handle_invalid):
    from pyspark.ml.feature import Bucketizer as MLlib

    x = [-1.0, -0.3, -0.25, 0.0, 0.7, 1.0, *([math.nan] if handle_invalid == "keep" else [])]
    model = MLlib(inputCol="x", outputCol="y", splits=SPLITS, handleInvalid=handle_invalid)
    expected = [row.y for row in model.transform(spark.createDataFrame([(v,) for v in x], "x double")).collect()]
    made = apply(Bucketizer("x", splits=SPLITS, handle_invalid=handle_invalid), pa.table({"x": x}))
    assert made["x"].to_pylist() == expected
