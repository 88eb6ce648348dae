"""DateParts, against pandas."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import ConfigError, SchemaError
from penstock.stages.preprocessing.dates.date_parts import DateParts

ALL = ("year", "month", "day", "weekday", "ordinal_day", "hour", "minute", "second")


def _made(table: pa.Table, stage: DateParts) -> pa.Table:
    data = ps.LocalEngine(device="cpu").from_arrow(table)
    return ps.Pipeline(stage).fit(data).transform(data).to_arrow()


def _times() -> pd.Series:
    draw = np.random.default_rng(5)
    seconds = draw.integers(-3_000_000_000, 8_000_000_000, 500)  # from 1874 to 2223
    return pd.Series(pd.to_datetime(seconds, unit="s")).astype("datetime64[us]")


def test_a_part_is_that_of_pandas(subtests):
    times = _times()
    other = {"weekday": times.dt.isocalendar().day, "ordinal_day": times.dt.day_of_year}
    for part in ALL:
        with subtests.test(part=part):
            expected = (other[part] if part in other else getattr(times.dt, part)).tolist()
            made = _made(pa.table({"at": pa.array(times)}), DateParts("at", parts=(part,)))
            assert made[f"at_{part}"].to_pylist() == expected


def test_parts_are_int32_and_follow_the_columns_that_stay():
    now = datetime.datetime(2024, 2, 29, 23, 59, 59, 999_999)
    made = _made(pa.table({"a": [now], "b": [now]}), DateParts(["b", "a"]))
    assert made.schema.names == ["a", "b", "b_hour", "b_weekday", "a_hour", "a_weekday"]
    assert set(made.schema.types[2:]) == {pa.int32()}
    assert made["a"].to_pylist() == [now]


def test_a_time_zone_gives_local_parts():
    at = pa.array([datetime.datetime(2024, 7, 1, 22, 30)], pa.timestamp("us", "Europe/Paris"))
    made = _made(pa.table({"at": at}), DateParts("at", parts=("hour", "day")))
    assert (made["at_hour"][0].as_py(), made["at_day"][0].as_py()) == (0, 2)


def test_a_date_has_no_hour():
    with pytest.raises(SchemaError, match=r"'on' is date32\[day\], which has no hour") as found:
        _made(pa.table({"on": [datetime.date(2024, 1, 1)]}), DateParts("on"))
    assert found.value.hint == "Leave hour out of parts."


def test_a_column_of_text_is_refused():
    with pytest.raises(SchemaError, match="'at' is string, but DateParts takes dates and timestamps"):
        _made(pa.table({"at": ["2024-01-01"]}), DateParts("at"))


def test_an_unknown_part_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"part of DateParts is 'week_day', .* Did you mean 'weekday'\?"):
        DateParts("at", parts=("week_day",))


def test_no_parts_are_refused():
    with pytest.raises(ConfigError, match="parts of DateParts is empty"):
        DateParts("at", parts=())
