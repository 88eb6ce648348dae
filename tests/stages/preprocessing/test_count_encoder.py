"""CountEncoder against pandas and closed forms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import SchemaError
from penstock.stages import CountEncoder

RNG = np.random.default_rng(13)


def encoded(learned, *values, kind=None):
    bound, fitted = learned
    return bound.transform(frames.from_arrow(pa.table({"c": pa.array(values, kind)})), fitted)["c"].to_list()


@pytest.mark.parametrize("normalize", [False, True])
def test_counts_are_those_of_pandas(learn, normalize):
    values = [None if value == "h" else value for value in RNG.choice(list("abcdefgh"), 500)]
    first, rest = (pa.table({"c": part}) for part in (values[:123], values[123:]))
    oracle = pd.Series(values, dtype=object).value_counts(dropna=False, normalize=normalize)
    expected = [(oracle[oracle.index.isna()].iloc[0] if value is None else oracle[value]) for value in values]
    assert encoded(learn(CountEncoder("c", normalize=normalize), first, rest), *values) == expected


def test_null_has_its_own_count_and_unseen_values_are_0(learn):
    learned = learn(CountEncoder("c"), pa.table({"c": ["a", None, "a", "b", None, None]}))
    assert encoded(learned, "a", "b", "z", "", None) == [2, 1, 0, 0, 3]


def test_a_null_that_was_not_there_at_fit_is_0(learn):
    assert encoded(learn(CountEncoder("c"), pa.table({"c": ["a"]})), None, "a") == [0, 1]


@pytest.mark.parametrize(("normalize", "kind"), [(False, pa.int64()), (True, pa.float64())])
def test_types(apply, normalize, kind):
    made = apply(CountEncoder("c", normalize=normalize, output_columns=["n"]), pa.table({"c": [True, None]}))
    assert made.schema == pa.schema({"c": pa.bool_(), "n": kind})


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.bool_(), pa.null()])
def test_a_column_of_nulls_counts_them(learn, kind):
    assert encoded(learn(CountEncoder("c"), pa.table({"c": pa.nulls(3, kind)})), None, kind=kind) == [3]


def test_integers_are_matched_whatever_their_width(learn):
    learned = learn(CountEncoder("c"), pa.table({"c": [10, 10, -2]}))
    assert encoded(learned, 10, -2, 7, kind=pa.int8()) == [2, 1, 0]


def test_a_floating_column_is_refused():
    with pytest.raises(SchemaError, match="'c' is double"):
        CountEncoder("c").bind(pa.schema({"c": pa.float64()}))
