"""Sketches of frequent values against exact counts: the bound that is told holds, whatever is merged with what."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered, states_of
from hypothesis import given
from hypothesis import strategies as st

from penstock.statistics.distinct.frequent_items import FrequentItems

RNG = np.random.default_rng(11)


def sketch(size, *columns):
    return gathered(FrequentItems(("x",), size), *({"x": column} for column in columns))["x"]


def counts(found):
    return dict(zip(found.table["value"].to_pylist(), found.table["count"].to_pylist(), strict=True))


@pytest.mark.thorough
@given(st.lists(st.lists(st.none() | st.sampled_from("abcdefghij")), min_size=1, max_size=9), st.integers(1, 8))
def test_counts_are_too_low_by_no_more_than_is_told(partitions, size):
    found = sketch(size, *(pa.array(part, pa.string()) for part in partitions))
    real = Counter(value for part in partitions for value in part if value is not None)
    known = counts(found)
    assert len(known) <= size
    assert found.error <= real.total() / (size + 1)
    assert all(known.get(value, 0) <= count <= known.get(value, 0) + found.error for value, count in real.items())
    assert (found.total, found.nulls) == (real.total(), sum(part.count(None) for part in partitions))


def test_few_values_are_counted_exactly():
    columns = [pa.array(RNG.integers(0, 50, 1000)) for _ in range(5)]
    found = sketch(50, *columns)
    assert found.error == 0
    assert counts(found) == Counter(value for column in columns for value in column.to_pylist())


@pytest.mark.thorough
def test_the_head_of_a_long_tail_is_found_in_order():
    values = RNG.zipf(1.5, 200_000)
    found = sketch(2000, *(pa.array(part) for part in np.array_split(values, 20)))
    assert found.top(20).table["value"].to_pylist() == [value for value, _ in Counter(values.tolist()).most_common(20)]


def test_states_do_not_grow():
    items = FrequentItems(("x",), 100)
    states = states_of(items, *({"x": range(n, n + 5000)} for n in range(3)))
    assert all(state["x"]["table"].num_rows <= 100 for state in [*states, items.merge(states)])


def test_the_type_of_the_values_is_kept():
    found = sketch(1, pa.array([1, 1, 2], pa.int16()))
    assert found.table.schema == pa.schema({"value": pa.int16(), "count": pa.int64()})
