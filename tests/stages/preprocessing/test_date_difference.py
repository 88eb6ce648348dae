"""DateDifference, against pandas."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import ConfigError, SchemaError
from penstock.stages.preprocessing.dates.date_difference import DateDifference

SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}


def _made(table: pa.Table, stage: DateDifference) -> pa.Table:
    data = ps.LocalEngine(device="cpu").from_arrow(table)
    return ps.Pipeline(stage).fit(data).transform(data).to_arrow()


@pytest.mark.parametrize("unit", SECONDS)
def test_a_difference_is_that_of_pandas(unit):
    draw = np.random.default_rng(6)
    start, end = (pd.Series(pd.to_datetime(draw.integers(0, 2_000_000_000_000, 300), unit="ms")) for _ in range(2))
    made = _made(pa.table({"a": pa.array(start), "b": pa.array(end)}), DateDifference("a", "b", unit=unit))
    expected = (end - start) / pd.Timedelta(seconds=SECONDS[unit])
    # One unit in the last place: Polars divides by a constant as it multiplies by the reciprocal.
    np.testing.assert_allclose(made["a_to_b"].to_numpy(), expected, rtol=2**-52)


def test_an_earlier_end_is_negative():
    noon = datetime.datetime(2024, 2, 29, 12)
    table = pa.table({"a": [noon], "b": [noon - datetime.timedelta(minutes=3)]})
    assert _made(table, DateDifference("a", "b"))["a_to_b"].to_pylist() == [-3.0]


def test_a_microsecond_counts_in_the_far_past():
    start = datetime.datetime(1700, 1, 1)
    table = pa.table({"a": [start], "b": [start + datetime.timedelta(microseconds=1)]})
    assert _made(table, DateDifference("a", "b", unit="seconds"))["a_to_b"].to_pylist() == [1e-6]


def test_null_on_either_side_is_null():
    noon = datetime.datetime(2024, 2, 29, 12)
    table = pa.table({"a": [noon, None, None], "b": pa.array([None, noon, None], pa.timestamp("us"))})
    assert _made(table, DateDifference("a", "b"))["a_to_b"].to_pylist() == [None] * 3


def test_dates_are_at_midnight_and_mix_with_timestamps():
    table = pa.table({"a": [datetime.date(2024, 2, 28)], "b": [datetime.datetime(2024, 3, 1, 12)]})
    assert _made(table, DateDifference("a", "b", unit="days"))["a_to_b"].to_pylist() == [2.5]


def test_units_of_timestamps_may_differ():
    at = datetime.datetime(2024, 2, 29, 12)
    table = pa.table({"a": pa.array([at], pa.timestamp("ms")), "b": pa.array([at], pa.timestamp("ns"))})
    assert _made(table, DateDifference("a", "b"))["a_to_b"].to_pylist() == [0.0]


def test_between_time_zones_it_is_the_time_that_passes():
    at = datetime.datetime(2024, 2, 29, 12)
    zones = {name: pa.array([at], pa.timestamp("us", zone)) for name, zone in (("a", "UTC"), ("b", "Asia/Tokyo"))}
    assert _made(pa.table(zones), DateDifference("a", "b"))["a_to_b"].to_pylist() == [0.0]


def test_one_time_zone_of_two_is_refused():
    at = datetime.datetime(2024, 2, 29, 12)
    table = pa.table({"a": [at], "b": pa.array([at], pa.timestamp("us", "UTC"))})
    with pytest.raises(SchemaError, match="'a' has time zone None, 'b' has UTC"):
        _made(table, DateDifference("a", "b"))


def test_a_number_is_refused():
    with pytest.raises(SchemaError, match="'b' is int64, but DateDifference takes dates and timestamps"):
        _made(pa.table({"a": [datetime.date(2024, 1, 1)], "b": [1]}), DateDifference("a", "b"))


def test_a_missing_column_is_named_with_the_nearest():
    with pytest.raises(SchemaError, match=r"'pick_up' is not in the data. Did you mean 'pickup'\?"):
        _made(pa.table({"pickup": [datetime.date(2024, 1, 1)]}), DateDifference("pick_up", "pickup"))


def test_an_unknown_unit_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"unit of DateDifference is 'minute'.* Did you mean 'minutes'\?"):
        DateDifference("a", "b", unit="minute")


def test_the_output_can_be_named_and_is_float64():
    at = datetime.datetime(2024, 2, 29, 12)
    made = _made(pa.table({"a": [at], "b": [at]}), DateDifference("a", "b", output_column="took"))
    assert made.schema.field("took").type == pa.float64()
