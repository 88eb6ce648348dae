"""Moments class by class against NumPy of each class, exact arithmetic and closed forms."""

import itertools
import pickle

import numpy as np
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.statistics.class_moments import ClassMoments


def sample(rows=400, features=3, offset=0.0):
    rng = np.random.default_rng(4)
    label = rng.choice(["b", "a", "c"], rows, p=[0.5, 0.45, 0.05])
    return label, rng.normal(size=(rows, features)) + offset, rng.integers(0, 4, rows) / 2


def table_of(label, x, weight=None):
    x = np.asarray(x, dtype=float).reshape(len(label), -1)
    weights = {} if weight is None else {"w": weight}
    return pa.table({"label": label, **{f"x{i}": values for i, values in enumerate(x.T)}, **weights})


def statistic_of(table, **options):
    return ClassMoments(tuple(table.column_names), weighted="w" in table.column_names, **options)


def state_of(table, **options):
    return statistic_of(table, **options).summarise(frames.from_arrow(table))


def moments(*tables, **options):
    statistic = statistic_of(tables[0], **options)
    return statistic.finish(statistic.merge([state_of(table, **options) for table in tables]))


def cut(table, *places):
    bounds = [0, *places, table.num_rows]
    return [table.slice(low, high - low) for low, high in itertools.pairwise(bounds)]


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("places", [(), (0, 1, 90, 250, 400)], ids=["whole", "cut"])
def test_each_class_has_the_moments_of_its_rows(offset, weighted, places):
    label, x, weight = sample(offset=offset)
    weight = weight if weighted else np.ones(len(label))
    found = moments(*cut(table_of(label, x, weight if weighted else None), *places))
    assert found.classes.to_pylist() == ["a", "b", "c"]
    for place, value in enumerate("abc"):
        rows, w = x[label == value] - offset, weight[label == value][:, None]
        mean = (w * rows).sum(axis=0) / w.sum()
        assert found.rows[place] == np.count_nonzero(w)
        assert found.weight[place] == w.sum()
        np.testing.assert_allclose(found.sums[place], (w * (rows + offset)).sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.means[place], mean + offset, rtol=1e-12)
        np.testing.assert_allclose(found.m2[place], (w * (rows - mean) ** 2).sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e8, 1e12])
def test_variances_do_not_depend_on_the_offset(offset):
    # A half-integer grid is exact in float64 at every offset, and its variance has a closed form.
    n = 2001
    grid = offset + 0.5 * np.arange(n)
    found = moments(*cut(table_of(np.repeat([0, 1], n), np.concatenate([grid, grid])), 700, 2500))
    np.testing.assert_allclose(found.means[:, 0], offset + 0.25 * (n - 1), rtol=1e-15)
    np.testing.assert_allclose(found.variances[:, 0], 0.25 * (n * n - 1) / 12, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_total_variances_are_those_of_all_rows(weighted):
    label, x, weight = sample(offset=3.0)
    x[label == "a"] += 5
    found = moments(table_of(label, x, weight if weighted else None))
    expected = np.cov(x.T, aweights=weight if weighted else None, ddof=0).diagonal()
    np.testing.assert_allclose(found.total_variances, expected, rtol=1e-12)


def test_sums_of_counts_are_exact_however_rows_are_cut():
    rng = np.random.default_rng(5)
    label, counts = rng.integers(0, 3, 900), rng.integers(0, 2**40, (900, 4))
    table = table_of(label, counts)
    for parts in (cut(table), cut(table, 1, 77, 78, 500)):
        expected = [[sum(column.tolist()) for column in counts[label == value].T] for value in range(3)]
        assert moments(*parts).sums.tolist() == expected


def test_a_constant_column_has_squares_of_exactly_zero():
    found = moments(*cut(table_of(np.arange(1000) % 3, np.full(1000, 0.1), np.linspace(0.1, 3, 1000)), 7, 300))
    assert found.m2.tolist() == [[0.0]] * 3
    assert found.means.tolist() == [[0.1]] * 3


def test_merging_is_associative():
    label, x, weight = sample(offset=1e6)
    statistic = statistic_of(table_of(label, x, weight))
    a, b, c = (state_of(part) for part in cut(table_of(label, x, weight), 30, 31))
    left, right = statistic.merge([statistic.merge([a, b]), c]), statistic.merge([a, statistic.merge([b, c])])
    left, right = statistic.finish(left), statistic.finish(right)
    for name in ("rows", "weight", "sums", "means", "m2"):
        np.testing.assert_allclose(getattr(left, name), getattr(right, name), rtol=1e-12)


def test_a_class_may_be_absent_from_some_partitions():
    one, two = table_of(["b"], [1.0]), table_of(["a", "b"], [7.0, 3.0])
    found = moments(one, one.slice(0, 0), two)
    assert (found.classes.to_pylist(), found.means.tolist(), found.m2.tolist()) == (["a", "b"], [[7], [2]], [[0], [2]])


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (["b", "é", "B", "b"], ["B", "b", "é"]),
        ([True, False, True, True], [False, True]),
        ([2**62 + 1, 2**62, -5, -5], [-5, 2**62, 2**62 + 1]),
        ([0.0, -0.0, 3.0, -2.0], [-2.0, 0.0, 3.0]),
        (pa.array([7.0, 0.0, -0.0, 7.0], pa.float32()), [0.0, 7.0]),
        (pa.array([3, 1, 2, 255], pa.uint8()), [1, 2, 3, 255]),
    ],
    ids=["strings", "booleans", "integers", "floats", "float32", "uint8"],
)
def test_classes_are_ascending_in_the_type_of_the_label(label, expected):
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


@pytest.mark.parametrize(
    ("column", "bad", "problem"),
    [
        ("label", None, "null"),
        ("label", float("inf"), "infinite"),
        ("label", 0.5, "not whole"),
        ("x0", float("nan"), "null"),
        ("x0", float("-inf"), "infinite"),
        ("x1", -1e151, "too large"),
        ("w", None, "null"),
        ("w", -1.0, "negative"),
        ("w", float("inf"), "infinite"),
    ],
)
def test_what_is_no_value_is_refused_with_column_and_count(column, bad, problem):
    table = table_of(np.arange(6.0) % 2, np.arange(12.0).reshape(6, 2), np.ones(6))
    values = table[column].to_pylist()
    values[1] = values[4] = bad
    table = table.set_column(table.column_names.index(column), column, pa.array(values, pa.float64()))
    with pytest.raises(DataValueError, match=f"column '{column}' has 2 values that are {problem}") as caught:
        moments(*cut(table, 3))
    rows = frames.from_arrow(table.append_column("place", pa.array(range(6))))
    assert rows.filter(caught.value.predicate)["place"].to_list() == [1, 4]


@pytest.mark.parametrize("parts", [1, 2])
def test_more_classes_than_the_limit_are_refused(parts):
    table = table_of(np.arange(6), np.arange(6))
    assert len(moments(table, limit=6).classes) == 6
    with pytest.raises(DataValueError, match="'label' has 6 or more distinct values, expected at most 5 classes"):
        moments(*cut(table, 3)[:parts] if parts == 2 else [table], limit=5)


def test_a_state_survives_a_journey():
    label, x, weight = sample()
    table = table_of(label, x, weight)
    state = pickle.loads(pickle.dumps(state_of(table)))
    assert statistic_of(table).finish(state).sums.tolist() == moments(table).sums.tolist()


@pytest.mark.parametrize(
    ("columns", "options"), [(("label",), {}), (("label", "w"), {"weighted": True}), (("label", "x"), {"limit": 0})]
)
def test_wrong_options_are_refused_when_they_are_given(columns, options):
    with pytest.raises(ConfigError, match=r"columns are|limit is 0"):
        ClassMoments(columns, **options)
