"""Rules, and the counts and first rows of what breaks them."""

import pyarrow as pa
import pytest
from gathering import gathered

from penstock import frames
from penstock.errors import ConfigError
from penstock.statistics import Rule, Violation, Violations

INF = float("inf")


BROKEN = [
    ("null", (), ["a", None, None], [None, None]),
    ("null", (), [float("nan"), 1.0], [None]),
    ("infinite", (), [INF, None, -INF, 1.0], [INF, -INF]),
    ("infinite", (), [1, 2], []),
    ("negative", (), [-1, 0, None, -3], [-1, -3]),
    ("negative", (), [-0.0, -INF], [-INF]),
    ("not_binary", (), [0, 1, 2, None, -1, 0.5], [2, -1, 0.5]),
    ("not_binary", (), [True, False, None], []),
    ("not_between", (0, 2), [-1, 0, 2, 3, None], [-1, 3]),
    ("not_between", ("b", "c"), ["a", "b", "c", "ca"], ["a", "ca"]),
    ("not_float32", (0.0,), [0.5, None, 0.1, 1e300, INF], [0.1, 1e300]),
    ("not_float32", (1e-7,), [0.1, 1e300, 1e-50], [1e300, 1e-50]),
    ("not_in", ("a", "b"), ["a", "c", None], ["c"]),
    ("not_in", (1,), [1, 2], [2]),
]


def test_a_rule_finds_the_values_that_break_it(subtests):
    for test, values, column, bad in BROKEN:
        with subtests.test(test, column=column):
            frame = frames.from_arrow(pa.table({"x": column}))
            assert frame.filter(Rule(test, values).broken("x"))["x"].to_list() == bad
            assert gathered(Violations(("x",), test, values), {"x": column})["x"].count == len(bad)


def test_the_first_row_is_the_smallest_of_all_partitions():
    violations = Violations(("x", "y"), "negative")
    parts = [{"x": [1], "y": [1], "__row__": [0]}, {"x": [1, -1, -1], "y": [1, 1, 1], "__row__": [7, 8, 9]}]
    assert gathered(violations, *reversed(parts)) == {"x": Violation(2, 8), "y": Violation(0, None)}


def test_without_row_numbers_there_is_no_first_row():
    assert gathered(Violations(("x",), "null"), {"x": [None, 1]})["x"] == Violation(count=1, first=None)


def test_an_unknown_test_is_refused_with_a_suggestion():
    with pytest.raises(ConfigError, match=r"test is 'negativ', expected.*Did you mean 'negative'"):
        Violations(("x",), "negativ")


def test_values_that_do_not_suit_the_test_are_refused():
    for test, values in [("null", (1,)), ("not_between", (1,)), ("not_float32", ()), ("not_in", ())]:
        with pytest.raises(ConfigError, match=f"test '{test}' got {len(values)} values, expected"):
            Rule(test, values)


def test_equal_violations_are_one_key():
    assert len({Violations(("x",), "not_in", (1, 2)), Violations(("x",), "not_in", (1, 2))}) == 1


def test_the_error_says_what_was_found_and_expected():
    for rule, told in [
        (Rule("not_between", (0, 1)), "not between, expected values between 0 and 1"),
        (Rule("not_in", ("a", "b")), "not in, expected values among the 2 allowed"),
        (Rule("null"), "null, expected no nulls"),
    ]:
        assert rule.error("x", 2).message == f"column 'x' has 2 values that are {told}"
