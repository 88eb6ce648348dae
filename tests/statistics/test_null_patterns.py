"""Patterns of nulls against a group-by of Polars."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import ConfigError
from penstock.statistics.null_patterns import NullPattern, NullPatterns


def found(table, statistic, parts=3):
    size = max(1, -(-len(table) // parts))
    states = [
        statistic.summarise(frames.from_arrow(table[first : first + size])) for first in range(0, len(table), size)
    ]
    return statistic.finish(statistic.merge(states))


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


@pytest.mark.parametrize("columns", [1, 5, 70, 130])
def test_patterns_are_those_of_a_group_by(columns):
    table = sample(500, columns)
    patterns = found(table, NullPatterns(tuple(table.column_names), size=10_000))
    assert {each.columns: each.rows for each in patterns.patterns} == counted(table)
    assert patterns.error == 0


def test_frequent_patterns_come_first():
    table = sample(500, 5)
    rows = [each.rows for each in found(table, NullPatterns(tuple(table.column_names))).patterns]
    assert rows == sorted(rows, reverse=True)


def test_rows_without_null_are_a_pattern():
    assert found(pa.table({"x": [1, 2]}), NullPatterns(("x",))).patterns == (NullPattern((), 2),)


def test_of_no_rows_there_is_no_pattern():
    statistic = NullPatterns(("x",))
    state = statistic.summarise(frames.from_arrow(pa.table({"x": pa.array([], pa.int64())})))
    assert statistic.finish(state).patterns == ()


def test_of_many_patterns_the_frequent_stay_and_their_error_is_bounded():
    table = sample(2000, 40)
    expected = counted(table)
    patterns = found(table, NullPatterns(tuple(table.column_names), size=20), parts=7)
    assert len(patterns.patterns) <= 20 < len(expected)
    assert patterns.error <= 2000 / 21
    for each in patterns.patterns:
        assert expected[each.columns] - patterns.error <= each.rows <= expected[each.columns]


def test_columns_of_any_type_have_patterns():
    table = pa.table({"l": [[1], None], "s": [None, {"a": 1}], "b": [b"x", None]})
    patterns = found(table, NullPatterns(("l", "s", "b")), parts=1).patterns
    assert {each.columns for each in patterns} == {("s",), ("l", "b")}


def test_a_size_below_one_is_refused():
    with pytest.raises(ConfigError, match="size is 0"):
        NullPatterns(("x",), size=0)
