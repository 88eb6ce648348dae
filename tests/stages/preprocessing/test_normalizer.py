"""Normalizer against NumPy and closed forms."""

import math

import numpy as np
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.stages import Normalizer

MATRIX = np.random.default_rng(7).normal(size=(200, 7))
NORMS = ("l1", "l2", "max")
POWERS = (1.5, 3, 2.25, 40.0, 1e300)


def _table(matrix: np.ndarray) -> pa.Table:
    return pa.table({f"x{place}": column for place, column in enumerate(matrix.T)})


def _matrix(table: pa.Table) -> np.ndarray:
    return np.column_stack([column.to_numpy() for column in table.columns])


def test_rows_of_any_size_have_length_one(apply, subtests):
    for norm, expected in [
        ("l1", [3 / 7, -4 / 7]),
        ("l2", [0.6, -0.8]),
        ("max", [0.75, -1.0]),
        (3, [3 / 91 ** (1 / 3), -4 / 91 ** (1 / 3)]),
    ]:
        for size in [1.0, 1e-320, 1e-200, 1e200, 4e307]:
            with subtests.test(norm=norm, size=size):
                made = apply(Normalizer(["a", "b"], norm=norm), pa.table({"a": [3 * size], "b": [-4 * size]}))
                rtol = 1e-15 if size > 1e-300 else 1e-3  # 1e-320 itself is rounded to three digits
                np.testing.assert_allclose(_matrix(made)[0], expected, rtol=rtol)


def test_the_norm_of_a_number_is_that_of_numpy(apply, subtests):
    table = _table(MATRIX)
    for power in POWERS:
        with subtests.test(power=power):
            made = _matrix(apply(Normalizer(table.column_names, norm=power), table))
            largest = np.abs(MATRIX).max(axis=1, keepdims=True)
            oracle = MATRIX / largest / np.linalg.norm(MATRIX / largest, ord=power, axis=1)[:, None]
            np.testing.assert_allclose(made, oracle, rtol=1e-14)


def test_1_2_and_infinity_are_the_norms_that_have_words(subtests):
    for number, word in [(1, "l1"), (2.0, "l2"), (math.inf, "max")]:
        with subtests.test(number=number, word=word):
            assert Normalizer(["a", "b"], norm=number) == Normalizer(["a", "b"], norm=word)
            assert Normalizer(["a", "b"], norm=number).parameters()["norm"] == word


def test_what_is_no_norm_is_refused(subtests):
    for norm in [0.5, -1, 10**400, math.nan, True, None, "3"]:
        with subtests.test(norm=norm), pytest.raises(ConfigError, match=f"norm of Normalizer is {norm!r}, expected "):
            Normalizer(["a", "b"], norm=norm)


def test_a_row_of_zeros_stays(apply, subtests):
    for norm in (*NORMS, *POWERS):
        with subtests.test(norm=norm):
            made = apply(Normalizer(["a", "b"], norm=norm), pa.table({"a": [0.0, 0.0], "b": [0, None]}))
            assert made.to_pydict() == {"a": [0.0, 0.0], "b": [0.0, None]}


@pytest.mark.thorough
def test_a_wide_row_is_the_same_among_others_and_alone(subtests):
    table = _table(np.random.default_rng(1).lognormal(sigma=9, size=(3, 67)))
    for norm in (*NORMS, 3, 2.25):
        with subtests.test(norm=norm):
            stage = Normalizer(table.column_names, norm=norm).bind(table.schema)
            together = frames.to_arrow(stage.transform(frames.from_arrow(table), {}))
            alone = [frames.to_arrow(stage.transform(frames.from_arrow(table.slice(row, 1)), {})) for row in range(3)]
            rows = table.to_pylist()
            function = stage.row_function(table.schema, {})
            for row in rows:
                function(row)
            assert together.equals(pa.concat_tables(alone))
            assert together.to_pylist() == rows


def test_an_infinity_is_refused_in_frames_and_alone(learn, apply):
    table = pa.table({"a": [1.0], "b": [-math.inf]})
    with pytest.raises(DataValueError, match="column 'b' has 1 values that are infinite"):
        apply(Normalizer(["a", "b"]), table)
    bound, _ = learn(Normalizer(["a", "b"]), table)
    with pytest.raises(DataValueError, match="column 'b' has 1 values that are infinite"):
        bound.row_function(table.schema, {})({"a": 1.0, "b": -math.inf})


def test_an_unknown_norm_is_named():
    with pytest.raises(ConfigError, match=r"norm of Normalizer is 'L2', expected one of l2, l1, max"):
        Normalizer("x", norm="L2")
