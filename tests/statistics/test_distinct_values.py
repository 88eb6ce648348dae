"""Different and frequent values in memory of a fixed size against counts by hand: exact while few, bounded then."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered, states_of
from hypothesis import given
from hypothesis import strategies as st

from penstock import frames
from penstock.statistics.distinct.distinct_values import DistinctValues
from penstock.statistics.distinct.frequent_items import FrequentItems
from penstock.statistics.distinct.hyperloglog import ERROR, DistinctCounts


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


COUNTS = DistinctCounts(("x",))


def state_of(column):
    return COUNTS.summarise(frames.from_arrow(pa.table({"x": column})))


def distinct(column):
    return COUNTS.finish(state_of(column))["x"].distinct


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.float64()], ids=str)
def test_estimates_are_within_four_standard_errors(kind):
    for count in (0, 1, 10, 1000, 20_000, 60_000, 300_000):
        assert distinct(pa.array(np.arange(count)).cast(kind)) == pytest.approx(count, rel=4 * ERROR)


@pytest.mark.thorough
def test_errors_of_many_estimates_are_as_large_as_told_and_centred():
    errors = np.array([distinct(pa.array(np.arange(50_000) + 10**6 * run)) / 50_000 - 1 for run in range(40)])
    assert abs(errors.mean()) < 4 * ERROR / np.sqrt(40)
    assert errors.std() < 1.5 * ERROR


def test_values_of_every_type_count_and_nulls_do_not(subtests):
    for column, count, values in [
        (pa.array([True, False, None, True]), 2, 3),
        (pa.array([0.0, -0.0]), 1, 2),
        (pa.array([1, 2, 2], pa.int32()).cast(pa.date32()), 2, 3),
        (pa.array([["a", "b"], None, ["b", None]]), 2, 3),
        (pa.array([None, None], pa.string()), 0, 0),
    ]:
        with subtests.test(kind=column.type):
            found = COUNTS.finish(state_of(column))["x"]
            assert (round(found.distinct), found.values) == (count, values)


def test_the_width_is_that_of_the_values_in_memory():
    for column, width in [(pa.array(["ab", "abcd"]), 7), (pa.array([1, 2], pa.int16()), 2)]:
        assert COUNTS.finish(state_of(column))["x"].width == width


def test_full_registers_are_corrected_by_the_series_of_ertl():
    state = {"registers": bytes([51] * 2**12 + [50] * (3 * 2**12)), "values": 0, "hashed": 0, "bytes": 0}
    tau = (0.25 - sum((1 - 0.75 ** (0.5**k)) ** 2 * 0.5**k for k in range(1, 60))) / 3
    expected = 2.0 ** (14 + 50) / (2 * np.log(2) * (tau + 0.75))
    assert COUNTS.finish({"x": state})["x"].distinct == pytest.approx(expected, rel=1e-12)


def test_a_state_has_one_size():
    few, many = (len(state_of(pa.array(range(count)))["x"]["registers"]) for count in (10, 9999))
    assert few == many == 2**14


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
