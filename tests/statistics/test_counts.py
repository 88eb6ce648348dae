"""Counts of rows and nulls."""

import pyarrow as pa

from penstock import frames
from penstock.statistics import Count, Counts


def counted(*tables):
    counts = Counts(("x",))
    return counts.finish(counts.merge([counts.summarise(frames.from_arrow(table)) for table in tables]))["x"]


def test_nulls_are_counted_over_partitions_one_of_them_empty():
    first, second = pa.table({"x": ["a", None]}), pa.table({"x": ["b", None, None]})
    assert counted(first, first.slice(0, 0), second) == Count(rows=5, nulls=3)


def test_nan_is_missing():
    assert counted(pa.table({"x": [1.0, float("nan")]})) == Count(rows=2, nulls=1)


def test_a_column_of_the_null_type_has_no_valid_value():
    assert counted(pa.table({"x": pa.nulls(4)})).valid == 0


def test_columns_are_restricted_and_widened():
    wide = Counts(("x",)).with_columns(["x", "y"])
    state = wide.summarise(frames.from_arrow(pa.table({"x": [1], "y": [None]})))
    assert wide.with_columns(["y"]).finish(state) == {"y": Count(rows=1, nulls=1)}


def test_no_columns_give_no_counts():
    assert Counts(()).summarise(frames.from_arrow(pa.table({"x": [1]}))) == {}
