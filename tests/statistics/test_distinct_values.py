"""Different values in memory of a fixed size against counts by hand: exact while few, bounded beyond."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered

from penstock.statistics.distinct.distinct_values import DistinctValues


def summary(*parts, size=10_000):
    return gathered(DistinctValues(("c",), size), *({"c": part} for part in parts))["c"]


def drawn(rows=4000, seed=0):
    return np.random.default_rng(seed).zipf(1.3, rows).clip(max=2000)


def test_up_to_the_size_values_and_counts_are_exact():
    values = drawn()
    expected = sorted(Counter(values.tolist()).items(), key=lambda pair: (-pair[1], pair[0]))
    found = summary(*np.split(values, [0, 7, 3999]))
    assert (found.distinct, found.distinct_error, found.count_error) == (len(expected), 0.0, 0)
    assert found.top(10) == expected[:10]


def test_beyond_the_size_the_number_is_near_and_counts_are_too_low_by_no_more_than_said():
    values = drawn()
    counts = Counter(values.tolist())
    for cuts in ([], [2000], [10, 20, 3000]):
        found = summary(*np.split(values, cuts), size=50)
        assert found.distinct_error > 0
        assert found.distinct == pytest.approx(len(counts), rel=5 * found.distinct_error)
        assert 0 < found.count_error <= len(values) / 51
        kept = dict(found.top(50))
        assert all(count - found.count_error <= kept.get(value, 0) <= count for value, count in counts.items())


def test_a_part_with_few_values_is_sketched_with_one_of_many():
    found = summary([f"v{place}" for place in range(500)], ["other", None], ["other"], size=20)
    assert found.distinct == pytest.approx(501, rel=5 * found.distinct_error)
    assert found.rows == 502


def test_long_texts_take_no_more_memory_than_short_ones():
    found = summary([f"{place:04}" * 2000 for place in range(200)], size=100)
    assert found.table.nbytes <= 100 * 64 + 8000
    assert found.distinct == pytest.approx(200, rel=5 * found.distinct_error)


def test_an_estimate_is_never_more_than_the_rows():
    found = summary(np.arange(3000), size=10)
    assert found.distinct <= 3000


def test_strings_have_ends_and_lengths():
    values = np.array(["über", "b", None, "", "zzz", "b", "\U0001f600", "\uffff"], dtype=object)
    known = [value for value in values if value is not None]
    for cuts, size in [([], 10_000), ([2], 2), ([0, 4], 10_000), ([0, 4], 2)]:
        found = summary(*(pa.array(part.tolist(), pa.string()) for part in np.split(values, cuts)), size=size)
        assert found.first == ""
        assert found.last == max(known, key=str.encode)
        assert vars(found.length) == {"min": 0, "mean": sum(map(len, known)) / 7, "max": 4}


def test_numbers_have_no_lengths():
    assert summary([1, 2]).length is summary([1, 2]).first is None
