"""HashBucket and HashedCross against scikit-learn's hash, MLlib's HashingTF and closed forms."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from sklearn.utils import murmurhash3_32

from penstock.errors import ConfigError, SchemaError
from penstock.stages import HashBucket, HashedCross
from penstock.stages.base import Stage

WORDS = ["a", "b", "", " ", "größe", "\U0001f600", "a longer one", "0", "x" * 1000]


def _bucket(text: str, count: int) -> int:
    return murmurhash3_32(text.encode(), 42) % count


@pytest.mark.parametrize("count", [2, 1000, 2**18, 2**31 - 1])
def test_a_value_falls_into_the_bucket_of_its_hash(apply, count):
    made = apply(HashBucket("c", count), pa.table({"c": WORDS}))
    assert made.to_pydict() == {"c": [_bucket(word, count) for word in WORDS]}


@pytest.mark.parametrize(
    ("values", "texts"),
    [([7, -7, 0], ["7", "-7", "0"]), ([True, False, None], ["true", "false", "\x1e"]), ([None], ["\x1e"])],
)
def test_a_value_is_its_text_and_null_has_its_own(apply, values, texts):
    assert apply(HashBucket("c", 997), pa.table({"c": values}))["c"].to_pylist() == [_bucket(t, 997) for t in texts]


def test_each_column_may_have_its_own_number_of_buckets(apply):
    made = apply(HashBucket(["a", "b"], [10, 1000], output_columns=["x", "y"]), pa.table({"a": WORDS, "b": WORDS}))
    assert made["x"].to_pylist() == [_bucket(word, 10) for word in WORDS]
    assert made["y"].to_pylist() == [_bucket(word, 1000) for word in WORDS]


def test_many_values_spread_evenly(apply):
    made = apply(HashBucket("c", 100), pa.table({"c": pa.array(range(100_000))}))
    counts = [each["counts"] for each in made["c"].value_counts().to_pylist()]
    assert len(counts) == 100
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 160  # chi-squared of 99 degrees: one in 10,000


def test_buckets_are_those_of_mllib(apply, spark):
    from pyspark.ml.feature import HashingTF

    for count in (1000, 2**18):
        tf = HashingTF(numFeatures=count)
        assert apply(HashBucket("c", count), pa.table({"c": WORDS}))["c"].to_pylist() == [tf.indexOf(w) for w in WORDS]


@pytest.mark.parametrize("count", [1, 0, -5, 2**31, 2.0, True, (), (5, 1)])
def test_a_number_of_buckets_out_of_range_is_refused(count: Any):
    with pytest.raises(ConfigError, match="num_buckets of HashBucket"):
        HashBucket("c", count)
    if not isinstance(count, tuple):
        with pytest.raises(ConfigError, match="num_buckets of HashedCross"):
            HashedCross(["a", "b"], num_buckets=count, output_column="c")


@pytest.mark.parametrize(
    "stage", [HashBucket(["c"], 10), HashedCross(["a", "c"], num_buckets=10, output_column="d")], ids=["one", "cross"]
)
def test_a_floating_column_is_refused(stage: Stage):
    with pytest.raises(SchemaError, match="'c' is double"):
        stage.bind(pa.schema({"a": pa.string(), "c": pa.float64()}))


def test_a_cross_is_the_hash_of_the_joined_texts(apply):
    table = pa.table({"a": ["x", "x", None, None], "b": [1, None, 1, None], "c": [True, True, None, False]})
    made = apply(HashedCross(["a", "b", "c"], num_buckets=10**6, output_column="k"), table)
    texts = ["x\x1f1\x1ftrue", "x\x1f\x1e\x1ftrue", "\x1e\x1f1\x1f\x1e", "\x1e\x1f\x1e\x1ffalse"]
    assert made["k"].to_pylist() == [_bucket(text, 10**6) for text in texts]
    assert made.column_names == ["a", "b", "c", "k"]


def test_the_order_of_columns_and_equal_values_count(apply):
    table = pa.table({"a": ["x", "y", "x", "xx", ""], "b": ["y", "x", "x", "", "xx"]})
    assert len(set(apply(HashedCross(["a", "b"], num_buckets=10**6, output_column="k"), table)["k"].to_pylist())) == 5


@pytest.mark.parametrize(("columns", "output"), [(["a"], "k"), (["a", "b"], "b")], ids=["one column", "there already"])
def test_a_cross_of_one_column_or_onto_another_is_refused(columns, output):
    with pytest.raises(ConfigError, match="HashedCross"):
        HashedCross(columns, num_buckets=10, output_column=output).bind(pa.schema({"a": pa.string(), "b": pa.string()}))
