"""Places are those of NumPy's unique."""

import numpy as np
import pytest

from penstock.statistics.places import places

DRAW = np.random.default_rng(4)


@pytest.mark.parametrize(
    "values",
    [
        DRAW.integers(-5, 5, 1000),
        DRAW.integers(-5, 5, 1000, dtype=np.int8),
        DRAW.integers(-(2**60), 2**60, 1000),
        np.array([2**63 - 1, 2**63 - 3, 2**63 - 1]),
        np.array([-(2**63), 2**63 - 1]),
        np.array([0, 2**16 - 1]),
        np.array([0, 2**16]),
        np.array([7]),
        np.array([], dtype=np.int64),
    ],
    ids=lambda values: f"{len(values)}-{values.dtype}-{values[0] if len(values) else None}",
)
def test_distinct_values_and_places_are_those_of_unique(values):
    distinct, place = places(values)
    expected, inverse = np.unique(values, return_inverse=True)
    assert distinct.dtype == values.dtype
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(place, inverse)
