"""HashingTF, CountVectorizer and IDF against scikit-learn and closed forms."""

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer as Counted

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.frames import sparse
from penstock.stages import IDF, CountVectorizer, HashingTF

DRAW = random.Random(5)
WORDS = ["the", "cat", "größe", "😀", "", "a b", "mat", "sat", "x" * 37, "Zebra"]
LISTS = [DRAW.choices(WORDS, weights=range(1, 11), k=DRAW.randrange(9)) for _ in range(150)]
TABLE = pa.table({"w": pa.array(LISTS, pa.list_(pa.string()))})
WITH_NULLS = pa.table({"w": pa.array([["a", None, "b", "a"], None, [], ["b"]], pa.list_(pa.string()))})
VECTORS = {"v_indices": pa.list_(pa.int32()), "v_values": pa.list_(pa.float64())}


def vectors(indices: list[Any], values: list[Any]) -> pa.Table:
    return pa.table({"v_indices": indices, "v_values": values}, schema=pa.schema(list(VECTORS.items())))


def dense(table: pa.Table, name: str, size: int) -> np.ndarray:
    return sparse.to_csr(frames.from_arrow(table), name, size).toarray()


def test_counts_are_those_of_scikit_learn(learn, subtests):
    for binary in [False, True]:
        with subtests.test(binary=binary):
            bound, fitted = learn(CountVectorizer("w", binary=binary), TABLE)
            vocabulary = fitted["vocabulary"]["w"]["value"].to_pylist()
            made = frames.to_arrow(bound.transform(frames.from_arrow(TABLE), fitted))
            other = Counted(analyzer=lambda words: words, vocabulary=vocabulary, binary=binary, lowercase=False)
            np.testing.assert_array_equal(dense(made, "w", len(vocabulary)), other.fit_transform(LISTS).toarray())


def test_a_vocabulary_that_is_given_is_that_of_scikit_learn(learn):
    words = ("d", "a", "zzz")
    bound, fitted = learn(CountVectorizer("w", vocabulary=words), TABLE)
    assert bound.statistics(TABLE.schema) == {}
    made = frames.to_arrow(bound.transform(frames.from_arrow(TABLE), fitted))
    other = Counted(analyzer=lambda words: words, vocabulary=words, lowercase=False)
    np.testing.assert_array_equal(dense(made, "w", 3), other.transform(LISTS).toarray())


def test_a_vocabulary_that_does_not_fit_is_refused(subtests):
    for given, message in [
        ({"vocabulary": []}, "expected different words"),
        ({"vocabulary": ["a", "a"]}, "expected different words"),
        ({"vocabulary": ["a", 1]}, "expected different words"),
        ({"vocabulary": ["a"], "min_df": 2}, "has a vocabulary"),
        ({"vocabulary": ["a"], "vocab_size": 9}, "has a vocabulary with"),
    ]:
        with subtests.test(given=given), pytest.raises(ConfigError, match=message):
            CountVectorizer("w", **given)


def test_words_of_one_count_are_in_ascending_order(learn):
    lists = pa.table({"w": [["b", "ä", "a"], ["c", "B", "c"]]})
    _, fitted = learn(CountVectorizer("w"), lists)
    assert fitted["vocabulary"]["w"]["value"].to_pylist() == ["c", "B", "a", "b", "ä"]


def test_frequencies_are_counts_from_one_on_and_shares_below(learn, subtests):
    lists = pa.table({"w": [["a", "a", "a"], ["a", "b"], ["b", "a"], ["c"], None]})
    for min_df, max_df, kept in [
        (1.0, 2**63 - 1, ["a", "b", "c"]),
        (2, 2**63 - 1, ["a", "b"]),
        (0.5, 2**63 - 1, ["a", "b"]),
        (1.0, 2, ["b", "c"]),
        (0.0, 0.6, ["b", "c"]),
        (2, 0.5, ["b"]),
    ]:
        with subtests.test(min_df=min_df, max_df=max_df, kept=kept):
            _, fitted = learn(CountVectorizer("w", min_df=min_df, max_df=max_df), lists)
            assert sorted(fitted["vocabulary"]["w"]["value"].to_pylist()) == kept


def test_rare_words_of_a_list_are_left_out_by_count_or_share_of_all_its_words(learn, subtests):
    for min_tf, expected in [(2, [2.0, 0.0]), (0.5, [2.0, 0.0]), (0.25, [2.0, 1.0])]:
        with subtests.test(min_tf=min_tf):
            bound, fitted = learn(CountVectorizer("w", min_tf=min_tf), pa.table({"w": [["a", "b", "a"], ["a"]]}))
            made = frames.to_arrow(
                bound.transform(frames.from_arrow(pa.table({"w": [["a", "b", "new", "a"]]})), fitted)
            )
            np.testing.assert_array_equal(dense(made, "w", 2), [expected])


def test_nulls_have_no_vector_and_count_for_nothing(apply, subtests):
    for stage in [HashingTF("w", num_features=50), CountVectorizer("w")]:
        with subtests.test(stage=stage):
            made = apply(stage, WITH_NULLS)
            known = apply(stage, pa.table({"w": [["a", "b", "a"], [], ["b"]]}))
            assert made["w_indices"].drop_null().to_pylist() == known["w_indices"].to_pylist()
            assert made["w_values"].to_pylist()[1] is None


def test_a_column_without_enough_words_is_refused(learn, subtests):
    for lists in [[None, None], [[]], [["a"]]]:
        with subtests.test(lists=lists):
            with pytest.raises(DataValueError, match="column 'w' has no word that is in 2 to") as caught:
                learn(CountVectorizer("w", min_df=2), pa.table({"w": pa.array(lists, pa.list_(pa.string()))}))
            assert caught.value.column == "w"


def test_a_vector_takes_no_name_that_is_taken():
    schema = pa.schema({"w": pa.list_(pa.string()), "w_values": pa.int64()})
    with pytest.raises(ConfigError, match="makes column 'w_values', which is there already"):
        HashingTF("w").bind(schema)


def test_a_parameter_out_of_range_is_refused(subtests):
    for kind, options in [
        (CountVectorizer, {"vocab_size": 0}),
        (HashingTF, {"num_features": 0}),
        (CountVectorizer, {"min_df": 0.5, "max_df": 0.4}),
    ]:
        with subtests.test(kind=kind), pytest.raises(ConfigError, match=list(options)[-1]):
            kind("w", **options)


def test_weights_are_those_of_the_closed_form(apply):
    made = apply(IDF("v", min_doc_freq=2), vectors([[0, 1], [0], None, [0, 4]], [[2.0, 3.0], [1.0], None, [0.0, 1.0]]))
    assert made["v_values"].to_pylist() == [[2 * math.log(4 / 3), 0.0], [math.log(4 / 3)], None, [0.0, 0.0]]


def test_an_index_that_no_vector_had_is_rarest(learn):
    bound, fitted = learn(IDF("v"), vectors([[1], [1]], [[1.0], [1.0]]))
    new = bound.transform(frames.from_arrow(vectors([[0, 1, 9]], [[1.0, 1.0, 2.0]])), fitted)
    assert new["v_values"].to_list() == [[math.log(3), 0.0, 2 * math.log(3)]]


def test_a_value_that_is_not_finite_is_refused_at_fit_with_its_row(local, subtests):
    for bad, problem in [
        (math.inf, "1 values that are infinite"),
        (-math.inf, "1 values that are infinite"),
        (math.nan, "nulls, or NaN, in its lists"),
    ]:
        data = local.from_arrow(vectors([[0], [1], [0, 1]], [[1.0], [2.0], [2.0, bad]]))
        with subtests.test(bad=bad):
            with pytest.raises(DataValueError, match=f"column 'v_values' has {problem}") as caught:
                ps.Pipeline(IDF("v")).fit(data)
            assert caught.value.row == 2


def test_vectors_are_refused_where_there_are_none(learn):
    with pytest.raises(DataValueError, match="column 'v_indices' has no vector"):
        learn(IDF("v"), vectors([None], [None]))
    with pytest.raises(SchemaError, match="column 'w_indices' is not in the data"):
        IDF("w").bind(pa.schema(list(VECTORS.items())))
    with pytest.raises(SchemaError, match=r"column 'v_values' is list<.*int64>, but IDF takes"):
        IDF("v").bind(pa.schema({**VECTORS, "v_values": pa.list_(pa.int64())}))
