"""Trips of one day from raw text to typed rows, as `pipelines/trips.py` learns from them and scores them.

`penstock run trips_by_day --date 2019-03-05`, once a day by a scheduler: see `dags/trips.py`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import narwhals as nw
from pydantic import BaseModel, Field

import penstock as ps
from penstock import stages as st

PICKUP, DROPOFF = "tpep_pickup_datetime", "tpep_dropoff_datetime"
NUMBERS = ["passenger_count", "trip_distance", "RatecodeID", "fare_amount"]
ZONES = ["PULocationID", "DOLocationID"]
SCHEMAS = {
    "trips": {PICKUP: "string", DROPOFF: "string", **dict.fromkeys(NUMBERS, "float64"), **dict.fromkeys(ZONES, "int64")}
}


class Parameters(BaseModel, extra="forbid"):
    """What `conf/pipelines/trips_by_day.yaml`, ``--date`` and ``--set`` can change."""

    date: dt.date = Field(description="The day that the run is about")


def run(inputs: Mapping[str, ps.Dataset], parameters: Parameters) -> dict[str, ps.Dataset]:
    """Return the trips of the day; those of other days, and times that are none, are set aside."""
    raw = inputs["trips"].select([PICKUP, DROPOFF, *NUMBERS, *ZONES])
    typed = raw.cast({PICKUP: "timestamp", DROPOFF: "timestamp"}, errors="quarantine")
    dated = typed.with_columns(days_off=(nw.col(PICKUP).dt.date() - nw.lit(parameters.date)).dt.total_minutes())
    of_the_day = ps.Pipeline(st.Expect("days_off == 0", action="quarantine", name="the day of the run"))
    return {"trips": of_the_day.fit(dated).transform(dated).drop("days_off")}
