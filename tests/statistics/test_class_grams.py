"""Products by class, and fourth moments, against NumPy."""

import numpy as np
import pytest
from gathering import cut, gathered
from sklearn import covariance as sk

from penstock.statistics.class_grams import ClassGrams
from penstock.statistics.fourth_moments import FourthMoments
from penstock.statistics.shrinkage import shrunk_covariance

RNG = np.random.default_rng(3)
X = RNG.gamma(2.0, size=(600, 3)) @ RNG.normal(size=(3, 3))


def in_parts(statistic, columns, cuts=(0, 0, 100, 101, 350)):
    return gathered(statistic, *cut(columns, *cuts))


@pytest.mark.parametrize(("offset", "weighted"), [(0.0, False), (1e6, False), (0.0, True)])
def test_products_of_squares_are_numpys(offset, weighted):
    weight = RNG.uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    columns = {"a": X[:, 0] + offset, "b": X[:, 1] + offset, "c": X[:, 2] + offset, "w": weight}
    names = ("a", "b", "c", "w") if weighted else ("a", "b", "c")
    found = in_parts(FourthMoments(names, weighted=weighted), columns)
    near = np.column_stack([columns[name] for name in "abc"]) - offset
    near -= np.average(near, axis=0, weights=weight)
    expected = (near**2 * weight[:, None]).T @ near**2
    np.testing.assert_allclose(found.squares, expected, rtol=1e-8 if offset else 1e-12)
    np.testing.assert_allclose(found.cross, (near * weight[:, None]).T @ near, rtol=1e-8)


def test_each_class_has_the_products_of_its_rows():
    label = RNG.choice(["b", "a", "ö"], len(X))
    found = in_parts(ClassGrams(("label", "x", "y")), {"label": label, "x": X[:, 0], "y": X[:, 1]})
    assert found.classes.to_pylist() == ["a", "b", "ö"]
    for value, products in zip(found.classes.to_pylist(), found.products, strict=True):
        rows = X[label == value, :2]
        np.testing.assert_allclose(products.mean, rows.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(products.covariance(ddof=1), np.cov(rows.T), rtol=1e-12)
    np.testing.assert_allclose(found.shares, np.unique(label, return_counts=True)[1] / len(X))


def test_minus_zero_is_a_class_with_zero_and_weight_zero_is_none():
    columns = {"label": [0.0, -0.0, 1.0, 2.0], "x": [1.0, 3.0, 5.0, 7.0], "w": [1.0, 1.0, 1.0, 0.0]}
    found = gathered(ClassGrams(("label", "x", "w"), weighted=True), *cut(columns, 1))
    assert (found.classes.to_pylist(), found.rows) == ([0.0, 1.0], [2, 1])


@pytest.mark.parametrize("rows", [4, 600])
def test_shrunk_covariances_are_scikit_learns(rows):
    x = np.column_stack([X[:rows], np.full(rows, 0.5)])  # the last does not vary
    found = gathered(FourthMoments(tuple("abcd")), *cut(dict(zip("abcd", x.T, strict=True)), 2))
    deviations = np.array([*X[:rows].std(axis=0), 1.0])
    standard, units = (x - x.mean(axis=0)) / deviations, np.outer(deviations, deviations)
    np.testing.assert_allclose(shrunk_covariance(found, "auto"), units * sk.ledoit_wolf(standard)[0], rtol=1e-10)
    np.testing.assert_allclose(shrunk_covariance(found, "oas"), sk.oas(x)[0], rtol=1e-10)
    empirical = sk.empirical_covariance(x)
    np.testing.assert_allclose(shrunk_covariance(found, 0.4), sk.shrunk_covariance(empirical, 0.4), rtol=1e-10)
