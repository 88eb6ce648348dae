"""Frequencies against the standard library's Counter."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.statistics import ValueCounts


def frequencies(*columns):
    return gathered(ValueCounts(("x",)), *({"x": column} for column in columns))["x"]


def rows(found):
    return list(zip(found.table["value"].to_pylist(), found.table["count"].to_pylist(), strict=True))


@pytest.mark.thorough
@settings(max_examples=50)
@given(st.lists(st.lists(st.none() | st.text(st.sampled_from("aZ\xe9\uff21\U0001f600"), max_size=2)), min_size=1))
def test_any_partitioning_gives_the_counts_in_order(partitions):
    everything = [value for part in partitions for value in part]
    counted = Counter(value for value in everything if value is not None)
    found = frequencies(*[pa.array(part, pa.string()) for part in partitions])
    assert rows(found) == sorted(counted.items(), key=lambda item: (-item[1], item[0].encode()))
    assert found.nulls == everything.count(None)
    assert found.total == sum(counted.values())


def test_dictionaries_are_counted_as_their_values():
    column = pa.array(["b", "a", "b"]).dictionary_encode()
    assert rows(frequencies(column, column.slice(0, 1))) == [("b", 3), ("a", 1)]


def test_the_mode_of_a_tie_is_the_smallest():
    assert frequencies(pa.array([5, 2, 9]), pa.array([9, 2])).mode == 2


def test_without_values_there_is_no_mode():
    for column in (pa.array([], pa.string()), pa.array([None, None], pa.string()), pa.nulls(2)):
        found = frequencies(column, column)
        assert (found.mode, found.distinct, found.total, found.nulls) == (None, 0, 0, 2 * len(column))
        assert found.at_least(1).distinct == 0


def test_at_least_keeps_the_frequent_values_and_the_nulls():
    found = frequencies(pa.array(["a", "b", "b", "c", "c", "c", None])).at_least(2)
    assert (rows(found), found.nulls) == ([("c", 3), ("b", 2)], 1)


def test_top_keeps_the_first():
    assert rows(frequencies(pa.array(["b", "a", "c", "c"])).top(2)) == [("c", 2), ("a", 1)]


def test_many_columns_are_counted_together():
    rng = np.random.default_rng(0)
    data = {f"c{i}": rng.integers(0, 10 * (i + 1), 2000).astype(str) for i in range(5)}
    found = gathered(ValueCounts(tuple(data)), data)
    assert {name: dict(rows(found[name])) for name in data} == {name: Counter(data[name].tolist()) for name in data}
