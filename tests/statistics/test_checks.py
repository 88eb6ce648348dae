"""Checks of values: how many rows break each rule, counted in one go, and refused by the first that some do."""

import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import DataValueError
from penstock.statistics import Checks, Rule
from penstock.statistics.rules import rules_for

CHECKS = Checks((("x", Rule("null")), ("y", Rule("not_between", (0, 1))), ("x", Rule("negative"))))


def counts_of(checks: Checks, **columns: list[float | None]) -> tuple[int, ...]:
    frame = frames.from_arrow(pa.table({name: pa.array(values, pa.float64()) for name, values in columns.items()}))
    return checks.finish(checks.summarise(frame)).counts


def test_each_rule_is_counted_in_its_place():
    assert counts_of(CHECKS, x=[None, -1.0, -2.0, 3.0], y=[None, 2.0, 1.0, 0.0]) == (1, 1, 2)


def test_only_columns_with_a_rule_are_read_each_once():
    assert CHECKS.reads == ("x", "y")


def test_checks_are_equal_by_their_rules():
    assert Checks(rules_for(("x",), "null")) == Checks((("x", Rule("null")),))
    assert Checks(rules_for(("x",), "null")) != Checks(rules_for(("x",), "infinite"))


def test_the_first_broken_rule_is_refused_with_column_count_and_predicate():
    frame = frames.from_arrow(pa.table({"x": [1.0, -1.0], "y": [0.5, 7.0]}))
    with pytest.raises(DataValueError, match="column 'y' has 1 values that are not between") as caught:
        CHECKS.finish(CHECKS.summarise(frame)).refuse()
    assert caught.value.column == "y"
    assert frame.filter(caught.value.predicate)["y"].to_list() == [7.0]


def test_an_error_of_ones_own_may_bear_a_rule_and_refuse_the_next():
    def error(name: str, rule: Rule, count: int) -> DataValueError | None:
        return None if rule.test == "null" else DataValueError(f"{name}: {count} {rule.test}")

    broken = CHECKS.finish([5, 0, 2])
    with pytest.raises(DataValueError, match="x: 2 negative"):
        broken.refuse(error)


def test_values_that_keep_all_rules_pass():
    CHECKS.finish([0, 0, 0]).refuse()
