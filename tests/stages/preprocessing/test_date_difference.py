"""DateDifference, against pandas."""

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


def test_a_difference_is_that_of_pandas(subtests):
    draw = np.random.default_rng(6)
    start, end = (pd.Series(pd.to_datetime(draw.integers(0, 2_000_000_000_000, 300), unit="ms")) for _ in range(2))
    for unit in SECONDS:
        with subtests.test(unit=unit):
            made = _made(pa.table({"a": pa.array(start), "b": pa.array(end)}), DateDifference("a", "b", unit=unit))
            expected = (end - start) / pd.Timedelta(seconds=SECONDS[unit])
            # One unit in the last place: Polars divides by a constant as it multiplies by the reciprocal.
            np.testing.assert_allclose(made["a_to_b"].to_numpy(), expected, rtol=2**-52)


def test_a_microsecond_counts_in_the_far_past():
    start = datetime.datetime(1700, 1, 1)
    table = pa.table({"a": [start], "b": [start + datetime.timedelta(microseconds=1)]})
    assert _made(table, DateDifference("a", "b", unit="seconds"))["a_to_b"].to_pylist() == [1e-6]


def test_units_of_timestamps_may_differ():
    at = datetime.datetime(2024, 2, 29, 12)
    table = pa.table({"a": pa.array([at], pa.timestamp("ms")), "b": pa.array([at], pa.timestamp("ns"))})
    assert _made(table, DateDifference("a", "b"))["a_to_b"] == pa.chunked_array([[0.0]], pa.float64())


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


def test_an_unknown_unit_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"unit of DateDifference is 'minute'.* Did you mean 'minutes'\?"):
        DateDifference("a", "b", unit="minute")
