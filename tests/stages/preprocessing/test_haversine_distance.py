"""HaversineDistance against scikit-learn and distances known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics.pairwise import haversine_distances

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.stages import HaversineDistance

COLUMNS = ("a", "b", "c", "d")
RNG = np.random.default_rng(9)
PLACES = np.column_stack([RNG.uniform(-end, end, 800) for end in (90, 180, 90, 180)])


def table(*rows):
    columns = [pa.array(values, pa.float64()) for values in zip(*rows, strict=True)]
    return pa.table(dict(zip(COLUMNS, columns, strict=True)))


def distances(apply, *rows, **options):
    return apply(HaversineDistance(*COLUMNS, **options), table(*rows))["distance"].to_pylist()


@pytest.mark.thorough
@pytest.mark.parametrize(("unit", "radius"), [("km", 6371.0088), ("m", 6371008.8), ("mi", 6371.0088 / 1.609344)])
def test_agrees_with_scikit_learn(apply, unit, radius):
    oracle = [haversine_distances([place[:2]], [place[2:]])[0, 0] * radius for place in np.radians(PLACES)]
    np.testing.assert_allclose(distances(apply, *PLACES, unit=unit), oracle, rtol=1e-9)


@pytest.mark.parametrize(
    ("place", "share"),
    [
        ((0.0, 0.0, 0.0, 0.0), 0),
        ((90.0, 0.0, 90.0, 123.0), 0),  # all longitudes meet at a pole
        ((90.0, 7.0, 0.0, -50.0), 1 / 2),
        ((-90.0, 0.0, 90.0, 0.0), 1),
        ((0.0, 0.0, 0.0, 180.0), 1),
        ((0.0, 179.5, 0.0, -179.5), 1 / 180),  # across the date line
        ((0.0, 359.5, 0.0, 0.5), 1 / 180),
        ((45.0, 350.0, 45.0, -10.0), 0),
        ((60.0, 10.0, 60.0 + 1e-9, 10.0), 1e-9 / 180),
    ],
)
def test_arcs_known_in_closed_form(apply, place, share):
    (found,) = distances(apply, place)
    assert found == pytest.approx(math.pi * 6371.0088 * share, rel=1e-5 if share < 1e-9 else 1e-8, abs=1e-9)


def test_places_a_millimetre_apart_are_told_apart(apply):
    step = 2.0**-27  # degrees, exact beside 32
    (found,) = distances(apply, (32.0, 64.0, 32.0 + step, 64.0), unit="m")
    assert found == pytest.approx(6371008.8 * math.radians(step), rel=1e-14)


def test_either_end_is_as_far(apply):
    there, back = (distances(apply, *PLACES[:, order]) for order in ([0, 1, 2, 3], [2, 3, 0, 1]))
    np.testing.assert_allclose(there, back, rtol=1e-14)


def test_a_row_alone_gets_the_bits_that_it_gets_among_others(learn):
    given = table(*PLACES[:300].tolist(), (None, 0.0, 0.0, 0.0))
    bound, _ = learn(HaversineDistance(*COLUMNS), given)
    together = bound.transform(frames.from_arrow(given), {})["distance"].to_list()
    call, rows = bound.row_function(given.schema, {}), given.to_pylist()
    for row in rows:
        call(row)
    assert [row["distance"] for row in rows] == together


def test_null_where_one_of_the_four_is(apply):
    rows = [tuple(None if i == j else 1.0 for j in range(4)) for i in range(4)]
    assert distances(apply, *rows) == [None] * 4


def test_integers_and_a_column_used_twice_are_taken(apply):
    given = pa.table({"lat": [0, 10], "east": [0, 90], "west": pa.array([90, 90], pa.int8())})
    made = apply(HaversineDistance("lat", "east", "lat", "west", output_column="km"), given)
    assert made["km"].to_pylist() == [pytest.approx(math.pi / 2 * 6371.0088, rel=1e-12), 0.0]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((90.1, 0.0, 0.0, 0.0), "column 'a' has 1 values that are no latitudes, expected degrees from -90 to 90"),
        ((0.0, -180.5, 0.0, 0.0), "column 'b' has 1 values that are no longitudes, expected degrees from -180 to 360"),
        ((0.0, 0.0, -math.inf, 0.0), "column 'c' has 1 values that are no latitudes"),
        ((0.0, 0.0, None, 361.0), "column 'd' has 1 values that are no longitudes"),
    ],
)
def test_what_are_no_degrees_is_refused_in_frames_and_alone(apply, learn, place, message):
    with pytest.raises(DataValueError, match=message):
        distances(apply, (0.0, 0.0, 0.0, 0.0), place)
    bound, _ = learn(HaversineDistance(*COLUMNS), table(place))
    with pytest.raises(DataValueError, match=message):
        bound.row_function(table(place).schema, {})(dict(zip(COLUMNS, place, strict=True)))


def test_what_are_no_degrees_is_found_in_its_file(local, tmp_path):
    pq.write_table(table((0.0, 0.0, 0.0, 0.0)), tmp_path / "a.parquet")
    pq.write_table(table((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 100.0, 0.0)), tmp_path / "b.parquet")
    model = ps.Pipeline(HaversineDistance(*COLUMNS)).fit(local.read_parquet(tmp_path / "a.parquet"))
    with pytest.raises(DataValueError, match="column 'c' has 1 values that are no latitudes") as caught:
        model.transform(local.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"])).to_arrow()
    assert (str(caught.value.path).endswith("b.parquet"), caught.value.row) == (True, 1)


def test_what_does_not_fit_is_refused_before_reading():
    schema = pa.schema({**dict.fromkeys(COLUMNS, pa.float64()), "s": pa.string(), "distance": pa.int64()})
    with pytest.raises(SchemaError, match="column 's' is string, but HaversineDistance takes numeric columns"):
        HaversineDistance("a", "b", "c", "s", output_column="km").bind(schema)
    with pytest.raises(ConfigError, match="HaversineDistance adds 'distance', but there is a column of that name"):
        HaversineDistance(*COLUMNS).bind(schema)
    with pytest.raises(ConfigError, match="unit of HaversineDistance is 'miles', expected one of km, m, mi"):
        HaversineDistance(*COLUMNS, unit="miles")
    with pytest.raises(ConfigError, match="output_column of HaversineDistance is ''"):
        HaversineDistance(*COLUMNS, output_column="")
