"""Tokenizer and RegexTokenizer against Java's rules, Python's `re`, and MLlib."""

import re
from typing import Any

import pyarrow as pa
import pytest

from penstock.errors import ConfigError
from penstock.stages import RegexTokenizer, Tokenizer
from penstock.stages.preprocessing.text.tokenizer import translated

TEXTS = [
    "The cat sat", "", " ", "  ", " a", "a ", "a  b", "\ta\nb\x0bc\x0cd\re", "no\u00a0break", "İ ΣΑΣ GRÖSSE",
    "e\u0301 É", "one,two, three;4", "😀 😀😀", "\u2028x", "ab12cd3", "it's O'Clock", "x" * 10_000 + " y", "\x1ca",
]  # fmt: skip
PATTERNS = [
    (r"\s+", True), (r"\s", True), (r"\w+", False), (r"[^\w']+", True), (r"\W", True), (r"[,;]\s?", True),
    (r"\b\d+\b", False), (r"[\d\s]", True), (r"[^\s]{2,3}", False), (r".", False), (r"(?:a|b)+?", False),
    (r"\p{Lu}|\p{Ll}", False), (r"[a-z&&[^c]]+", False), (r"a|\.|\u00e9", True),
]  # fmt: skip


def split_as_java(text: str, pattern: str) -> list[str]:
    pieces = re.split(pattern, text, flags=re.ASCII)
    while pieces and not pieces[-1] and text:
        pieces.pop()
    return pieces


def test_words_are_those_of_javas_split(apply):
    made = apply(Tokenizer("t"), pa.table({"t": [*TEXTS, None]}))["t"].to_pylist()
    assert made == [*(split_as_java(text.lower(), "[ \\t\\n\\x0b\\f\\r]") for text in TEXTS), None]


def test_empty_words_are_kept_with_a_least_length_of_zero_but_for_those_at_the_end(apply, subtests):
    for least in [0, 1, 3]:
        with subtests.test(least=least):
            made = apply(RegexTokenizer("t", pattern="[ ,]", min_token_length=least), pa.table({"t": TEXTS}))[
                "t"
            ].to_pylist()
            split = (split_as_java(text.lower(), "[ ,]") for text in TEXTS)
            assert made == [[word for word in words if len(word) >= least] for words in split]


def test_matches_are_the_words_without_gaps(apply):
    stage = RegexTokenizer("t", pattern=r"\w+", gaps=False, to_lowercase=False)
    made = apply(stage, pa.table({"t": TEXTS}))["t"].to_pylist()
    assert made == [re.findall(r"\w+", text, re.ASCII) for text in TEXTS]


def test_what_polars_reads_otherwise_than_java_is_refused(subtests):
    for pattern in [
        "a(?=b)", "(?<!a)b", r"(a)\1", "a++", "a*+", "(?i)a", "a$", r"\Qa", r"\p{Punct}",
        r"\h", "[a--b]", "[[:alpha:]]", "(?>a)", r"\<"
    ]:  # fmt: skip
        with subtests.test(pattern=pattern), pytest.raises(ConfigError, match="is not known"):
            RegexTokenizer("t", pattern=pattern)


def test_a_pattern_that_matches_nothing_at_all_is_refused(subtests):
    for pattern in ["", r"\s*", "a|", r"\b"]:
        with subtests.test(pattern=pattern), pytest.raises(ConfigError, match="matches the empty text"):
            RegexTokenizer("t", pattern=pattern)


def test_what_is_no_pattern_is_refused(subtests):
    for pattern in ["(a", "[a", "a\\", "*"]:
        with subtests.test(pattern=pattern), pytest.raises(ConfigError, match=r"pattern of RegexTokenizer is"):
            RegexTokenizer("t", pattern=pattern)


def test_characters_in_brackets_or_after_a_backslash_stand_for_themselves(subtests):
    for pattern in ["[$]", "[*+]", "[(?]", r"\$", r"[.]", r"a\+"]:
        with subtests.test(pattern=pattern):
            assert translated(pattern) == pattern


@pytest.mark.spark
def test_agrees_with_mllib(apply, spark: Any):
    from pyspark.ml.feature import RegexTokenizer as Pattern
    from pyspark.ml.feature import Tokenizer as Spaces

    frame = spark.createDataFrame(pa.table({"t": TEXTS})).coalesce(1)
    stages = [(Tokenizer("t"), Spaces(inputCol="t", outputCol="0"))]
    stages += [
        (RegexTokenizer("t", pattern=pattern, gaps=gaps, min_token_length=least),
         Pattern(inputCol="t", outputCol=f"{place}{least}", pattern=pattern, gaps=gaps, minTokenLength=least))
        for place, (pattern, gaps) in enumerate(PATTERNS, 1)
        for least in (0, 1)
    ]  # fmt: skip
    for _, other in stages:
        frame = other.transform(frame)
    found = frame.collect()
    for stage, other in stages:
        made = apply(stage, pa.table({"t": TEXTS}))["t"].to_pylist()
        assert made == [list(row[other.getOutputCol()]) for row in found], stage
