"""Products by class, and fourth moments, against NumPy."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pyarrow as pa
import pytest
from sklearn import covariance as sk

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.statistics import Gram
from penstock.statistics.class_grams import ClassGrams
from penstock.statistics.fourth_moments import FourthMoments
from penstock.statistics.shrinkage import shrunk_covariance

RNG = np.random.default_rng(3)
X = RNG.gamma(2.0, size=(600, 3)) @ RNG.normal(size=(3, 3))


def gathered(statistic, columns, cuts=(100, 101, 350)):
    """Return the result of a statistic, of partitions that end at `cuts`; the first has no rows."""
    ends = [0, *cuts, len(next(iter(columns.values())))]
    table = pa.table(columns)
    parts = [table.slice(0, 0), *(table.slice(a, b - a) for a, b in itertools.pairwise(ends))]
    return statistic.finish(statistic.merge([statistic.summarise(frames.from_arrow(part)) for part in parts]))


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
def test_products_of_squares_are_numpys(offset, weighted):
    weight = RNG.uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    columns = {"a": X[:, 0] + offset, "b": X[:, 1] + offset, "c": X[:, 2] + offset, "w": weight}
    names = ("a", "b", "c", "w") if weighted else ("a", "b", "c")
    found = gathered(FourthMoments(names, weighted=weighted), columns)
    near = np.column_stack([columns[name] for name in "abc"]) - offset
    near -= np.average(near, axis=0, weights=weight)
    expected = (near**2 * weight[:, None]).T @ near**2
    np.testing.assert_allclose(found.squares, expected, rtol=1e-8 if offset else 1e-12)
    np.testing.assert_allclose(found.cross, (near * weight[:, None]).T @ near, rtol=1e-8)


def test_they_have_the_products_of_a_gram():
    columns = dict(zip("abc", X.T, strict=True))
    found, gram = (gathered(kind(("a", "b", "c")), columns) for kind in (FourthMoments, Gram))
    assert found.cross.tolist() == gram.cross.tolist()


def test_each_class_has_the_products_of_its_rows():
    label = RNG.choice(["b", "a", "ö"], len(X))
    found = gathered(ClassGrams(("label", "x", "y")), {"label": label, "x": X[:, 0], "y": X[:, 1]})
    assert found.classes.to_pylist() == ["a", "b", "ö"]
    for value, products in zip(found.classes.to_pylist(), found.products, strict=True):
        rows = X[label == value, :2]
        np.testing.assert_allclose(products.mean, rows.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(products.covariance(ddof=1), np.cov(rows.T), rtol=1e-12)
    np.testing.assert_allclose(found.shares, np.unique(label, return_counts=True)[1] / len(X))


def test_minus_zero_is_a_class_with_zero_and_weight_zero_is_none():
    columns = {"label": [0.0, -0.0, 1.0, 2.0], "x": [1.0, 3.0, 5.0, 7.0], "w": [1.0, 1.0, 1.0, 0.0]}
    found = gathered(ClassGrams(("label", "x", "w"), weighted=True), columns, cuts=(1,))
    assert (found.classes.to_pylist(), found.rows) == ([0.0, 1.0], [2, 1])


@pytest.mark.parametrize("labels", [[1.0, 1.5], [1.0, None], [1.0, float("inf")]])
def test_labels_that_are_no_classes_are_refused(labels):
    with pytest.raises(DataValueError, match="column 'label'"):
        gathered(ClassGrams(("label", "x")), {"label": labels, "x": [1.0, 2.0]}, cuts=(1,))


def test_too_many_classes_are_refused():
    with pytest.raises(DataValueError, match="column 'label' has 4 or more distinct values, expected at most 3"):
        gathered(ClassGrams(("label", "x"), limit=3), {"label": [1, 2, 3, 4], "x": [1.0] * 4}, cuts=(2,))


def test_no_features_are_refused():
    with pytest.raises(ConfigError, match=re.escape("expected (label, feature, ..., weight)")):
        ClassGrams(("label", "w"), weighted=True)


@pytest.mark.parametrize("rows", [4, 600])
def test_shrunk_covariances_are_scikit_learns(rows):
    columns = dict(zip("abc", X[:rows].T, strict=True))
    found = gathered(FourthMoments(("a", "b", "c")), columns, cuts=(2,))
    standard = (X[:rows] - X[:rows].mean(axis=0)) / X[:rows].std(axis=0)
    units = np.outer(X[:rows].std(axis=0), X[:rows].std(axis=0))
    np.testing.assert_allclose(shrunk_covariance(found, "auto"), units * sk.ledoit_wolf(standard)[0], rtol=1e-10)
    np.testing.assert_allclose(shrunk_covariance(found, "oas"), sk.oas(X[:rows])[0], rtol=1e-10)
    empirical = sk.empirical_covariance(X[:rows])
    np.testing.assert_allclose(shrunk_covariance(found, 0.4), sk.shrunk_covariance(empirical, 0.4), rtol=1e-10)
