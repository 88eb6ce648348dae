"""Times in zones whose clocks skip or repeat hours, midnight among them, compared with zoneinfo and DuckDB."""

import datetime as dt
from collections.abc import Iterable
from functools import cache
from zoneinfo import ZoneInfo

import duckdb
import narwhals as nw
import polars as pl
import pyarrow as pa
import pytest

from penstock.engines.local import LocalEngine
from penstock.expressions.civil_time import in_zone, local_time

ZONES = (
    "America/New_York", "America/Havana", "Atlantic/Azores", "America/Sao_Paulo", "Asia/Beirut", "Australia/Lord_Howe",
    "Pacific/Apia",
)  # fmt: skip
HOUR = dt.timedelta(hours=1)


@cache
def around_changes(zone: str) -> list[dt.datetime]:
    """Return moments of a day and a half before and after each change of the clocks of 2011 and 2018."""
    first = dt.datetime(2011, 1, 1, tzinfo=dt.UTC)
    hours = [first + HOUR * hour for hour in (*range(366 * 24), *range(7 * 366 * 24, 8 * 366 * 24))]
    offsets = [hour.astimezone(ZoneInfo(zone)).utcoffset() for hour in hours]
    changes = [hour for hour, before, after in zip(hours[1:], offsets, offsets[1:], strict=False) if before != after]
    return [change + HOUR / 3 * third for change in changes for third in range(-3 * 36, 3 * 36)]


def in_microseconds(moments: Iterable[dt.datetime]) -> list[int]:
    """Return moments as integers: Python compares times in one zone by what the clock shows."""
    return [int(moment.timestamp()) * 1_000_000 for moment in moments]


def moments(zone: str) -> pa.Table:
    return pa.table({"ts": pa.array(around_changes(zone), pa.timestamp("us", zone))})


def as_integers(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([(name, pa.int64()) for name in table.column_names]))


def sql(query: str, zone: str) -> pa.Table:
    engine = LocalEngine(device="cpu")
    return as_integers(engine.sql(query, t=engine.from_arrow(moments(zone))).to_arrow())


@pytest.mark.parametrize("zone", ZONES)
def test_what_a_clock_shows_is_the_moment_of_zoneinfo(zone: str) -> None:
    shown = [moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0) for moment in around_changes(zone)]
    shown += [time + HOUR for time in shown]  # those that clocks skip too
    made = nw.from_native(pl.DataFrame({"t": shown})).select(in_zone(nw.col("t"), zone, "us").cast(nw.Int64))["t"]
    assert made.to_list() == in_microseconds(time.replace(tzinfo=ZoneInfo(zone)) for time in shown)


@pytest.mark.parametrize("zone", ZONES)
def test_a_time_shown_twice_is_the_moment_that_it_was_read_from(zone: str) -> None:
    frame = nw.from_native(pl.DataFrame(moments(zone)))
    made = frame.select(in_zone(local_time(nw.col("ts")), zone, "us", near=nw.col("ts")).cast(nw.Int64))
    assert made["ts"].to_list() == in_microseconds(around_changes(zone))


@pytest.mark.parametrize("zone", ZONES[:-1])  # DuckDB moves times by the day that Apia skipped
def test_intervals_in_sql_move_times_as_duckdb_does(zone: str) -> None:
    table = moments(zone)
    steps = ("ts + INTERVAL '1' DAY", "ts - INTERVAL '1' WEEK", "ts - INTERVAL '1' MONTH", "ts + INTERVAL '5' HOUR")
    query = f"SELECT {', '.join(f'{step} AS x{number}' for number, step in enumerate(steps))} FROM t"
    with duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = '{zone}'")
        expected = connection.register("t", table).sql(query).to_arrow_table()
    assert sql(query, zone).to_pydict() == as_integers(expected).to_pydict()


@pytest.mark.thorough
def test_verbs_move_and_truncate_times_as_sql_does() -> None:
    engine = LocalEngine(device="cpu")
    for zone in ZONES:
        moved = {"x0": nw.col("ts").dt.offset_by("1d"), "x1": nw.col("ts").dt.offset_by("-1mo").dt.offset_by("5h")}
        truncated = {"x2": nw.col("ts").dt.truncate("1d"), "x3": nw.col("ts").dt.truncate("1h")}
        made = engine.from_arrow(moments(zone)).with_columns(**moved, **truncated).select("x0", "x1", "x2", "x3")
        query = """SELECT ts + INTERVAL '1' DAY AS x0, ts - INTERVAL '1' MONTH + INTERVAL '5' HOUR AS x1,
            date_trunc('day', ts) AS x2, date_trunc('hour', ts) AS x3 FROM t"""
        assert as_integers(made.to_arrow()).to_pydict() == sql(query, zone).to_pydict()


@pytest.mark.parametrize("zone", ZONES)
def test_a_truncated_time_is_the_first_of_its_day_or_hour(zone: str) -> None:
    made = sql("SELECT date_trunc('day', ts) AS x0, date_trunc('hour', ts) AS x1 FROM t", zone)
    clocks = [moment.astimezone(ZoneInfo(zone)) for moment in around_changes(zone)]
    assert made["x0"].to_pylist() == in_microseconds(clock.replace(hour=0, minute=0, fold=0) for clock in clocks)
    assert made["x1"].to_pylist() == in_microseconds(clock.replace(minute=0) for clock in clocks)
