"""Columns that are equal in every row, however these are cut into partitions."""

import datetime as dt

import pyarrow as pa
from gathering import cut, gathered

from penstock.statistics.equal_columns import EqualColumns


def groups(table, size):
    return gathered(EqualColumns(tuple(table.column_names)), *cut(table, *range(size, len(table), size)))


def test_columns_are_equal_if_all_their_values_are():
    values = list(range(40))
    table = pa.table(
        {
            "a": values,
            "last": [*values[:-1], 7],
            "same": values,
            "float": [float(each) for each in values],
            "text": [str(each) for each in values],
            "texts": [str(each) for each in values],
            "turned": values[::-1],
        }
    )
    for size in (1, 7, 40):
        assert groups(table, size) == (("a", "same"), ("text", "texts"))


def test_nulls_equal_nulls_and_nothing_else():
    table = pa.table({"a": [1, None, 0, 2], "b": [1, None, 0, 2], "c": [1, 0, None, 2], "d": [1, None, None, 2]})
    for size in (1, 2, 4):
        assert groups(table, size) == (("a", "b"),)


def test_columns_that_differ_beyond_the_rows_that_are_looked_at_first_are_told_apart():
    table = pa.table({"a": [0] * 500, "b": [0] * 499 + [1], "c": [0] * 499 + [None], "d": [0] * 499 + [None]})
    assert groups(table, 500) == (("c", "d"),)


def test_columns_of_each_type_are_compared():
    for value in (True, 1.5, "x", dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 3), dt.time(3), dt.timedelta(1)):
        assert groups(pa.table({"a": [value, None], "b": [value, None], "c": [None, value]}), 2) == (("a", "b"),)


def test_columns_of_no_rows_are_equal_by_type():
    schema = pa.schema({"a": pa.int64(), "b": pa.int64(), "c": pa.string()})
    assert gathered(EqualColumns(("a", "b", "c")), schema.empty_table()) == (("a", "b"),)
