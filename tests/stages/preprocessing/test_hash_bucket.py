"""HashBucket and HashedCross against scikit-learn's hash and MLlib's HashingTF."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sklearn.utils import murmurhash3_32

from penstock.errors import ConfigError
from penstock.stages import HashBucket, HashedCross

WORDS = ["a", "b", "", " ", "größe", "\U0001f600", "a longer one", "0", "x" * 1000]


def _bucket(text: str, count: int) -> int:
    return murmurhash3_32(text.encode(), 42) % count


def test_a_value_is_its_text_and_null_has_its_own(apply, subtests):
    for values, texts in [
        ([7, -7, 0], ["7", "-7", "0"]),
        ([True, False, None], ["true", "false", "\x1e"]),
        ([None], ["\x1e"]),
    ]:
        with subtests.test(values=values, texts=texts):
            assert apply(HashBucket("c", 997), pa.table({"c": values}))["c"].to_pylist() == [
                _bucket(t, 997) for t in texts
            ]


def test_buckets_are_those_of_mllib(apply, spark):
    from pyspark.ml.feature import HashingTF

    for count in (1000, 2**18):
        tf = HashingTF(numFeatures=count)
        assert apply(HashBucket("c", count), pa.table({"c": WORDS}))["c"].to_pylist() == [tf.indexOf(w) for w in WORDS]


def test_a_number_of_buckets_out_of_range_is_refused(subtests):
    for count in [1, 0, -5, 2**31, 2.0, True, (), (5, 1)]:
        with subtests.test(count=count):
            with pytest.raises(ConfigError, match="num_buckets of HashBucket"):
                HashBucket("c", count)
            if not isinstance(count, tuple):
                with pytest.raises(ConfigError, match="num_buckets of HashedCross"):
                    HashedCross(["a", "b"], num_buckets=count, output_column="c")


def test_a_cross_of_one_column_or_onto_another_is_refused(subtests):
    for columns, output in [(["a"], "k"), (["a", "b"], "b")]:
        with subtests.test(columns=columns, output=output), pytest.raises(ConfigError, match="HashedCross"):
            HashedCross(columns, num_buckets=10, output_column=output).bind(
                pa.schema({"a": pa.string(), "b": pa.string()})
            )
