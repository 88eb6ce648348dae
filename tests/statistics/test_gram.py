"""Means and products of columns against NumPy, exact arithmetic and closed forms."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from gathering import cut, gathered

from penstock.statistics import Gram
from penstock.statistics.gram import slabs


def products(*parts, weighted=False):
    return gathered(Gram(tuple(parts[0]), weighted=weighted), *parts)


def sample(rows=1000, columns=5, offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(rows, columns)) @ rng.normal(size=(columns, columns))
    return {f"x{place}": offset + mixed[:, place] for place in range(columns)}


def exact(data, weight=None):
    """Return means and cross products in exact arithmetic."""
    columns = [[Fraction(float(value)) for value in column] for column in data.values()]
    weights = [Fraction(1)] * len(columns[0]) if weight is None else [Fraction(float(each)) for each in weight]
    means = [sum(w * x for w, x in zip(weights, column, strict=True)) / sum(weights) for column in columns]
    centred = [[x - mean for x in column] for column, mean in zip(columns, means, strict=True)]
    return [float(mean) for mean in means], [
        [float(sum(w * x * y for w, x, y in zip(weights, one, other, strict=True))) for other in centred]
        for one in centred
    ]


@pytest.mark.parametrize("weighted", [False, True])
def test_products_are_those_of_exact_arithmetic_however_far_from_zero(weighted):
    for offset in (0.0, 1e6, -1e9):
        data = sample(rows=300, columns=3, offset=offset)
        weight = np.random.default_rng(1).exponential(size=300) if weighted else None
        both = {**data, "w": weight} if weighted else data
        mean, cross = exact(data, weight)
        for cuts in ([], [0, 1, 250]):
            found = gathered(Gram(tuple(both), weighted=weighted), *cut(both, *cuts))
            np.testing.assert_allclose(found.mean, mean, rtol=1e-15, atol=1e-15)
            np.testing.assert_allclose(found.cross, cross, rtol=1e-12, atol=1e-12 * np.max(cross))


@pytest.mark.parametrize("columns", [1, 31, 32, 33, 70])
def test_products_are_numpys_for_every_shape_of_tiles(columns):
    for rows in (1, 239, 240, 241, 2000):
        data = sample(rows, columns)
        matrix = np.column_stack(list(data.values()))
        centred = matrix - matrix.mean(axis=0)
        np.testing.assert_allclose(products(data).cross, centred.T @ centred, rtol=1e-9, atol=1e-10 * rows)


def test_whole_weights_are_repeated_rows():
    data = sample(rows=50, columns=2)
    times = np.arange(50) % 4
    repeated = {name: np.repeat(values, times) for name, values in data.items()}
    found, expected = products({**data, "w": times.astype(float)}, weighted=True), products(repeated)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-13)
    np.testing.assert_allclose(found.cross, expected.cross, rtol=1e-13)
    assert (found.weight, found.weight_squares) == (times.sum(), (times * times).sum())
    assert found.count == np.count_nonzero(times)


def test_a_column_is_constant_to_the_bit_over_rows_that_count():
    found = products({"x": [0.1, 0.1, 7.0], "y": [1.0, 2.0, 9.0], "w": [3.0, 1.0, 0.0]}, weighted=True)
    assert found.constant.tolist() == [True, False]
    assert found.cross.tolist() == [[0.0, 0.0], [0.0, 0.75]]


def test_a_column_that_is_constant_in_each_part_may_vary():
    found = products({"x": [1.0, 1.0]}, {"x": [3.0, 3.0]})
    assert (found.constant.tolist(), found.cross.tolist()) == ([False], [[4.0]])


def test_no_rows_and_no_weight_are_empty():
    for found in (products({"x": pa.array([], pa.float64())}), products({"x": [1.0], "w": [0.0]}, weighted=True)):
        assert (found.count, found.weight, found.mean.tolist(), found.cross.tolist()) == (0, 0.0, [0.0], [[0.0]])


def test_integers_and_booleans_are_numbers():
    found = products({"x": [True, False], "y": [2**40, 0]})
    assert found.mean.tolist() == [0.5, 2.0**39]
    assert found.cross.tolist() == [[0.5, 2.0**39], [2.0**39, 2.0**79]]


def test_a_gpu_works_on_256_mb_of_rows_at_a_time():
    class OnDevice:
        shape = (10, 2**25)

        def __len__(self):
            return 10

    rows = slabs(OnDevice())[0].stop
    assert 0.99 < rows * 10 * 8 / 2**28 <= 1
