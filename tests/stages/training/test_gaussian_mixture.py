"""Gaussian mixture against scikit-learn: the best of its initialisations or better."""

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from sklearn import mixture as sk
from sklearn.datasets import load_iris

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.training.clustering._mixture import shares

NAMES = ("a", "b")


def sample() -> np.ndarray:
    """Return rows of three components that overlap a little, in features of other sizes, in no order."""
    draw = np.random.default_rng(0)
    parts = [
        draw.normal(size=(160, 2)) @ [[1, 0.5], [0, 1]],
        draw.normal(size=(120, 2)) * [0.5, 2] + [4, 4],
        draw.normal(size=(80, 2)) + np.array([-3, 5]),
    ]
    return draw.permutation(np.concatenate(parts)) * [10, 0.1] + [100, 0]


X = sample()


def dataset(engine: Engine, x: np.ndarray = X, size: int = 2000, **more: Any) -> Dataset:
    table = dict(zip(NAMES, x.T, strict=True))
    return engine.from_arrow(pa.table({**table, **more}), fragment_bytes=size)


def fitted(engine: Engine, x: np.ndarray = X, *, more: dict[str, Any] | None = None, **options: Any) -> PipelineModel:
    stage = st.GaussianMixture(NAMES, **{"k": 3, "reg_covar": 0.0, **options})
    return Pipeline(stage).fit(dataset(engine, x, **(more or {})))


def parameters(model: PipelineModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    learned = model.fitted[0]
    means, rows = (np.column_stack([learned[key][name] for name in NAMES]) for key in ("means", "covariances"))
    return np.array(learned["weights"]), means, rows.reshape(-1, 2, 2)


def likelihood(x: np.ndarray, weights: Any, means: Any, covariances: Any) -> float:
    parts = zip(weights, means, covariances, strict=True)
    return float(np.log(sum(w * stats.multivariate_normal(m, c).pdf(x) for w, m, c in parts)).sum())


# Other libraries


@pytest.fixture
def oracle(local: Engine) -> Any:
    """Return scikit-learn's mixture after some steps from where ours begins."""

    def after(steps: int) -> sk.GaussianMixture:
        weights, means, covariances = parameters(fitted(local, max_iter=0))
        made = sk.GaussianMixture(
            3, weights_init=weights, means_init=means, precisions_init=np.linalg.inv(covariances), reg_covar=0,
            tol=0, max_iter=steps,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it has not converged
            return made.fit(X)

    return after


@pytest.mark.thorough
@pytest.mark.parametrize("steps", [1, 30])
def test_after_the_same_steps_all_is_as_in_scikit_learn(local: Engine, oracle: Any, steps: int) -> None:
    theirs, model = oracle(steps), fitted(local, tol=0.0, max_iter=steps)
    found = parameters(model)
    for ours, expected in zip(found, (theirs.weights_, theirs.means_, theirs.covariances_), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-8)
    assert model.fitted[0]["log_likelihood"] == pytest.approx(theirs.score(X) * len(X), rel=1e-9)
    assert model.fitted[0]["log_likelihood"] == pytest.approx(likelihood(X, *found), rel=1e-9)
    scored = model.transform(dataset(local)).to_arrow()
    np.testing.assert_allclose(scored["probability"].to_pylist(), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(scored["prediction"], theirs.predict(X))


def few_points() -> dict[str, tuple[np.ndarray, int]]:
    """Return the data that documentation of scikit-learn and MLlib fits mixtures to, and for how many components."""
    draws = [
        [-0.6264538, 0.1836433, -0.8356286, 1.5952808, 0.3295078, -0.8204684, 0.4874291, 0.7383247, 0.5757814],
        [-0.3053884, 1.5117812, 0.3898432, -0.6212406, -2.2146999, 11.1249309, 9.9550664, 9.9838097, 10.9438362],
        [10.8212212, 10.5939013, 10.9189774, 10.7821363, 10.0745650, 8.0106483, 10.6198257, 9.9438713, 9.8442045],
        [8.5292476, 9.5218499, 10.4179416],
    ]
    return {
        "two blobs": (np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]], dtype=float), 2),
        "iris": (load_iris().data, 3),
        "three pairs": (np.array([[-10, -5], [-1, -10], [90, 80], [75, 93.5], [-83, -68], [-91, -76]]) / 100, 3),
        "two normals": (np.concatenate([np.array(part) for part in draws]).reshape(-1, 2), 2),
    }


@pytest.mark.thorough
def test_every_seed_reaches_the_best_that_scikit_learn_reaches(local: Engine, subtests: Any) -> None:
    for name, (x, k) in few_points().items():
        size = x.std(axis=0)
        z = (x - x.mean(axis=0)) / size  # where scikit-learn's reg_covar is in our units
        tries = [sk.GaussianMixture(k, reg_covar=1e-6, tol=1e-6, max_iter=500, random_state=seed) for seed in range(4)]
        best = max(each.fit(z).score(z) for each in tries) * len(x) - len(x) * np.log(size).sum()
        data = local.from_arrow(pa.table({f"x{place}": column for place, column in enumerate(x.T)}))
        with subtests.test(name):
            models = [Pipeline(st.GaussianMixture(k=k, seed=seed)).fit(data) for seed in range(4)]
            assert min(model.fitted[0]["log_likelihood"] for model in models) > best - 0.1


def test_a_feature_in_small_units_tells_components_apart(local: Engine) -> None:
    draw = np.random.default_rng(3)
    x = np.column_stack([draw.normal(size=400) * 1000, draw.normal(size=400) / 1000 + np.arange(400) % 2])
    model = Pipeline(st.GaussianMixture(NAMES, k=2)).fit(dataset(local, x))
    assert sorted(parameters(model)[1][:, 1].round(3)) == [0, 1]


@pytest.mark.thorough
def test_weights_count_as_repeated_rows(local: Engine) -> None:
    repeats = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = fitted(local, more={"w": repeats.astype(float)}, weight="w", tol=1e-6)
    repeated = fitted(local, X.repeat(repeats, axis=0), tol=1e-6)
    for ours, expected in zip(parameters(weighted), parameters(repeated), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-8)
    assert weighted.fitted[0]["log_likelihood"] == pytest.approx(repeated.fitted[0]["log_likelihood"], rel=1e-9)


# Steps


@pytest.mark.thorough
def test_every_step_raises_the_likelihood(local: Engine) -> None:
    found = [fitted(local, tol=0.0, max_iter=steps).fitted[0]["log_likelihood"] for steps in range(6)]
    assert found == sorted(found)


@pytest.mark.thorough
def test_it_stops_once_a_step_changes_little(local: Engine) -> None:
    found = fitted(local, tol=0.01).fitted[0]
    before = fitted(local, tol=0.01, max_iter=found["iterations"] - 1).fitted[0]
    assert found["converged"]
    assert not before["converged"]
    assert found["log_likelihood"] - before["log_likelihood"] < 0.01


def test_shares_of_densities_that_underflow_are_shares() -> None:
    likely, logs = shares(np.array([[-2000.0, -1e5], [-2001.0, -1e5]]))
    np.testing.assert_allclose(likely[:, 0], [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])
    np.testing.assert_allclose(logs, [-2000 + np.log1p(np.exp(-1)), -1e5 + np.log(2)])


def test_a_component_cannot_shrink_to_a_point(local: Engine) -> None:
    x = np.concatenate([X, [[400.0, 9.0]] * 5])
    weights, means, covariances = parameters(fitted(local, x, k=4, reg_covar=1e-4))
    place = int(np.argmin(np.abs(means[:, 0] - 400)))
    assert weights[place] == pytest.approx(5 / len(x))
    np.testing.assert_allclose(covariances[place], np.diag(1e-4 * x.var(axis=0)), atol=1e-9)


def test_a_component_that_collapses_is_told(local: Engine) -> None:
    x = np.concatenate([X, [[400.0, 9.0]] * 5])
    with pytest.raises(DataValueError, match="a component has collapsed") as caught:
        fitted(local, x, k=4)
    assert "reg_covar" in str(caught.value.hint)


def test_there_are_no_more_components_than_points(local: Engine) -> None:
    found = fitted(local, np.array([[0.0, 1.0], [4.0, 2.0]] * 5), k=4, reg_covar=1e-3).fitted[0]
    assert len(found["weights"]) == 2


# Scoring, and what is refused


def test_a_row_that_is_too_far_to_compare_is_refused(local: Engine) -> None:
    with pytest.raises(DataValueError, match=r"1 row\(s\) are so far from all components"):
        fitted(local).transform(dataset(local, np.array([[1e200, 0.0], [100.0, 0.0]]))).to_arrow()


def test_a_wrong_parameter_is_refused_when_it_is_given() -> None:
    for name, value in {"k": 1, "max_iter": -1, "tol": -1, "reg_covar": -1, "seed": 0.5}.items():
        with pytest.raises(ConfigError, match=name):
            st.GaussianMixture(NAMES, **{name: value})
