"""HaversineDistance against scikit-learn and distances known in closed form."""

import math

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics.pairwise import haversine_distances

import penstock as ps
from penstock.errors import ConfigError, DataValueError
from penstock.stages import HaversineDistance

COLUMNS = ("a", "b", "c", "d")
RNG = np.random.default_rng(9)
PLACES = np.column_stack([RNG.uniform(-end, end, 200) for end in (90, 180, 90, 180)])


def table(*rows):
    columns = [pa.array(values, pa.float64()) for values in zip(*rows, strict=True)]
    return pa.table(dict(zip(COLUMNS, columns, strict=True)))


def distances(apply, *rows, **options):
    return apply(HaversineDistance(*COLUMNS, **options), table(*rows))["distance"].to_pylist()


def test_agrees_with_scikit_learn(apply, subtests):
    arcs = np.array([haversine_distances([place[:2]], [place[2:]])[0, 0] for place in np.radians(PLACES)])
    for unit, radius in [("km", 6371.0088), ("m", 6371008.8), ("mi", 6371.0088 / 1.609344)]:
        with subtests.test(unit=unit):
            np.testing.assert_allclose(distances(apply, *PLACES, unit=unit), arcs * radius, rtol=1e-9)


def test_arcs_known_in_closed_form(apply, subtests):
    for place, share in [
        ((0.0, 0.0, 0.0, 0.0), 0),
        ((90.0, 0.0, 90.0, 123.0), 0),  # all longitudes meet at a pole
        ((90.0, 7.0, 0.0, -50.0), 1 / 2),
        ((-90.0, 0.0, 90.0, 0.0), 1),
        ((0.0, 0.0, 0.0, 180.0), 1),
        ((0.0, 179.5, 0.0, -179.5), 1 / 180),  # across the date line
        ((0.0, 359.5, 0.0, 0.5), 1 / 180),
        ((45.0, 350.0, 45.0, -10.0), 0),
        ((60.0, 10.0, 60.0 + 1e-9, 10.0), 1e-9 / 180),
    ]:
        with subtests.test(place=place, share=share):
            (found,) = distances(apply, place)
            assert found == pytest.approx(math.pi * 6371.0088 * share, rel=1e-5 if share < 1e-9 else 1e-8, abs=1e-9)


def test_places_a_millimetre_apart_are_told_apart(apply):
    step = 2.0**-27  # degrees, exact beside 32
    (found,) = distances(apply, (32.0, 64.0, 32.0 + step, 64.0), unit="m")
    assert found == pytest.approx(6371008.8 * math.radians(step), rel=1e-14)


def test_what_are_no_degrees_is_refused_in_frames_and_alone(apply, learn, subtests):
    for place, message in [
        ((90.1, 0.0, 0.0, 0.0), "column 'a' has 1 values that are no latitudes, expected degrees from -90 to 90"),
        ((0.0, -180.5, 0.0, 0.0), "column 'b' has 1 values that are no longitudes, expected degrees from -180 to 360"),
        ((0.0, 0.0, -math.inf, 0.0), "column 'c' has 1 values that are no latitudes"),
        ((0.0, 0.0, None, 361.0), "column 'd' has 1 values that are no longitudes"),
    ]:
        with subtests.test(place=place):
            with pytest.raises(DataValueError, match=message):
                distances(apply, (0.0, 0.0, 0.0, 0.0), place)
            bound, _ = learn(HaversineDistance(*COLUMNS), table(place))
            with pytest.raises(DataValueError, match=message):
                bound.row_function(table(place).schema, {})(dict(zip(COLUMNS, place, strict=True)))


def test_what_are_no_degrees_is_found_in_its_row(local):
    data = local.from_arrow(table((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 100.0, 0.0)))
    with pytest.raises(DataValueError, match="column 'c' has 1 values that are no latitudes") as caught:
        ps.Pipeline(HaversineDistance(*COLUMNS)).fit(data).transform(data).to_arrow()
    assert caught.value.row == 1


def test_what_is_no_unit_and_no_name_is_refused():
    with pytest.raises(ConfigError, match="unit of HaversineDistance is 'miles', expected one of km, m, mi"):
        HaversineDistance(*COLUMNS, unit="miles")
    with pytest.raises(ConfigError, match="output_column of HaversineDistance is ''"):
        HaversineDistance(*COLUMNS, output_column="")
