"""Write synthetic taxi trips in the schema of the yellow-taxi files of New York's TLC, for March 2019.

Pick-ups follow the hours of the week, zones are as popular as they are central, the distance comes from the zones'
places on a made-up map, and the fare from the meter: so much at the start, per mile and per slow minute, or 52 dollars
between JFK and Manhattan. About three rows in a hundred are wrong in one of the ways in which the real files are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from _write import CHUNK_ROWS, Layout, Stream, chunks, main, write_directory
from numpy.typing import NDArray

_FIELDS: list[tuple[str, pa.DataType]] = [
    ("VendorID", pa.int64()),
    ("tpep_pickup_datetime", pa.timestamp("us")),
    ("tpep_dropoff_datetime", pa.timestamp("us")),
    ("passenger_count", pa.float64()),
    ("trip_distance", pa.float64()),
    ("RatecodeID", pa.float64()),
    ("store_and_fwd_flag", pa.string()),
    ("PULocationID", pa.int64()),
    ("DOLocationID", pa.int64()),
    ("payment_type", pa.int64()),
    ("fare_amount", pa.float64()),
    ("extra", pa.float64()),
    ("mta_tax", pa.float64()),
    ("tip_amount", pa.float64()),
    ("tolls_amount", pa.float64()),
    ("improvement_surcharge", pa.float64()),
    ("total_amount", pa.float64()),
    ("congestion_surcharge", pa.float64()),
]
SCHEMA = pa.schema(_FIELDS)
MONEY = tuple(SCHEMA.names[SCHEMA.get_field_index("fare_amount") :])
UNREPORTED = ("passenger_count", "RatecodeID", "store_and_fwd_flag", "congestion_surcharge")

MONTH, DAYS = np.datetime64("2019-03-01", "s"), 31
ZONES, NEWARK, JFK, LAGUARDIA = 265, 1, 132, 138
AIRPORTS = {NEWARK: ((-8.0, -3.0), 0.5), JFK: ((9.0, -5.0), 2.5), LAGUARDIA: ((5.0, 3.0), 2.0)}  # place and draw
MANHATTAN_MILES = 3.0  # zones nearer than this to the middle of the map count as Manhattan
JFK_FARE = 52.0
CARD, DISPUTE = 1, 4
VENDORS = {1: 0.38, 2: 0.62}
PASSENGERS = {1: 0.71, 2: 0.15, 3: 0.04, 4: 0.02, 5: 0.05, 6: 0.03}
PAYMENTS = {CARD: 0.72, 2: 0.27, 3: 0.007, DISPUTE: 0.003}

UNREPORTED_RATE = 0.01  # the columns UNREPORTED are null together, and the payment type is 0
NEGATIVE_RATE = 0.003
ZERO_DISTANCE_RATE = 0.006
NO_PASSENGER_RATE = 0.015
BACKWARDS_RATE = 0.0005
OTHER_YEAR_RATE = 0.0005

# Pick-ups and street speed by hour of the day; on weekends the day begins and ends two hours later.
_PICKUPS = np.array([35, 24, 17, 12, 9, 9, 19, 34, 44, 45, 44, 46, 48, 48, 51, 52, 47, 54, 63, 63, 57, 56, 54, 46])
_MPH = np.array([17, 18, 19, 20, 22, 22, 18, 14, 11, 11, 11, 11, 11, 11, 10, 10, 10, 10, 11, 12, 13, 14, 15, 16])

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Times = NDArray[np.datetime64]
Columns = dict[str, NDArray[Any]]


class City(NamedTuple):
    """The made-up map: where each zone lies, in miles, and how likely each pair of zones is, summed up."""

    places: Floats
    pairs: Floats

    def manhattan(self, zones: Ints) -> Bools:
        """Return whether each zone is in the middle of the map."""
        return np.hypot(*self.places[zones - 1].T) < MANHATTAN_MILES


class Ride(NamedTuple):
    """What the meter sees of some trips; duration in minutes, distance in miles."""

    pickup: Times
    duration: Floats
    distance: Floats
    start: Ints
    end: Ints
    flat: Bools
    hour: Ints
    weekend: Bools


def generate(rows: int, seed: int = 0) -> Iterator[pa.Table]:
    """Return the rows in tables of 250,000, of which the last may be shorter, with the columns of ``SCHEMA``.

    The first rows are the same for every ``rows``. The map is the same for every ``seed``, so that one seed can train
    and another test.
    """
    city = make_city()
    return (_table(size, city, stream) for size, stream in chunks(rows, seed))


def write(
    out: str | Path,
    rows: int,
    *,
    seed: int = 0,
    rows_per_file: int = 1_000_000,
    row_group_rows: int = CHUNK_ROWS,
    format: str = "parquet",
    overwrite: bool = False,
) -> list[Path]:
    """Write ``generate(rows, seed)`` to the directory ``out`` and return its files; see ``Layout`` for the rest."""
    layout = Layout(rows_per_file=rows_per_file, row_group_rows=row_group_rows, format=format, overwrite=overwrite)
    return write_directory(out, generate(rows, seed), SCHEMA, rows, layout)


def _table(rows: int, city: City, stream: Stream) -> pa.Table:
    ride = _ride(rows, city, stream)
    columns = _trip(ride, stream) | _bill(ride, city, stream)
    columns |= _refunds(columns, stream) | _misread(columns, stream) | _misdated(columns, stream)
    unreported = stream("unreported").random(rows) < UNREPORTED_RATE
    columns["payment_type"][unreported] = 0
    masks = dict.fromkeys(UNREPORTED, unreported)
    arrays = [pa.array(columns[field.name], field.type, mask=masks.get(field.name)) for field in SCHEMA]
    return pa.table(arrays, schema=SCHEMA)


def make_city() -> City:
    """Return the map, which is the same for every seed."""
    random = np.random.default_rng(ZONES)
    places = random.normal(0.0, 3.0, (ZONES, 2))
    popular = np.exp(-np.hypot(*places.T) + 0.5 * random.standard_normal(ZONES))
    for airport, (place, draw) in AIRPORTS.items():
        places[airport - 1], popular[airport - 1] = place, draw
    near = 1.0 / (1.0 + (_miles(places[:, None], places[None, :]) / 2.0) ** 2)
    pairs = np.cumsum(popular[:, None] * popular[None, :] * near)
    return City(places, pairs / pairs[-1])


def _miles(a: Floats, b: Floats) -> Floats:
    """Return the distance along a grid of streets."""
    return np.abs(a - b).sum(axis=-1)


def _ride(rows: int, city: City, stream: Stream) -> Ride:
    pickup, hour, weekend = _pickup(rows, stream)
    pair = np.searchsorted(city.pairs, stream("pair").random(rows), side="right")
    start, end = pair // ZONES + 1, pair % ZONES + 1
    straight = _miles(city.places[start - 1], city.places[end - 1])
    distance = np.round(0.3 + straight * np.exp(0.15 * stream("detour").standard_normal(rows)), 2)
    speed = _MPH[hour] * np.where(weekend, 1.15, 1.0) * (1.0 + distance / 25.0)
    duration = 2.0 + 60.0 * distance / speed * np.exp(0.25 * stream("traffic").standard_normal(rows))
    flat = ((start == JFK) & city.manhattan(end)) | ((end == JFK) & city.manhattan(start))
    return Ride(pickup, duration, distance, start, end, flat, hour, weekend)


def _pickup(rows: int, stream: Stream) -> tuple[Times, Ints, Bools]:
    days = MONTH.astype("datetime64[D]") + np.arange(DAYS)
    weekend = ~np.is_busday(days)
    weights = np.where(weekend[:, None], np.roll(_PICKUPS, 2), _PICKUPS)
    slots = np.cumsum(weights) / weights.sum()
    slot = np.searchsorted(slots, stream("slot").random(rows), side="right")
    second = stream("second").integers(0, 3600, rows)
    return MONTH + (3600 * slot + second), slot % 24, weekend[slot // 24]


def _trip(ride: Ride, stream: Stream) -> Columns:
    rows = ride.hour.size
    return {
        "VendorID": _choice(VENDORS, stream("vendor").random(rows)),
        "tpep_pickup_datetime": ride.pickup,
        "tpep_dropoff_datetime": ride.pickup + np.round(60.0 * ride.duration).astype("timedelta64[s]"),
        "passenger_count": _choice(PASSENGERS, stream("passengers").random(rows)),
        "trip_distance": ride.distance,
        "RatecodeID": np.where(ride.flat, 2, np.where(ride.end == NEWARK, 3, 1)),
        "store_and_fwd_flag": np.where(stream("stored").random(rows) < 0.005, "Y", "N"),
        "PULocationID": ride.start,
        "DOLocationID": ride.end,
    }


def _bill(ride: Ride, city: City, stream: Stream) -> Columns:
    rows = ride.hour.size
    fare = _fare(ride, stream("meter").standard_normal(rows))
    rush, night = (ride.hour >= 16) & (ride.hour < 20) & ~ride.weekend, (ride.hour >= 20) | (ride.hour < 6)
    payment = _choice(PAYMENTS, stream("payment").random(rows))
    tip = fare * np.maximum(0.2 + 0.06 * stream("tip").standard_normal(rows), 0.0)
    tolled = stream("toll").random(rows) < np.where(ride.distance > 8.0, 0.5, 0.005)
    amounts = {
        "fare_amount": fare,
        "extra": np.where(rush, 1.0, np.where(night, 0.5, 0.0)),
        "mta_tax": np.full(rows, 0.5),
        "tip_amount": np.round(np.where(payment == CARD, tip, 0.0), 2),
        "tolls_amount": np.where(tolled, 5.76, 0.0),
        "improvement_surcharge": np.full(rows, 0.3),
        "congestion_surcharge": np.where(city.manhattan(ride.start) | city.manhattan(ride.end), 2.5, 0.0),
    }
    return {**amounts, "total_amount": np.round(sum(amounts.values()), 2), "payment_type": payment}


def _fare(ride: Ride, noise: Floats) -> Floats:
    metered = 2.5 + 2.0 * ride.distance + 0.35 * ride.duration + 0.6 * noise + np.where(ride.end == NEWARK, 17.5, 0.0)
    half_dollars = np.round(2.0 * np.maximum(metered, 2.5)) / 2.0
    return np.where(ride.flat, JFK_FARE, half_dollars)


def _refunds(columns: Columns, stream: Stream) -> Columns:
    refunded = _hit("refund", NEGATIVE_RATE, columns, stream)
    amounts = {name: np.where(refunded, 0.0 - columns[name], columns[name]) for name in MONEY}
    return {**amounts, "payment_type": np.where(refunded, DISPUTE, columns["payment_type"])}


def _misread(columns: Columns, stream: Stream) -> Columns:
    rates = {"trip_distance": ZERO_DISTANCE_RATE, "passenger_count": NO_PASSENGER_RATE}
    return {name: np.where(_hit(name, rate, columns, stream), 0, columns[name]) for name, rate in rates.items()}


def _misdated(columns: Columns, stream: Stream) -> Columns:
    pickup, dropoff = columns["tpep_pickup_datetime"], columns["tpep_dropoff_datetime"]
    backwards = _hit("backwards", BACKWARDS_RATE, columns, stream)
    days_ago = stream("days ago").integers(DAYS, 4_000, pickup.size)
    shift = np.where(_hit("other year", OTHER_YEAR_RATE, columns, stream), days_ago, 0).astype("timedelta64[D]")
    return {
        "tpep_pickup_datetime": np.where(backwards, dropoff, pickup) - shift,
        "tpep_dropoff_datetime": np.where(backwards, pickup, dropoff) - shift,
    }


def _hit(name: str, rate: float, columns: Columns, stream: Stream) -> Bools:
    return stream("hit " + name).random(columns["VendorID"].size) < rate


def _choice(shares: dict[int, float], uniform: Floats) -> Ints:
    edges = np.cumsum(list(shares.values()))[:-1]
    return np.array(list(shares))[np.searchsorted(edges, uniform, side="right")]


if __name__ == "__main__":
    main(__doc__, write)
