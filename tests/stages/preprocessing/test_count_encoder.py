"""CountEncoder against closed forms."""

import pyarrow as pa
from encoder_values import encoded

from penstock.stages import CountEncoder


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
