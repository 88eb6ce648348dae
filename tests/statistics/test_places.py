"""Places are those of NumPy's unique."""

import numpy as np

from penstock.statistics.places import places


def test_distinct_values_and_places_are_those_of_unique(subtests):
    draw = np.random.default_rng(4)
    for values in [
        draw.integers(-5, 5, 1000),
        draw.integers(-5, 5, 1000, dtype=np.int8),
        draw.integers(-(2**60), 2**60, 1000),
        np.array([2**63 - 1, 2**63 - 3, 2**63 - 1]),
        np.array([-(2**63), 2**63 - 1]),
        np.array([0, 2**16 - 1]),
        np.array([0, 2**16]),
        np.array([7]),
        np.array([], dtype=np.int64),
    ]:
        with subtests.test(values=values[:3], dtype=values.dtype):
            distinct, place = places(values)
            expected, inverse = np.unique(values, return_inverse=True)
            assert distinct.dtype == values.dtype
            np.testing.assert_array_equal(distinct, expected)
            np.testing.assert_array_equal(place, inverse)
