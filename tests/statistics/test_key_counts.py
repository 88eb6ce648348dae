"""Keys are counted by class one by one, or in ranges that do not depend on how rows are partitioned."""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from gathering import Value, gathered
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.statistics.key_counts import KeyCounts, KeyTable

ROW = st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2**64 - 1) | st.integers(0, 300))


def table_of(statistic: KeyCounts, *partitions: Sequence[tuple[str | None, int]]) -> KeyTable:
    kinds = pa.schema({"class": pa.string(), "key": pa.uint64()})
    tables = [pa.table([[name for name, _ in rows], [key for _, key in rows]], kinds) for rows in partitions]
    return gathered(statistic, *tables)


def counts(table: KeyTable) -> dict[tuple[Any, int], int]:
    classes = table.classes.to_pylist()
    rows = zip(table.codes.tolist(), table.ranges.tolist(), table.counts.tolist(), strict=True)
    return {(classes[code], key): number for code, key, number in rows}


@pytest.mark.thorough
@settings(max_examples=50)
@given(st.lists(ROW, max_size=30))
def test_few_keys_are_counted_one_by_one(rows):
    table = table_of(KeyCounts(Value(), "class"), rows)
    assert table.shift == 0
    assert counts(table) == Counter(rows)
    assert dict(zip(table.classes.to_pylist(), table.rows().tolist(), strict=True)) == Counter(name for name, _ in rows)


@pytest.mark.thorough
@settings(max_examples=60)
@given(st.lists(ROW, min_size=1, max_size=60), st.integers(4, 12), st.lists(st.integers(0, 60), max_size=4))
def test_ranges_are_as_narrow_as_the_limit_lets_them_be_whatever_the_partitions(rows, limit, cuts):
    bounds = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [rows[low:high] for low, high in itertools.pairwise(bounds)]
    table = table_of(KeyCounts(Value(), "class", limit), *parts)
    narrowest = [shift for shift in range(0, 64, 4) if len({(name, key >> shift) for name, key in rows}) <= limit]
    assert table.shift == min(narrowest, default=60)
    assert counts(table) == Counter((name, key >> table.shift) for name, key in rows)


def test_keys_are_in_order_by_class_with_null_last():
    table = table_of(KeyCounts(Value(), "class"), [("b", 3), (None, 9), ("a", 2**64 - 1)], [("a", 5), ("b", 3)])
    assert list(counts(table).items()) == [(("a", 5), 1), (("a", 2**64 - 1), 1), (("b", 3), 2), ((None, 9), 1)]


def test_inside_ranges_only_keys_of_their_class_are_counted():
    rows = [("a", 16), ("a", 31), ("a", 32), ("b", 16), ("b", 33), (None, 17), ("c", 16), ("c", 33)]
    inside = (("a", 1), ("b", 2), (None, 1))
    table = table_of(KeyCounts(Value(), "class", inside=inside, shift=4), rows)
    assert counts(table) == {("a", 16): 1, ("a", 31): 1, ("b", 33): 1, (None, 17): 1}


def test_inside_ranges_keys_are_told_apart_even_beyond_the_limit():
    rows = [("a", 16 * key) for key in range(40)]
    table = table_of(KeyCounts(Value(), "class", 4, inside=(("a", 0), ("a", 1)), shift=8), rows)
    assert (table.shift, len(table.ranges)) == (4, 32)


def test_without_a_column_of_classes_all_rows_are_of_one():
    table = table_of(KeyCounts(Value()), [("a", 1), ("b", 1)], [])
    assert (table.classes.to_pylist(), table.counts.tolist()) == ([False], [2])
