"""TruncatedSVD against scikit-learn and NumPy."""

import numpy as np
import pyarrow as pa
import pytest
import sklearn.decomposition

from penstock.errors import ConfigError
from penstock.stages import TruncatedSVD

NAMES = ["a", "b", "c", "d"]
RNG = np.random.default_rng(5)
X = RNG.poisson([0.3, 1.0, 2.0, 0.1], size=(300, 4)).astype(float)


def table(x: np.ndarray) -> pa.Table:
    return pa.table(dict(zip(NAMES, x.T, strict=True)))


def scores(made: pa.Table, k: int) -> np.ndarray:
    return np.column_stack([made[f"svd_{place}"].to_numpy() for place in range(k)])


def test_agrees_with_scikit_learn_signs_included(apply, learn):
    oracle = sklearn.decomposition.TruncatedSVD(3, algorithm="arpack", tol=1e-15, random_state=0).fit(X)
    np.testing.assert_allclose(
        scores(apply(TruncatedSVD(NAMES, 3), table(X[:90]), table(X[90:])), 3), oracle.transform(X[:90]), atol=1e-11
    )
    _, fitted = learn(TruncatedSVD(NAMES, 3), table(X[:90]), table(X[90:]))
    assert list(fitted) == ["components", "singular_values", "explained_variance", "explained_variance_ratio"]
    for name, value in fitted.items():
        np.testing.assert_allclose(value, getattr(oracle, f"{name}_"), rtol=1e-9, atol=1e-11)


def test_deviations_are_not_swallowed_by_a_mean_far_from_zero(learn):
    far = X + 2.0**27  # a float64 sum of their squares has no digits left for them
    _, fitted = learn(TruncatedSVD(NAMES, 4), table(far[:100]), table(far[100:]))
    np.testing.assert_allclose(fitted["singular_values"], np.linalg.svd(far, compute_uv=False), rtol=1e-6)


def test_directions_in_which_no_row_points_are_zero(learn, apply, rng):
    x = rng.normal(size=(20, 1)) * [3.0, 4.0, 0.0, 0.0]
    _, fitted = learn(TruncatedSVD(NAMES, 2), table(x))
    np.testing.assert_allclose(fitted["components"][0], [0.6, 0.8, 0.0, 0.0], rtol=1e-12)
    assert (fitted["components"][1], fitted["singular_values"][1]) == ([0.0] * 4, 0.0)
    assert set(scores(apply(TruncatedSVD(NAMES, 2), table(x)), 2)[:, 1]) == {0.0}


def test_rows_of_zeros_have_no_direction_at_all(apply):
    assert scores(apply(TruncatedSVD(NAMES, 2), table(np.zeros((3, 4)))), 2).tolist() == [[0.0, 0.0]] * 3


def test_more_vectors_than_columns_are_refused():
    with pytest.raises(ConfigError, match="k of TruncatedSVD is 5, expected at most 4, the number of columns"):
        TruncatedSVD(NAMES, 5).bind(table(X).schema)
