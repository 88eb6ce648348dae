"""Columns that are equal in every row, however these are cut into partitions."""

import datetime as dt

import pyarrow as pa
import pytest

from penstock import frames
from penstock.statistics.equal_columns import EqualColumns


def groups(table, size):
    statistic = EqualColumns(tuple(table.column_names))
    states = [
        statistic.summarise(frames.from_arrow(table[first : first + size])) for first in range(0, len(table), size)
    ]
    return statistic.finish(statistic.merge(states))


@pytest.mark.thorough
@pytest.mark.parametrize("size", [1, 7, 200])
def test_columns_are_equal_if_all_their_values_are(size):
    values = list(range(200))
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
    assert groups(table, size) == (("a", "same"), ("text", "texts"))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_nulls_equal_nulls_and_nothing_else(size):
    table = pa.table({"a": [1, None, 0, 2], "b": [1, None, 0, 2], "c": [1, 0, None, 2], "d": [1, None, None, 2]})
    assert groups(table, size) == (("a", "b"),)


def test_columns_that_differ_beyond_the_rows_that_are_looked_at_first_are_told_apart():
    table = pa.table({"a": [0] * 500, "b": [0] * 499 + [1], "c": [0] * 499 + [None], "d": [0] * 499 + [None]})
    assert groups(table, 500) == (("c", "d"),)


@pytest.mark.parametrize(
    "value", [True, 1.5, "x", dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 3), dt.time(3), dt.timedelta(1)]
)
def test_columns_of_each_type_are_compared(value):
    assert groups(pa.table({"a": [value, None], "b": [value, None], "c": [None, value]}), 2) == (("a", "b"),)


def test_columns_of_no_rows_are_equal_by_type():
    schema = pa.schema({"a": pa.int64(), "b": pa.int64(), "c": pa.string()})
    statistic = EqualColumns(("a", "b", "c"))
    assert statistic.finish(statistic.summarise(frames.from_arrow(schema.empty_table()))) == (("a", "b"),)
