"""CountEncoder against pandas and closed forms."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
from encoder_values import encoded

from penstock.stages import CountEncoder


def test_counts_are_those_of_pandas(learn, rng, subtests):
    for normalize in [False, True]:
        with subtests.test(normalize=normalize):
            values = [None if value == "h" else value for value in rng.choice(list("abcdefgh"), 500)]
            first, rest = (pa.table({"c": part}) for part in (values[:123], values[123:]))
            oracle = pd.Series(values, dtype=object).value_counts(dropna=False, normalize=normalize)
            expected = [(oracle[oracle.index.isna()].iloc[0] if value is None else oracle[value]) for value in values]
            assert encoded(learn(CountEncoder("c", normalize=normalize), first, rest), *values) == expected


def test_a_null_that_was_not_there_at_fit_is_0(learn):
    assert encoded(learn(CountEncoder("c"), pa.table({"c": ["a"]})), None, "a") == [0, 1]


def test_types(apply, subtests):
    for normalize, kind in [(False, pa.int64()), (True, pa.float64())]:
        with subtests.test(normalize=normalize, kind=kind):
            made = apply(CountEncoder("c", normalize=normalize, output_columns=["n"]), pa.table({"c": [True, None]}))
            assert made.schema == pa.schema({"c": pa.bool_(), "n": kind})


def test_integers_are_matched_whatever_their_width(learn):
    learned = learn(CountEncoder("c"), pa.table({"c": [10, 10, -2]}))
    assert encoded(learned, 10, -2, 7, kind=pa.int8()) == [2, 1, 0]
