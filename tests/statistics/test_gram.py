"""Means and products of columns against NumPy, exact arithmetic and closed forms."""

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.statistics import Gram
from penstock.statistics.gram import MOST_COLUMNS, slabs


def products(*parts, weighted=False):
    gram = Gram(tuple(parts[0]), weighted=weighted)
    states = [gram.summarise(frames.from_arrow(pa.table(part))) for part in parts]
    return gram.finish(gram.merge(states))


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
@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9])
@pytest.mark.parametrize("cuts", [[], [0, 1, 250]])
def test_products_are_those_of_exact_arithmetic_however_far_from_zero(offset, cuts, weighted):
    data = sample(rows=300, columns=3, offset=offset)
    weight = np.random.default_rng(1).exponential(size=300) if weighted else None
    both = {**data, "w": weight} if weighted else data
    parts = [
        dict(zip(both, part, strict=True)) for part in zip(*(np.split(x, cuts) for x in both.values()), strict=True)
    ]
    found = products(*parts, weighted=weighted)
    mean, cross = exact(data, weight)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(found.cross, cross, rtol=1e-12, atol=1e-12 * np.max(cross))


@pytest.mark.parametrize("columns", [1, 31, 32, 33, 70])
@pytest.mark.parametrize("rows", [1, 239, 240, 241, 9000])
def test_products_are_numpys_for_every_shape_of_tiles(rows, columns):
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


def test_two_days_merged_are_both_days():
    gram = Gram(("x0", "x1"))
    days = [sample(rows, 2, offset=5.0, seed=rows) for rows in (200, 300)]
    parts = [[pa.table(day).slice(start, 100) for start in range(0, len(day["x0"]), 100)] for day in days]
    states = [gram.merge([gram.summarise(frames.from_arrow(part)) for part in day]) for day in parts]
    found = gram.finish(gram.merge(states))
    expected = products({name: np.concatenate([day[name] for day in days]) for name in days[0]})
    assert found.count == expected.count == 500
    np.testing.assert_allclose(found.cross, expected.cross, rtol=1e-13)


def test_no_rows_and_no_weight_are_empty():
    for found in (products({"x": pa.array([], pa.float64())}), products({"x": [1.0], "w": [0.0]}, weighted=True)):
        assert (found.count, found.weight, found.mean.tolist(), found.cross.tolist()) == (0, 0.0, [0.0], [[0.0]])


def test_integers_and_booleans_are_numbers():
    found = products({"x": [True, False], "y": [2**40, 0]})
    assert found.mean.tolist() == [0.5, 2.0**39]
    assert found.cross.tolist() == [[0.5, 2.0**39], [2.0**39, 2.0**79]]


@pytest.mark.parametrize(
    ("column", "bad", "message"),
    [
        ("x", None, "'x' has 2 values that are null"),
        ("y", float("nan"), "'y' has 2 values that are null"),
        ("y", float("inf"), "'y' has 2 values that are infinite"),
        ("x", -1e200, "'x' has 2 values that are too large"),
        ("w", -1.0, "'w' has 2 values that are negative"),
        ("w", None, "'w' has 2 values that are null"),
    ],
)
def test_bad_values_are_refused_with_column_and_count_and_can_be_found(column, bad, message):
    good = {"x": [1.0, 2.0], "y": [1.0, 0.0], "w": [1.0, 0.0]}
    part = {**good, column: [1.0, bad]}
    with pytest.raises(DataValueError, match=message) as caught:
        products(good, part, part, weighted=True)
    assert len(frames.from_arrow(pa.table(part)).filter(caught.value.predicate)) == 1


def test_a_matrix_too_wide_for_memory_is_refused_before_reading():
    with pytest.raises(ConfigError, match="5,001 columns, expected at most 5,000"):
        Gram(tuple(map(str, range(MOST_COLUMNS + 1))))


def test_no_column_is_refused():
    with pytest.raises(ConfigError, match="at least one column"):
        Gram(("w",), weighted=True)


_SCRIPT = """
import hashlib, numpy as np, pyarrow as pa
from penstock import frames
from penstock.statistics import Gram
for rows, columns in ((20011, 21), (3000, 150)):
    values = np.random.default_rng(0).exponential(size=(rows, columns))
    frame = frames.from_arrow(pa.table({str(place): values[:, place] for place in range(columns)}))
    for weighted in (False, True):
        state = Gram(tuple(frame.columns), weighted=weighted).summarise(frame)
        for name in ("columns", "cross"):
            print(hashlib.sha256(state[name].to_pandas().to_numpy().tobytes()).hexdigest())
"""


@pytest.mark.thorough
def test_the_state_does_not_depend_on_how_many_threads_there_are():
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, **dict.fromkeys(variables, str(threads)), "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for threads in (1, 2, 5)
    ]
    found = [run.communicate(timeout=120)[0] for run in runs]
    assert len(found[0].split()) == 8
    assert found[0] == found[1] == found[2]


def test_a_gpu_works_on_256_mb_of_rows_at_a_time():
    class OnDevice:
        shape = (10, 2**25)

        def __len__(self):
            return 10

    rows = slabs(OnDevice())[0].stop
    assert 0.99 < rows * 10 * 8 / 2**28 <= 1
