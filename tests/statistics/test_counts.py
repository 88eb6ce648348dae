"""Counts of rows and nulls."""

import pyarrow as pa
from gathering import gathered, states_of

from penstock.statistics import Count, Counts


def test_nulls_and_nan_are_counted_over_partitions():
    first, second = {"x": ["a", None]}, {"x": ["b", None, None]}
    assert gathered(Counts(("x",)), first, second)["x"] == Count(rows=5, nulls=3)
    assert gathered(Counts(("x",)), {"x": [1.0, float("nan")]})["x"] == Count(rows=2, nulls=1)


def test_a_column_of_the_null_type_has_no_valid_value():
    assert gathered(Counts(("x",)), {"x": pa.nulls(4)})["x"].valid == 0


def test_columns_are_restricted_and_widened():
    wide = Counts(("x",)).with_columns(["x", "y"])
    [state] = states_of(wide, {"x": [1], "y": [None]})
    assert wide.with_columns(["y"]).finish(state) == {"y": Count(rows=1, nulls=1)}


def test_no_columns_give_no_counts():
    assert states_of(Counts(()), {"x": [1]}) == [{}]
