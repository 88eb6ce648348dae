"""Moments class by class against NumPy of each class, exact arithmetic and closed forms."""

import numpy as np
import pyarrow as pa
import pytest
from gathering import cut, gathered

from penstock.statistics.class_moments import ClassMoments


def sample(rows=400, features=3, offset=0.0):
    rng = np.random.default_rng(4)
    label = rng.choice(["b", "a", "c"], rows, p=[0.5, 0.45, 0.05])
    return label, rng.normal(size=(rows, features)) + offset, rng.integers(0, 4, rows) / 2


def table_of(label, x, weight=None):
    x = np.asarray(x, dtype=float).reshape(len(label), -1)
    weights = {} if weight is None else {"w": weight}
    return pa.table({"label": label, **{f"x{i}": values for i, values in enumerate(x.T)}, **weights})


def moments(*tables):
    names = tuple(tables[0].column_names)
    return gathered(ClassMoments(names, weighted="w" in names), *tables)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_class_has_the_moments_of_its_rows(offset, weighted):
    label, x, weight = sample(offset=offset)
    weight = weight if weighted else np.ones(len(label))
    found = moments(*cut(table_of(label, x, weight if weighted else None), 0, 1, 90, 250, 400))
    assert found.classes.to_pylist() == ["a", "b", "c"]
    for place, value in enumerate("abc"):
        rows, w = x[label == value] - offset, weight[label == value][:, None]
        mean = (w * rows).sum(axis=0) / w.sum()
        assert found.rows[place] == np.count_nonzero(w)
        assert found.weight[place] == w.sum()
        np.testing.assert_allclose(found.sums[place], (w * (rows + offset)).sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.means[place], mean + offset, rtol=1e-12)
        np.testing.assert_allclose(found.m2[place], (w * (rows - mean) ** 2).sum(axis=0), rtol=1e-12)


def test_total_variances_are_those_of_all_rows():
    label, x, weight = sample(offset=3.0)
    x[label == "a"] += 5
    for weights in (None, weight):
        expected = np.cov(x.T, aweights=weights, ddof=0).diagonal()
        np.testing.assert_allclose(moments(table_of(label, x, weights)).total_variances, expected, rtol=1e-12)


def test_sums_of_counts_are_exact():
    rng = np.random.default_rng(5)
    label, counts = rng.integers(0, 3, 900), rng.integers(0, 2**40, (900, 4))
    expected = [[sum(column.tolist()) for column in counts[label == value].T] for value in range(3)]
    assert moments(*cut(table_of(label, counts), 1, 77, 78, 500)).sums.tolist() == expected


def test_a_constant_column_has_squares_of_exactly_zero():
    found = moments(*cut(table_of(np.arange(1000) % 3, np.full(1000, 0.1), np.linspace(0.1, 3, 1000)), 7, 300))
    assert found.m2.tolist() == [[0.0]] * 3
    assert found.means.tolist() == [[0.1]] * 3


def test_classes_are_ascending_in_the_type_of_the_label(subtests):
    for label, expected in [
        (["b", "é", "B", "b"], ["B", "b", "é"]),
        ([True, False, True, True], [False, True]),
        ([2**62 + 1, 2**62, -5, -5], [-5, 2**62, 2**62 + 1]),
        ([0.0, -0.0, 3.0, -2.0], [-2.0, 0.0, 3.0]),
        (pa.array([7.0, 0.0, -0.0, 7.0], pa.float32()), [0.0, 7.0]),
        (pa.array([3, 1, 2, 255], pa.uint8()), [1, 2, 3, 255]),
    ]:
        with subtests.test(expected=expected):
            table = table_of(label, np.arange(4))
            found = moments(*cut(table, 1, 2))
            assert found.classes.to_pylist() == expected
            assert found.classes.type == table.schema.field("label").type
            assert found.weight.sum() == 4


def test_booleans_and_float32_are_added_in_float64():
    values = np.full(100_000, 0.1, dtype=np.float32)
    found = moments(pa.table({"label": ["a"] * len(values), "x": values, "b": np.arange(len(values)) % 4 == 0}))
    np.testing.assert_allclose(found.means, [[float(np.float32(0.1)), 0.25]], rtol=1e-15)


def test_a_row_of_weight_zero_is_as_if_absent():
    found = moments(table_of(["a", "gone", "b", "a"], [1.0, 50.0, 2.0, 9.0], [1.0, 0.0, 2.0, 0.0]))
    assert found.classes.to_pylist() == ["a", "b"]
    assert found.rows.tolist() == [1, 1]
    assert found.means.tolist() == [[1.0], [2.0]]


def test_without_rows_there_are_no_classes():
    empty = table_of(["a"], [[1.0, 2.0]], [1.0]).slice(0, 0)
    found = moments(empty, empty)
    assert (len(found.classes), found.means.shape, found.m2.shape) == (0, (0, 2), (0, 2))
