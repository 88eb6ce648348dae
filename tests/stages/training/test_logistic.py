"""Logistic regression against MLlib and scikit-learn: notes of training, refusals."""

import math
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from class_scores import scored
from mllib_metrics import frame_of
from sklearn import linear_model

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.training.exact.sums import Split
from penstock.stages.training.linear import _quasi_newton
from penstock.stages.training.linear import logistic_regression as logistic
from penstock.stages.training.linear._quasi_newton import Course, Descent
from penstock.testing import LocalGang

ROWS, WIDTH = 400, 4
TIGHT = {"tol": 1e-10, "max_iter": 1000}
PENALTIES = [(0.0, 0.0), (0.02, 0.0), (0.02, 1.0), (0.05, 0.5)]


def sample(classes: int, *, scaled: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features (standardised, or of many sizes), labels 0, 1, ... and weights."""
    draw = np.random.default_rng(11)
    x = draw.normal(size=(ROWS, WIDTH))
    score = x @ [1.5, -1.0, 0.3, 0.0] + draw.logistic(size=ROWS)
    label = np.digitize(score, np.linspace(-1, 1, classes - 1) if classes > 2 else [0.4])
    x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    return (x if scaled else x * [0.01, 3, 50, 1] + [0, 7, -200, 0.5]), label, draw.integers(1, 4, ROWS) / 2


def dataset(engine: Engine, x: np.ndarray, **columns: Any) -> Dataset:
    table = {f"f{place}": values for place, values in enumerate(x.T)}
    return engine.from_arrow(pa.table({**table, **columns}), fragment_bytes=6000)


def fitted(engine: Engine, x: np.ndarray, label: Any, weight: Any = None, **options: Any) -> PipelineModel:
    more = {} if weight is None else {"w": weight}
    stage = st.LogisticRegression("label", weight=None if weight is None else "w", **{**TIGHT, **options})
    return Pipeline(stage).fit(dataset(engine, x, label=label, **more))


def coefficients(model: PipelineModel) -> np.ndarray:
    table = model.fitted[-1]["coefficients"]
    return np.stack([table[f"f{place}"].to_numpy() for place in range(WIDTH)], axis=1)


def intercepts(model: PipelineModel) -> np.ndarray:
    return np.array(model.fitted[-1]["intercepts"])


# scikit-learn: C is 1 / (n * reg_param), on features that are standardised already


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_are_those_of_scikit_learn(local, subtests, classes):
    x, label, weights = sample(classes, scaled=True)
    for place, (reg_param, l1_ratio) in enumerate(PENALTIES):
        weight = weights if (classes + place) % 2 else None
        total = ROWS if weight is None else weight.sum()
        oracle = linear_model.LogisticRegression(
            C=1 / (total * reg_param) if reg_param else np.inf, l1_ratio=l1_ratio, tol=1e-11, max_iter=20_000,
            solver="saga" if l1_ratio else "newton-cg", random_state=0,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newton-cg says that its line search ends in rounding
            oracle.fit(x, label, sample_weight=weight)
        with subtests.test(reg_param=reg_param, l1_ratio=l1_ratio):
            options = {"reg_param": reg_param, "elastic_net_param": l1_ratio, "standardization": False}
            model, centre = fitted(local, x, label, weight, **options), classes > 2
            expected = oracle.coef_ - (oracle.coef_.mean(axis=0) if centre and not reg_param else 0)
            assert model.fitted[0]["converged"]
            np.testing.assert_allclose(coefficients(model), expected, atol=1e-6)
            intercept = oracle.intercept_ - (oracle.intercept_.mean() if centre else 0)
            np.testing.assert_allclose(intercepts(model), intercept, atol=1e-6)
            probability, found = oracle.predict_proba(x), scored(model, dataset(local, x))
            np.testing.assert_allclose(found[1], probability if centre else probability[:, 1], atol=1e-6)
            np.testing.assert_array_equal(found[2], oracle.predict(x))


def test_deviations_with_weights_are_those_that_are_documented(local):
    x, label, weight = sample(2)
    total = weight.sum()
    squares = (weight[:, None] * (x - np.average(x, axis=0, weights=weight)) ** 2).sum(axis=0)
    scaled = x / np.sqrt(squares / (total - (weight**2).sum() / total))
    oracle = linear_model.LogisticRegression(C=1 / (total * 0.3), tol=1e-11, max_iter=20_000)
    oracle.fit(scaled - scaled.mean(axis=0), label, sample_weight=weight)
    found = coefficients(fitted(local, x, label, weight, reg_param=0.3))
    np.testing.assert_allclose(found * (x[0] / scaled[0]), oracle.coef_, atol=1e-7)


@pytest.mark.parametrize(("classes", "weighted"), [(2, False), (3, False), (3, True)])
def test_the_inverse_hessian_is_that_of_the_objective_at_the_start(local, monkeypatch, classes, weighted):
    x, label, weight = sample(classes)
    found = {}

    def begun(course: Course, *, inverse: Any, **options: Any) -> Descent[Course]:
        hessian = []
        for step in 1e-4 * np.eye(len(course.x)):
            above, below = (yield course.x + step), (yield course.x - step)
            hessian.append(above[1] - below[1])
        found["product"] = np.array([inverse(row) for row in np.array(hessian) / 2e-4])
        return (yield from _quasi_newton.descend(course, inverse=inverse, **options))

    monkeypatch.setattr(logistic, "descend", begun)
    fitted(local, x, label, weight if weighted else None)
    width = WIDTH + 1
    expected = np.eye(width)
    if classes > 2:  # of a vector less its mean over the classes, which is what a gradient is
        shares = np.bincount(label, weight if weighted else None) / (weight.sum() if weighted else ROWS)
        expected = np.kron(np.eye(3) - shares[:, None], np.eye(width))
    np.testing.assert_allclose(found["product"], expected, atol=1e-6)


def test_correlated_features_take_a_few_iterations(local):
    draw = np.random.default_rng(2)
    x = draw.normal(size=(ROWS, 1)) + 0.01 * draw.normal(size=(ROWS, WIDTH))  # correlations of 0.9999
    label = (x[:, 0] + 0.01 * x[:, 1] + draw.logistic(size=ROWS) > 0).astype(int)
    learned = fitted(local, x, label).fitted[0]
    assert learned["converged"]
    assert learned["iterations"] <= 8


def test_features_that_are_the_same_share_their_coefficient(local):
    x, label, _ = sample(2, scaled=True)
    x[:, 1] = x[:, 0]
    found = coefficients(fitted(local, x, label))[0]
    alone = linear_model.LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-11, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone.fit(x[:, [0, 2, 3]], label)
    np.testing.assert_allclose(found, alone.coef_[0, [0, 0, 1, 2]] * [0.5, 0.5, 1, 1], atol=1e-6)


# MLlib


MLLIBS = [  # classes, family, reg_param, l1_ratio, standardization, fit_intercept, weighted
    (2, "auto", 0.02, 0.5, False, True, False),
    (2, "auto", 0.05, 0.0, True, False, True),
    (2, "multinomial", 0.05, 0.0, True, True, False),
    (3, "auto", 0.0, 0.0, True, True, True),
    (3, "auto", 0.05, 0.0, False, False, False),
]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_everything_is_as_in_mllib(local, spark, subtests):
    from pyspark.ml.classification import LogisticRegression

    # Sizes and means so near each other that MLlib needs few rounds also where it does not scale or centre.
    samples = {
        classes: (x * [0.8, 1.25, 1.5, 1] + [0, 0.5, -1, 0.5], label, weight)
        for classes in (2, 3)
        for x, label, weight in [sample(classes, scaled=True)]
    }
    frames = {
        classes: frame_of(spark, {"features": x.tolist(), "label": label.astype(float), "w": weight})
        for classes, (x, label, weight) in samples.items()
    }
    for classes, family, reg_param, l1_ratio, standardization, fit_intercept, weighted in MLLIBS:
        x, label, weight = samples[classes]
        used = weight if weighted else None
        theirs = LogisticRegression(
            maxIter=1000, tol=1e-12, family=family, regParam=reg_param, elasticNetParam=l1_ratio,
            standardization=standardization, fitIntercept=fit_intercept, **({"weightCol": "w"} if weighted else {}),
        ).fit(frames[classes])  # fmt: skip
        rows = theirs.transform(frames[classes]).select("rawPrediction", "probability", "prediction").collect()
        options = {"family": family, "reg_param": reg_param, "elastic_net_param": l1_ratio}
        options |= {"standardization": standardization, "fit_intercept": fit_intercept}
        with subtests.test(classes=classes, **options):
            model = fitted(local, x, label, used, **options)
            scale = x.std(axis=0, ddof=1)
            assert model.fitted[0]["converged"]
            expected = theirs.coefficientMatrix.toArray()
            np.testing.assert_allclose(coefficients(model) * scale, expected * scale, atol=1e-6)
            raw, probability, prediction = (
                np.array([np.asarray(row[name].toArray() if place < 2 else row[name]) for row in rows])
                for place, name in enumerate(("rawPrediction", "probability", "prediction"))
            )
            found, two = scored(model, dataset(local, x)), classes == 2
            difference = raw[:, 1] - raw[:, 0] if family == "multinomial" else raw[:, 1]
            np.testing.assert_allclose(found[0], difference if two else raw, atol=1e-5)
            np.testing.assert_allclose(found[1], probability[:, 1] if two else probability, atol=1e-6)
            np.testing.assert_array_equal(found[2], prediction)
            history, objective = model.fitted[0]["objective_history"], theirs.summary.objectiveHistory[-1]
            assert history[-1] <= objective + 1e-12
            assert history[-1] == pytest.approx(objective, rel=1e-9)


# Closed forms


def test_without_an_intercept_and_one_binary_feature_the_coefficient_is_the_log_odds(local):
    data = local.from_arrow(pa.table({"x": [1.0] * 8 + [0.0] * 4, "label": [1] * 6 + [0] * 2 + [0, 1] * 2}))
    model = Pipeline(st.LogisticRegression("label", fit_intercept=False, tol=1e-12)).fit(data)
    assert model.fitted[0]["coefficients"]["x"].to_pylist() == [pytest.approx(np.log(3), abs=1e-10)]
    assert model.fitted[0]["intercepts"] == [0.0]


def test_a_constant_feature_has_coefficient_0_and_is_named(local):
    x, label, _ = sample(2)
    x[:, 2] = 0.1
    model = fitted(local, x, label)
    assert model.fitted[0]["constant_features"] == ["f2"]
    assert coefficients(model)[0, 2] == 0.0
    without = Pipeline(st.LogisticRegression("label", features=["f0", "f1", "f3"], **TIGHT))
    rest = without.fit(dataset(local, x, label=label)).fitted[0]
    np.testing.assert_allclose(intercepts(model), rest["intercepts"], rtol=1e-9)


def test_only_constant_features_give_the_odds_of_the_classes(local):
    data = local.from_arrow(pa.table({"x": [5.0] * 4, "label": ["a", "b", "b", "b"]}))
    model = Pipeline(st.LogisticRegression("label")).fit(data)
    assert model.fitted[0]["intercepts"] == [pytest.approx(np.log(3))]
    assert model.transform(data).to_arrow()["prediction"].to_pylist() == ["b"] * 4


def test_features_far_from_zero_cost_no_digits(local):
    x, label, _ = sample(2, scaled=True)
    near, far = fitted(local, x, label), fitted(local, x + 1e8, label)
    np.testing.assert_allclose(coefficients(far), coefficients(near), rtol=1e-6)
    assert far.fitted[0]["converged"]


# Sums


def test_sums_are_equal_to_the_bit_in_any_order(monkeypatch):
    draw = np.random.default_rng(1)
    terms = draw.normal(size=(3, 5000)) * 10.0 ** draw.integers(-12, 3, size=(3, 5000))
    bound = np.abs(terms).max(axis=1)
    split = Split.of(bound, 5000, "cpu")
    whole = split.sums(terms)
    shuffled = terms[:, draw.permutation(5000)]
    parts = [split.sums(part) for part in np.array_split(shuffled, 7, axis=1)]
    np.testing.assert_array_equal(sum(parts), whole)
    np.testing.assert_allclose(whole.sum(axis=0), [math.fsum(row) for row in terms], rtol=1e-15)


# What is told of the outcome


def test_too_few_iterations_are_recorded_and_told(local):
    x, label, _ = sample(3)
    gang = LocalGang(1)
    [learned] = gang.train(st.LogisticRegression("label", **{**TIGHT, "max_iter": 2}), dataset(local, x, label=label))
    assert (learned["converged"], learned["iterations"], len(learned["objective_history"])) == (False, 2, 3)
    assert any(detail.endswith("not converged") for _, detail in gang.reports[0])


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
def test_separable_classes_without_a_penalty_end_and_are_told(local, classes):
    x, _, _ = sample(2, scaled=True)
    label = np.digitize(x[:, 0], [-0.5, 0.5][: classes - 1])
    model, gang = fitted(local, x, label, tol=1e-6, max_iter=60), LocalGang(1)
    [learned] = gang.train(model.stages[0], dataset(local, x, label=label))
    assert learned == model.fitted[0]
    assert not learned["converged"]
    assert learned["iterations"] <= 60
    assert learned["objective_history"][-1] < 1e-3
    assert any("coefficients grow without bound" in detail for _, detail in gang.reports[0])
    np.testing.assert_array_equal(scored(model, dataset(local, x))[2], label)


def test_the_history_starts_with_the_entropy_of_the_labels(local):
    x, label, _ = sample(3)
    learned = fitted(local, x, label).fitted[0]
    share = np.bincount(label) / ROWS
    assert learned["objective_history"][0] == pytest.approx(-(share * np.log(share)).sum(), rel=1e-12)
    assert len(learned["objective_history"]) == learned["iterations"] + 1


# Scoring


def test_the_threshold_decides_between_two_classes(local):
    x, label, _ = sample(2)
    for threshold, expected in ((0.0, 1), (1.0, 0)):
        model = fitted(local, x, label, threshold=threshold)
        assert set(scored(model, dataset(local, x))[2].tolist()) == {expected}


def test_probabilities_at_the_ends_are_0_and_1_without_overflow(local):
    x, label, _ = sample(2)
    model = fitted(local, x, label)
    probability = scored(model, dataset(local, np.array([[1e9, 0, 0, 0], [-1e9, 0, 0, 0]])))[1]
    assert probability.tolist() == [1.0, 0.0]


def test_features_whose_margins_overflow_are_refused_and_not_guessed(local):
    x, label, _ = sample(2)
    model = fitted(local, x, label)
    with pytest.raises(DataValueError, match=r"1 row\(s\) have features so large that their margins overflow"):
        model.transform(dataset(local, np.array([[1e308, 1e308, 0, 0], [0, 0, 0, 0]]))).to_arrow()


# What is refused


def test_more_classes_than_two_are_not_for_the_binomial_family(local):
    with pytest.raises(DataValueError, match=r"'label' has 400 class\(es\), expected 2 to 2"):
        fitted(local, sample(2)[0], pa.array(range(ROWS)), family="binomial")


def test_a_wrong_parameter_is_refused_when_it_is_given():
    wrong = {"family": "poisson", "reg_param": -1, "elastic_net_param": 1.5, "max_iter": 0, "tol": 0, "threshold": 2}
    for name, value in wrong.items():
        with pytest.raises(ConfigError, match=name):
            st.LogisticRegression("label", **{name: value})
