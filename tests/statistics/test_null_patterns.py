"""Patterns of nulls against a group-by of Polars."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from gathering import cut, gathered

from penstock.statistics.null_patterns import NullPattern, NullPatterns


def found(table, size=10_000, parts=3):
    places = range(-(-len(table) // parts), len(table), -(-len(table) // parts))
    return gathered(NullPatterns(tuple(table.column_names), size=size), *cut(table, *places))


def counted(table):
    """Return the rows of each pattern, as Polars counts them."""
    nulls = pl.DataFrame(table).select(pl.all().is_null())
    groups = nulls.group_by(pl.all()).len().rows()
    return {tuple(name for name, gone in zip(nulls.columns, row, strict=False) if gone): row[-1] for row in groups}


def sample(rows, columns):
    rng = np.random.default_rng(rows)
    values = {f"c{place}": rng.integers(0, 9, rows) for place in range(columns)}
    gone = [rng.uniform(size=rows) < rng.choice([0.0, 0.02, 0.3]) for _ in range(columns)]
    return pa.table({name: pa.array(each, mask=mask) for (name, each), mask in zip(values.items(), gone, strict=True)})


@pytest.mark.parametrize("columns", [1, 70, 130])
def test_patterns_are_those_of_a_group_by(columns):
    table = sample(500, columns)
    patterns = found(table)
    assert {each.columns: each.rows for each in patterns.patterns} == counted(table)
    assert patterns.error == 0


def test_frequent_patterns_come_first():
    rows = [each.rows for each in found(sample(500, 5)).patterns]
    assert rows == sorted(rows, reverse=True)


def test_rows_without_null_are_a_pattern_and_of_no_rows_there_is_none():
    assert found(pa.table({"x": [1, 2]})).patterns == (NullPattern((), 2),)
    assert gathered(NullPatterns(("x",)), {"x": pa.array([], pa.int64())}).patterns == ()


def test_of_many_patterns_the_frequent_stay_and_their_error_is_bounded():
    table = sample(2000, 40)
    expected = counted(table)
    patterns = found(table, size=20, parts=7)
    assert len(patterns.patterns) <= 20 < len(expected)
    assert patterns.error <= 2000 / 21
    for each in patterns.patterns:
        assert expected[each.columns] - patterns.error <= each.rows <= expected[each.columns]


def test_columns_of_any_type_have_patterns():
    table = pa.table({"l": [[1], None], "s": [None, {"a": 1}], "b": [b"x", None]})
    patterns = found(table, parts=1).patterns
    assert {each.columns for each in patterns} == {("s",), ("l", "b")}
