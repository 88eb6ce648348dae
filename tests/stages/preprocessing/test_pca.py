"""PCA against scikit-learn and closed forms."""

import math

import numpy as np
import pyarrow as pa
import pytest
import sklearn.decomposition

import penstock as ps
from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.stages import PCA, StandardScaler

WIDTH = 5
NAMES = [f"x{place}" for place in range(WIDTH)]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(400, WIDTH)) @ RNG.normal(size=(WIDTH, WIDTH)) + RNG.normal(size=WIDTH) * 10


def table(x: np.ndarray, names: list[str] = NAMES) -> pa.Table:
    return pa.table(dict(zip(names, x.T, strict=False)))


def scores(made: pa.Table, k: int) -> np.ndarray:
    return np.column_stack([made[f"pca_{place}"].to_numpy() for place in range(k)])


def test_agrees_with_scikit_learn_signs_included(apply, subtests):
    for whiten in [False, True]:
        with subtests.test(whiten=whiten):
            oracle = sklearn.decomposition.PCA(3, whiten=whiten, svd_solver="full").fit(X)
            made = apply(PCA(NAMES, 3, whiten=whiten), table(X[:100]), table(X[100:]))
            np.testing.assert_allclose(scores(made, 3), oracle.transform(X[:100]), rtol=1e-10, atol=1e-11)


def test_what_is_learned_is_what_scikit_learn_learns(learn):
    oracle = sklearn.decomposition.PCA(WIDTH, svd_solver="full").fit(X)
    _, fitted = learn(PCA(NAMES, WIDTH), table(X[:7]), table(X[7:]))
    assert list(fitted) == ["mean", "components", "explained_variance", "explained_variance_ratio"]
    for name, value in fitted.items():
        np.testing.assert_allclose(value, getattr(oracle, f"{name}_"), rtol=1e-11, atol=1e-12)


def test_columns_in_units_far_apart_lose_nothing_beside_each_other(learn, rng):
    x = rng.normal(size=(1000, 4)) @ rng.normal(size=(4, 4)) * [1e-5, 1e-5, 1.0, 1e5]
    expected = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2 / 999
    _, fitted = learn(PCA(list("abcd"), 4), table(x, list("abcd")))
    np.testing.assert_allclose(fitted["explained_variance"], expected, rtol=1e-5)


def test_a_column_that_others_explain_up_to_rounding_adds_no_direction(learn, rng):
    x = rng.normal(size=(200, 2)) @ [[0.1, 0.7, 1.3], [1.1, 0.3, 0.9]]
    _, fitted = learn(PCA(["a", "b", "c"], 3), table(x, ["a", "b", "c"]))
    assert (fitted["components"][2], fitted["explained_variance"][2]) == ([0.0] * 3, 0.0)
    assert sum(fitted["explained_variance_ratio"]) == pytest.approx(1.0, rel=1e-12)


def test_a_large_mean_costs_no_accuracy(learn):
    oracle = sklearn.decomposition.PCA(2, svd_solver="full").fit(X)
    _, fitted = learn(PCA(NAMES, 2), table(X[:200] + 2.0**20), table(X[200:] + 2.0**20))
    np.testing.assert_allclose(fitted["components"], oracle.components_, rtol=1e-8)


def test_of_equal_loadings_the_first_is_positive(learn):
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=(50, 2)) @ [[1, -0.6], [0, 0.8]]
        standard = (x - x.mean(axis=0)) / x.std(axis=0)
        _, fitted = learn(PCA(["a", "b"], 2), table(standard, ["a", "b"]))
        np.testing.assert_allclose(np.abs(fitted["components"]), math.sqrt(0.5), rtol=1e-9)
        assert all(first > 0 for first, _ in fitted["components"])


def test_directions_in_which_nothing_varies_are_zero(learn, apply, rng):
    x = rng.normal(size=(30, 1)) * [1.0, 2.0, 0.0] + [0.0, 0.0, 5.0]
    _, fitted = learn(PCA(["a", "b", "c"], 3), table(x, ["a", "b", "c"]))
    np.testing.assert_allclose(fitted["components"][0], [math.sqrt(0.2), math.sqrt(0.8), 0.0], rtol=1e-12)
    assert fitted["components"][1:] == [[0.0] * 3] * 2
    assert fitted["explained_variance"][1:] == [0.0, 0.0]
    made = apply(PCA(["a", "b", "c"], 3, whiten=True), table(x, ["a", "b", "c"]))
    assert set(made["pca_2"].to_pylist()) == {0.0}
    assert np.var(made["pca_0"].to_numpy(), ddof=1) == pytest.approx(1.0, rel=1e-12)


def test_one_row_becomes_zeros(learn, apply):
    one = pa.table({"a": [5.0], "b": [7.0]})
    assert learn(PCA(["a", "b"], 2), one)[1]["explained_variance_ratio"] == [0.0, 0.0]
    assert scores(apply(PCA(["a", "b"], 2), one), 2).tolist() == [[0.0, 0.0]]


def test_scaled_columns_have_a_mean_of_zero_and_not_its_rounding(local):
    model = ps.Pipeline(StandardScaler(NAMES), PCA(NAMES, 2)).fit(local.from_arrow(table(X)))
    assert model.fitted[1]["mean"] == [0.0] * WIDTH


def test_a_row_gets_the_same_to_the_bit_whatever_rows_are_around_it(learn, rng):
    x = rng.normal(size=(70_000, WIDTH))  # more than are worked on together
    bound, fitted = learn(PCA(NAMES, 3), table(x))
    together = scores(frames.to_arrow(bound.transform(frames.from_arrow(table(x)), fitted)), 3)
    for part in (slice(0, 1), slice(21_840, 21_850), slice(65_530, 70_000)):
        alone = scores(frames.to_arrow(bound.transform(frames.from_arrow(table(x[part])), fitted)), 3)
        assert (alone == together[part]).all()


def test_a_row_with_a_null_has_nulls_and_others_have_none(learn):
    bound, fitted = learn(PCA(NAMES, 2), table(X))
    given = frames.from_arrow(pa.table({name: [1.0, None if name == "x3" else 1.0] for name in NAMES}))
    made = bound.transform(given, fitted)
    assert made["pca_0"].is_null().to_list() == made["pca_1"].is_null().to_list() == [False, True]


def test_an_infinity_beside_a_null_is_refused_in_a_row_as_in_a_frame(local):
    model = ps.Pipeline(PCA(("a", "b"), 1)).fit(local.from_arrow(pa.table({"a": [0.0, 1.0], "b": [1.0, 3.0]})))
    rows = local.from_arrow(pa.table({"a": pa.array([None], pa.float64()), "b": [math.inf]}))
    for score in (lambda: model.predict({"a": None, "b": math.inf}), lambda: model.transform(rows).to_arrow()):
        with pytest.raises(DataValueError, match="column 'b' has 1"):
            score()


def test_more_components_than_columns_are_refused():
    with pytest.raises(ConfigError, match="k of PCA is 3, expected at most 2, the number of columns"):
        PCA(["a", "b"], 3).bind(pa.schema({"a": pa.int64(), "b": pa.int64()}))
    with pytest.raises(ConfigError, match="k of PCA is 0"):
        PCA(["a", "b"], 0)
