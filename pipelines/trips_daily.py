"""Trips of a month from raw text to a forecast: clean trips in day folders, a table by day and borough, and a model.

`penstock run trips_daily --date 2019-03-01`; late trips are merged by a run over all files of the month.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import narwhals as nw
from pydantic import BaseModel, Field

import penstock as ps
from penstock import stages as st

PICKUP, DROPOFF, FARE = "tpep_pickup_datetime", "tpep_dropoff_datetime", "fare_amount"
SCHEMAS = {
    "trips": {PICKUP: "string", DROPOFF: "string", FARE: "float64", "PULocationID": "int64"},
    "zones": {"LocationID": "int64", "Borough": "string"},
}


class Parameters(BaseModel, extra="forbid"):
    """What `conf/pipelines/trips_daily.yaml`, ``--date`` and ``--set`` can change."""

    date: dt.date = Field(description="A day of the month that the run is about")
    longest_hours: float = Field(default=6, gt=0)
    lags: list[int] = Field(default=[1, 7], min_length=1)


def run(inputs: Mapping[str, ps.Dataset], parameters: Parameters) -> dict[str, object]:
    """Return the clean trips, the table of days, and the model, which a dry run does not fit."""
    clean = clean_trips(inputs["trips"], parameters)
    daily = boroughs_by_day(clean, inputs["zones"], parameters)
    return {"clean": clean, "daily": daily, "forecast": lambda: forecast(parameters).fit(daily)}


def clean_trips(trips: ps.Dataset, parameters: Parameters) -> ps.Dataset:
    """Return trips with their times and their day; impossible ones, and those of other months, are set aside."""
    columns = [PICKUP, DROPOFF, FARE, "PULocationID"]
    typed = trips.select(columns).cast({PICKUP: "timestamp", DROPOFF: "timestamp"}, errors="quarantine")
    timed = typed.with_columns(
        day=nw.col(PICKUP).dt.date(),
        month=12 * nw.col(PICKUP).dt.year() + nw.col(PICKUP).dt.month(),
        seconds=(nw.col(DROPOFF) - nw.col(PICKUP)).dt.total_seconds(),
        cents=(100 * nw.col(FARE)).round().cast(nw.Int64),  # whole, so that sums are the same in every order
    )
    rules = ps.Pipeline(
        st.Expect(f"0 <= seconds <= {3600 * parameters.longest_hours}", action="quarantine", name="a possible time"),
        st.Expect("cents > 0", action="quarantine", name="a fare, no refund"),
        st.Expect(
            f"month == {12 * parameters.date.year + parameters.date.month}", action="quarantine", name="the month"
        ),
    )
    return rules.fit(timed).transform(timed).drop("month", FARE)


def boroughs_by_day(trips: ps.Dataset, zones: ps.Dataset, parameters: Parameters) -> ps.Dataset:
    """Return for each day and borough the trips, what they cost, and the trips of days before."""
    placed = trips.join(zones, left_on="PULocationID", right_on="LocationID", how="left")
    daily = placed.group_by("day", "Borough").agg(
        trips="len", cents=nw.col("cents").sum(), seconds=nw.col("seconds").sum()
    )
    return daily.lag("trips", by="Borough", order_by="day", periods=parameters.lags)


def forecast(parameters: Parameters) -> ps.Pipeline:
    """Return a model of the trips of a day, from those of days before."""
    before = [f"trips_lag_{days}" for days in parameters.lags]
    return ps.Pipeline(st.DropNulls(before), st.LinearRegression("trips", features=before))
