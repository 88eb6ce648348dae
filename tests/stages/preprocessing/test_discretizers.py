"""QuantileDiscretizer and KBinsDiscretizer against scikit-learn, pandas, MLlib and closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.preprocessing

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import KBinsDiscretizer, QuantileDiscretizer

X = np.random.default_rng(7).lognormal(size=1000)
KINDS = (QuantileDiscretizer, KBinsDiscretizer)


@pytest.mark.parametrize("n_bins", [2, 5, 64])
def test_bins_are_those_of_scikit_learn(learn, n_bins):
    bound, fitted = learn(KBinsDiscretizer("x", n_bins=n_bins), pa.table({"x": X}))
    oracle = sklearn.preprocessing.KBinsDiscretizer(n_bins, encode="ordinal", strategy="uniform").fit(X[:, None])
    np.testing.assert_allclose(fitted["splits"]["x"], oracle.bin_edges_[0][1:-1], rtol=1e-14)
    new = np.concatenate([X, [-1e9, 1e9, X.min(), X.max()]])  # what lies outside is in the first or the last bin
    made = bound.transform(frames.from_arrow(pa.table({"x": new})), fitted)["x"].to_numpy()
    np.testing.assert_array_equal(made, oracle.transform(new[:, None])[:, 0])


@pytest.mark.parametrize("count", [2, 4, 10])
def test_buckets_hold_as_many_values_each(apply, count):
    made = apply(QuantileDiscretizer("x", num_buckets=count), pa.table({"x": X}))["x"].to_numpy()
    ranks = np.argsort(np.argsort(X)) + 1
    # The value at rank i/n * 1000 is the lower end of a bucket: the first one is a value short.
    np.testing.assert_array_equal(made, np.searchsorted(np.arange(1, count) * (1000 / count), ranks, side="right"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_is_int32(apply, kind):
    assert apply(kind("x"), pa.table({"x": [1, 2]}))["x"].type == pa.int32()


def test_equal_quantiles_count_once(learn):
    bound, fitted = learn(QuantileDiscretizer("x", num_buckets=5), pa.table({"x": [0.0] * 8 + [1.0, 2.0]}))
    assert fitted["splits"] == {"x": [0.0]}
    new = frames.from_arrow(pa.table({"x": [-math.inf, -1e-300, 0.0, math.inf]}))
    assert bound.transform(new, fitted)["x"].to_list() == [0, 0, 1, 1]


def test_minus_zero_is_zero(learn):
    _, fitted = learn(QuantileDiscretizer("x", num_buckets=4), pa.table({"x": [-1.0, -0.0, 0.0, 1.0]}))
    assert [split.hex() for split in fitted["splits"]["x"]] == [value.hex() for value in (-1.0, 0.0)]


def test_splits_of_many_values_have_ranks_within_the_error_told(learn):
    x = np.random.default_rng(11).permutation(200_000) + 1.0
    parts = [pa.table({"x": part}) for part in np.split(x, 4)]
    _, fitted = learn(QuantileDiscretizer("x", num_buckets=10), *parts)
    error = fitted["rank_error"]["x"]
    assert 0 < error < 1e-3
    assert np.abs(np.array(fitted["splits"]["x"]) - 20_000 * np.arange(1, 10)).max() <= error * 200_000


def test_splits_of_few_values_are_exact(learn):
    assert learn(QuantileDiscretizer("x"), pa.table({"x": X}))[1]["rank_error"] == {"x": 0.0}


def test_a_constant_column_is_in_one_bucket(apply):
    table = pa.table({"x": [5.0, 5.0]})
    assert apply(KBinsDiscretizer("x"), table)["x"].to_pylist() == [0, 0]
    assert apply(QuantileDiscretizer("x", num_buckets=9), table)["x"].to_pylist() == [1, 1]  # MLlib: -inf, 5, inf


def test_bins_narrower_than_float64_tells_apart_are_empty(apply):
    made = apply(KBinsDiscretizer("x", n_bins=8), pa.table({"x": [1.0, np.nextafter(1.0, 2.0)]}))["x"].to_pylist()
    assert (made[0] < made[1], made[1]) == (True, 7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("handle_invalid", "other"), [("skip", None), ("keep", 2)])
def test_a_null_is_what_handle_invalid_says(apply, kind, handle_invalid, other):
    option = {"num_buckets": 2} if kind is QuantileDiscretizer else {"n_bins": 2}
    made = apply(kind("x", handle_invalid=handle_invalid, **option), pa.table({"x": [1.0, None, 2.0, 3.0]}))
    expected = [0, other, 1, 1]
    assert made["x"].to_pylist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_null_is_refused_with_its_file_and_row(local, tmp_path, kind):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [3.0, None, None]}), tmp_path / "b.parquet")
    data = local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    with pytest.raises(DataValueError, match="column 'x' has 2 values that are null, which are in no bucket") as caught:
        ps.Pipeline(kind("x")).fit(data).transform(data).to_arrow()
    assert (str(caught.value.path).endswith("b.parquet"), caught.value.row) == (True, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_learned_does_not_depend_on_partitions(learn, kind):
    x = pa.table({"x": X})
    parts = [x.slice(0, 0), x.slice(0, 300), x.slice(300, 1), x.slice(301)]
    assert learn(kind("x"), *parts)[1] == learn(kind("x"), x)[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("values", "told"),
    [([None, None], "has no value: all of its 2 rows are null"), ([1.0, math.inf], "has 1 values that are infinite")],
)
def test_nothing_is_learned_of_nulls_and_infinities(learn, kind, values, told):
    with pytest.raises(DataValueError, match=f"column 'x' {told}"):
        learn(kind("x"), pa.table({"x": pa.array(values, pa.float64())}))


def test_a_range_that_overflows_has_no_bins(learn):
    with pytest.raises(DataValueError, match="a range that float64 cannot hold"):
        learn(KBinsDiscretizer("x"), pa.table({"x": [-1.7e308, 1.7e308]}))


def test_every_column_can_have_its_own(learn):
    _, fitted = learn(KBinsDiscretizer(["a", "b"], n_bins=[4, 2]), pa.table({"a": [0, 8], "b": [True, False]}))
    assert fitted == {"splits": {"a": [2.0, 4.0, 6.0], "b": [0.5]}}


@pytest.mark.parametrize("count", [1, 0, 2.0, True, None, "2", (), (2, 1)])
def test_there_are_at_least_two_buckets(count):
    with pytest.raises(ConfigError, match=r"num_buckets of QuantileDiscretizer is .*, expected an integer >= 2"):
        QuantileDiscretizer("x", num_buckets=count)
    with pytest.raises(ConfigError, match=r"n_bins of KBinsDiscretizer is .*, expected an integer >= 2"):
        KBinsDiscretizer("x", n_bins=count)


def test_a_wrong_parameter_is_named():
    with pytest.raises(ConfigError, match="num_buckets of QuantileDiscretizer has 1 values for 2 columns"):
        QuantileDiscretizer(["a", "b"], num_buckets=[2]).bind(pa.schema({"a": pa.int64(), "b": pa.int64()}))
    with pytest.raises(ConfigError, match="strategy of KBinsDiscretizer is 'kmeans'"):
        KBinsDiscretizer("x", strategy="kmeans")
    with pytest.raises(SchemaError, match="column 's' is string"):
        KBinsDiscretizer("s").bind(pa.schema({"s": pa.string()}))


def test_pandas_cuts_the_same_where_quantiles_are_values(apply):
    x = np.arange(101.0)  # every tenth of 0 to 100 is a value
    made = apply(QuantileDiscretizer("x", num_buckets=10), pa.table({"x": x}))["x"].to_numpy()
    splits = [-np.inf, *np.arange(10, 100, 10), np.inf]
    np.testing.assert_array_equal(made, pd.cut(x, splits, right=False, labels=False))


@pytest.mark.spark
@pytest.mark.parametrize("x", [X[:200].round(1).tolist(), [-1.0, 0.0, 0.0, 1.0], [3.0] * 5], ids=["x", "zero", "same"])
def test_agrees_with_mllib(apply, spark: Any, x):
    from pyspark.ml.feature import QuantileDiscretizer as MLlib

    frame = spark.createDataFrame([(value,) for value in [*x, math.nan]], "x double").coalesce(1)
    stage = MLlib(inputCol="x", outputCol="y", numBuckets=7, handleInvalid="keep", relativeError=0.0)
    expected = [row.y for row in stage.fit(frame).transform(frame).collect()]
    made = apply(QuantileDiscretizer("x", num_buckets=7, handle_invalid="keep"), pa.table({"x": [*x, None]}))
    assert made["x"].to_pylist() == expected
