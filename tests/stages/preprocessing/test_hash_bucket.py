"""HashBucket, HashedCross and FeatureHasher against scikit-learn's hash and MLlib's HashingTF; CountEncoder."""

import math

import numpy as np
import pyarrow as pa
import pytest
from encoder_values import encoded
from sklearn.utils import murmurhash3_32

from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import CountEncoder, FeatureHasher, HashBucket, HashedCross

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


LARGE = 2**18


def _at(text: str, size: int = LARGE) -> int:
    return murmurhash3_32(text.encode(), 42) % size


def _vectors(table: pa.Table, name: str = "features") -> list[dict[int, float]]:
    pairs = zip(table[f"{name}_indices"].to_pylist(), table[f"{name}_values"].to_pylist(), strict=True)
    made = [dict(zip(indices, values, strict=True)) for indices, values in pairs]
    assert all(list(vector) == sorted(vector) for vector in made)
    return made


def test_a_number_is_at_its_name_and_a_category_counts_at_its_text(apply):
    table = pa.table({"x": [2.5, -1.0], "n": [7, 7], "c": ["a", "größe"], "b": [True, False]})
    made = apply(FeatureHasher(["x", "n", "c", "b"]), table)
    assert made.column_names == ["x", "n", "c", "b", "features_indices", "features_values"]
    assert _vectors(made) == [
        {_at("x"): 2.5, _at("n"): 7.0, _at("c=a"): 1.0, _at("b=true"): 1.0},
        {_at("x"): -1.0, _at("n"): 7.0, _at("c=größe"): 1.0, _at("b=false"): 1.0},
    ]


def test_what_falls_on_one_index_is_added_up(apply):
    values = np.random.default_rng(5).normal(size=(50, 9))
    table = pa.table({f"x{place}": column for place, column in enumerate(values.T)})
    found = _vectors(apply(FeatureHasher(table.column_names, num_features=2), table))
    sides = np.array([_at(name, 2) for name in table.column_names])
    for vector, row in zip(found, values, strict=True):
        assert vector == pytest.approx({side: row[sides == side].sum() for side in set(sides.tolist())}, rel=1e-13)


def test_an_infinity_is_refused(apply):
    with pytest.raises(DataValueError, match=r"'x'.* 1 "):
        apply(FeatureHasher(["c", "x"]), pa.table({"c": ["a", "b"], "x": [1.0, -math.inf]}))


def test_wrong_parameters_are_refused_before_reading(subtests):
    schema = pa.schema({"x": pa.float64(), "t": pa.date32(), "v_values": pa.int64(), "y": pa.int64()})
    for options, error, message in [
        ({"num_features": 1}, ConfigError, "num_features of FeatureHasher"),
        ({"num_features": 2**31}, ConfigError, "num_features of FeatureHasher"),
        ({"categorical_columns": "x"}, ConfigError, "categorical_columns of FeatureHasher has 'x'"),
        ({"categorical_columns": ["y"]}, ConfigError, "categorical_columns of FeatureHasher has 'y'"),
        ({"output_column": "v"}, ConfigError, "makes column 'v_values', which is there already"),
        ({"columns": ["x", "t"]}, SchemaError, "column 't' is date32"),
    ]:
        with subtests.test(options=options), pytest.raises(error, match=message):
            FeatureHasher(**{"columns": ["x"], **options}).bind(schema)


def test_a_null_that_was_not_there_at_fit_is_0(learn):
    assert encoded(learn(CountEncoder("c"), pa.table({"c": ["a"]})), None, "a") == [0, 1]


def test_types_of_counts(apply, subtests):
    for normalize, kind in [(False, pa.int64()), (True, pa.float64())]:
        with subtests.test(normalize=normalize, kind=kind):
            made = apply(CountEncoder("c", normalize=normalize, output_columns=["n"]), pa.table({"c": [True, None]}))
            assert made.schema == pa.schema({"c": pa.bool_(), "n": kind})


def test_integers_are_counted_whatever_their_width(learn):
    learned = learn(CountEncoder("c"), pa.table({"c": [10, 10, -2]}))
    assert encoded(learned, 10, -2, 7, kind=pa.int8()) == [2, 1, 0]
