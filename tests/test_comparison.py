"""Tables of the conformance suite are compared to the bit, whole columns at once: no difference of one is missed."""

import datetime
import math

import pyarrow as pa
import pytest

from penstock.testing.compare import demand_equal

MOMENT = datetime.datetime(2024, 2, 29)
NAMED = {
    "a zero of the other sign": ([1.5, 0.0], [1.5, -0.0], r"t\['x'\]\[1\] is 0.0, expected -0.0"),
    "the last bit": ([1.0], [1.0 + 2**-52], r"t\['x'\]\[0\] is 1.0, expected 1.0000000000000002"),
    "a zero in a list": ([[0.0]], [[-0.0]], r"t\['x'\]\[0\]\[0\] is 0.0, expected -0.0"),
    "a zero in a list of lists": ([[[0.0]]], [[[-0.0]]], r"\[0\]\[0\]\[0\] is 0.0, expected -0.0"),
    "a zero in a struct": ([{"a": 0.0}], [{"a": -0.0}], r"\['a'\] is 0.0, expected -0.0"),
    "no list and an empty one": ([None, [1.0]], [[], [1.0]], r"t\['x'\]\[0\] is None, expected \[\]"),
    "a null": (["a", None], ["a", "b"], r"t\['x'\]\[1\] is None, expected 'b'"),
    "a NaN": ([math.nan], [None], r"t\['x'\]\[0\] is nan, expected None"),
    "a flag": ([True], [False], "is True, expected False"),
    "a time": ([MOMENT], [MOMENT.replace(microsecond=1)], "is datetime.datetime"),
    "a row more": ([1, 2], [1], "has 2 items, expected 1"),
}


def table(values: list[object], like: list[object]) -> pa.Table:
    return pa.table({"same": [0.5] * len(values), "x": pa.array(values, pa.array(like).type)})


def test_the_first_difference_is_named(subtests):
    for name, (found, expected, message) in NAMED.items():
        like = found if None not in found else expected
        with subtests.test(name), pytest.raises(AssertionError, match=message):
            demand_equal(table(found, like).select(["x"]), table(expected, like).select(["x"]), "t")


def test_chunks_and_missing_numbers_make_no_difference():
    for chunks in ([[1.0, math.nan], [None]], [[[1.0], None], [[math.nan, None]]]):
        column = pa.chunked_array(chunks)
        demand_equal(pa.table({"x": column}), pa.table({"x": column.combine_chunks()}), "t")


def test_what_rounding_changes_is_no_difference_where_it_may():
    one, other = pa.table({"x": [1.0, 2.0]}), pa.table({"x": [1.0 + 1e-15, 2.0]})
    demand_equal(one, other, "t", rtol=1e-12)
    with pytest.raises(AssertionError, match=r"expected 1\.000000000000001"):
        demand_equal(one, other, "t")
