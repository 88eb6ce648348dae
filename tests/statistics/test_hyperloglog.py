"""Estimates of distinct values against how many there are."""

import numpy as np
import pyarrow as pa
import pytest

from penstock import frames
from penstock.statistics.distinct.hyperloglog import ERROR, DistinctCounts

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
