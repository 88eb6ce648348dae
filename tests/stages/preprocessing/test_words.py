"""StopWordsRemover, NGram and TextLength against MLlib and plain Python."""

import random
import re

import pyarrow as pa
import pytest

from penstock.core.extras import how_to_install
from penstock.errors import ConfigError, MissingExtraError
from penstock.stages import NGram, StopWordsRemover, TextLength

DRAW = random.Random(3)
WORDS = [[DRAW.choice(["the", "The", "a", "cat", "größe", "GRÖSSE", "", "x y"]) for _ in range(size % 7)]
         for size in range(60)]  # fmt: skip
LISTS = pa.table({"w": pa.array([*WORDS, None], pa.list_(pa.string()))})


def test_stop_words_are_left_out(apply, subtests):
    for sensitive in [True, False]:
        with subtests.test(sensitive=sensitive):
            made = apply(StopWordsRemover("w", stop_words=["the", "GRÖSSE"], case_sensitive=sensitive), LISTS)[
                "w"
            ].to_pylist()
            stop = {"the", "GRÖSSE"} if sensitive else {"the", "grösse"}
            kept = [[word for word in words if (word if sensitive else word.lower()) not in stop] for words in WORDS]
            assert made == [*kept, None]


def test_the_words_of_scikit_learn_are_held_by_the_bound_stage():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    bound = StopWordsRemover("w").bind(LISTS.schema)
    assert set(bound.stop_words) == text.ENGLISH_STOP_WORDS


def test_without_scikit_learn_the_words_have_to_be_given(hide_modules):
    hide_modules("sklearn")
    with pytest.raises(MissingExtraError, match=re.escape(how_to_install("sklearn"))):
        StopWordsRemover("w").bind(LISTS.schema)


def test_stop_words_that_are_no_list_of_strings_are_refused(subtests):
    for words in [1, [1]]:
        with subtests.test(words=words), pytest.raises(ConfigError, match=r"expected a list of (strings|texts)"):
            StopWordsRemover("w", stop_words=words)


def test_ngrams_do_not_cross_lists(apply, subtests):
    for n in [1, 2, 5]:
        with subtests.test(n=n):
            made = apply(NGram("w", n=n), LISTS)["w"].to_pylist()
            assert made == [*([" ".join(w[i : i + n]) for i in range(len(w) - n + 1)] for w in WORDS), None]


def test_an_element_that_is_null_is_left_out(apply, learn, subtests):
    lists = pa.table({"w": [["a", None, "b"]]})
    for stage, expected in [(NGram("w"), ["a b"]), (StopWordsRemover("w", stop_words=["b"]), ["a"])]:
        with subtests.test(stage=stage):
            made = apply(stage, lists)["w"].to_pylist()[0]
            assert made == expected
            bound, fitted = learn(stage, lists)
            assert bound.value_function("w", lists.schema.field("w").type, fitted)(["a", None, "b"]) == made


def test_texts_are_measured(apply):
    texts = ["The cat sat ", "", "  ", "größe 😀\u00a0x", "12 monkeys", None]
    made = apply(
        TextLength("t", measures=["characters", "words", "mean_word_length", "digits"]), pa.table({"t": texts})
    )
    assert made["t_characters"].to_pylist() == [12, 0, 2, 9, 10, None]
    assert made["t_words"].to_pylist() == [3, 0, 0, 2, 2, None]
    assert made["t_mean_word_length"].to_pylist() == [3.0, None, None, 4.0, 4.5, None]
    assert made["t_digits"].to_pylist() == [0, 0, 0, 0, 2, None]


def test_a_measure_that_is_not_known_is_named_with_the_nearest():
    with pytest.raises(ConfigError, match=r"measure of TextLength is 'word', expected.*Did you mean 'words'\?"):
        TextLength("t", measures=["word"])


@pytest.mark.spark
def test_agrees_with_mllib(apply, spark):
    from pyspark.ml.feature import NGram as Grams
    from pyspark.ml.feature import StopWordsRemover as Remover

    frame = spark.createDataFrame(list(enumerate(WORDS)), "id int, w array<string>").coalesce(1)
    pairs = [(NGram("w", n=n), Grams(inputCol="w", outputCol=f"n{n}", n=n)) for n in (1, 2, 3)]
    pairs += [
        (StopWordsRemover("w", stop_words=["The", "größe"], case_sensitive=sensitive),
         Remover(inputCol="w", outputCol=f"s{sensitive}", stopWords=["The", "größe"], caseSensitive=sensitive))
        for sensitive in (True, False)
    ]  # fmt: skip
    for _, other in pairs:
        frame = other.transform(frame)
    found = frame.orderBy("id").collect()
    for stage, other in pairs:
        made = apply(stage, LISTS.slice(0, len(WORDS)))["w"].to_pylist()
        assert made == [list(row[other.getOutputCol()]) for row in found], stage
