"""Discriminant analysis against scikit-learn and closed forms; what it refuses, and what it makes of odd rows."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from class_scores import scored
from sklearn import discriminant_analysis as sk
from sklearn.covariance import OAS

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.pipeline.model import PipelineModel

FEATURES = ("f0", "f1", "f2", "f3")
LINEAR, QUADRATIC = st.LinearDiscriminantAnalysis, st.QuadraticDiscriminantAnalysis


def sample(classes: int, rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return four features of different units, and labels of which the last class is rare."""
    rng = np.random.default_rng(1)
    label = np.minimum(rng.geometric(0.5, rows) - 1, classes - 1)
    mixed = rng.normal(size=(rows, 4)) @ rng.normal(size=(4, 4)) * (1 + label[:, None] / 2)
    return (mixed + label[:, None] * np.array([1.0, -0.5, 0.0, 2.0])) * np.array([1.0, 30.0, 0.1, 2.0]) + 5, label


def dataset(local: Engine, x: np.ndarray, label: Any, **more: Any) -> Dataset:
    """Return the features and more columns in four fragments."""
    table = pa.table({**dict(zip(FEATURES, x.T, strict=False)), "label": label, **more})
    return local.from_arrow(table, fragment_bytes=max(table.nbytes // 4, 1))


def fit(data: Dataset, kind: type, **options: Any) -> PipelineModel:
    features = tuple(name for name in data.columns if name in FEATURES)
    return ps.Pipeline(kind("label", features=features, **options)).fit(data)


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 4])
def test_linear_is_scikit_learns(local, classes, subtests):
    x, label = sample(classes)
    data = dataset(local, x, label)
    for priors, shrinkage in itertools.product([False, True], [None, 0.3, "auto", "oas"]):
        given = tuple(np.arange(1, classes + 1) / np.arange(1, classes + 1).sum()) if priors else None
        chosen: dict[str, Any] = {"covariance_estimator": OAS()} if shrinkage == "oas" else {"shrinkage": shrinkage}
        other = sk.LinearDiscriminantAnalysis(solver="lsqr", priors=given, **chosen).fit(x, label)
        with subtests.test(priors=priors, shrinkage=shrinkage):
            raw, probability, predicted = scored(fit(data, LINEAR, shrinkage=shrinkage, priors=given), data)
            shares, scores = other.predict_proba(x), other.decision_function(x)
            np.testing.assert_allclose(probability, shares[:, 1] if classes == 2 else shares, rtol=1e-9, atol=1e-12)
            assert predicted.tolist() == other.predict(x).tolist()
            if classes > 2:
                raw, scores = raw - raw[:, :1], scores - scores[:, :1]
            np.testing.assert_allclose(raw, scores, rtol=1e-8, atol=1e-9)


@pytest.mark.thorough
def test_quadratic_is_scikit_learns(local, subtests):
    for classes in (2, 4):
        x, label = sample(classes)
        data = dataset(local, x, label)
        for options in ({}, {"reg_param": 0.2}, {"priors": tuple(np.full(classes, 1 / classes))}):
            other = sk.QuadraticDiscriminantAnalysis(**options).fit(x, label)
            with subtests.test(classes=classes, **options):
                _, probability, predicted = scored(fit(data, QUADRATIC, **options), data)
                shares = other.predict_proba(x)
                shares = shares[:, 1] if classes == 2 else shares
                np.testing.assert_allclose(probability, shares, rtol=1e-8, atol=1e-12)
                assert predicted.tolist() == other.predict(x).tolist()


def test_shrunk_quadratic_is_scikit_learns(local):
    x, label = sample(3)
    data = dataset(local, x, label)
    for shrinkage in (0.1, "auto"):
        other = sk.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(x, label)
        _, probability, _ = scored(fit(data, QUADRATIC, shrinkage=shrinkage), data)
        np.testing.assert_allclose(probability, other.predict_proba(x), rtol=1e-8, atol=1e-12)


def test_coefficients_are_scikit_learns(local):
    x, label = sample(2)
    other = sk.LinearDiscriminantAnalysis(solver="lsqr").fit(x, label)
    table = fit(dataset(local, x, label), LINEAR).coefficients()
    assert table["feature"].to_pylist() == [*FEATURES, "(intercept)"]
    np.testing.assert_allclose(table["value"], [*other.coef_[0], *other.intercept_], rtol=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [LINEAR, QUADRATIC])
def test_whole_weights_are_repeated_rows_and_zero_is_none(local, kind):
    x, label = sample(3)
    times = np.arange(len(label)) % 3
    options: dict[str, Any] = {"shrinkage": 0.1}
    weighed = fit(dataset(local, x, label, w=times.astype(float)), kind, weight="w", **options)
    repeated = fit(dataset(local, np.repeat(x, times, axis=0), np.repeat(label, times)), kind, **options)
    data = dataset(local, x, label)
    np.testing.assert_allclose(scored(weighed, data)[1], scored(repeated, data)[1], rtol=1e-9, atol=1e-12)


@pytest.mark.thorough
def test_data_far_from_zero_lose_nothing(local):
    x = np.round(sample(2)[0] * 64) / 64  # so that no bit is lost in adding
    label = sample(2)[1]
    near, far = dataset(local, x, label), dataset(local, x + 2.0**20, label)
    expected = scored(fit(near, LINEAR, shrinkage="auto"), near)[1]
    np.testing.assert_allclose(scored(fit(far, LINEAR, shrinkage="auto"), far)[1], expected, rtol=1e-8)


@pytest.mark.thorough
def test_a_feature_constant_in_all_classes_takes_no_part(local):
    x, label = sample(2)
    x[:, 2] = np.where(label == 1, 7.0, 3.0)
    data = dataset(local, x, label)
    model = fit(data, LINEAR)
    without = fit(data.select(["f0", "f1", "f3", "label"]), LINEAR)
    assert model.fitted[0]["constant"] == ["f2"]
    np.testing.assert_allclose(scored(model, data)[0], scored(without, data)[0], rtol=1e-9)


def test_wrong_parameters_are_refused():
    for options, message in (
        ({"shrinkage": 1.5}, "shrinkage of LinearDiscriminantAnalysis is 1.5, expected a number >= 0 and <= 1"),
        ({"shrinkage": "some"}, "shrinkage of LinearDiscriminantAnalysis is 'some', expected.*auto"),
        ({"priors": (0.5, 0.6)}, "priors of LinearDiscriminantAnalysis is .*with a sum of 1"),
        ({"priors": (0.0, 1.0)}, "expected a number above 0 for each class"),
    ):
        with pytest.raises(ConfigError, match=message):
            LINEAR("label", **options)


def test_priors_of_other_classes_are_refused(local):
    x, label = sample(3)
    with pytest.raises(ConfigError, match=r"priors of .* has 2 numbers, and label 'label' has 3 classes: 0, 1, 2"):
        fit(dataset(local, x, label), LINEAR, priors=(0.5, 0.5))


def test_features_that_vary_in_no_class_are_refused(local):
    with pytest.raises(DataValueError, match="no feature varies within a class: f0"):
        fit(dataset(local, np.array([[1.0, 1.0, 2.0, 2.0]]).T, [0, 0, 1, 1]), LINEAR)


def test_a_class_without_a_covariance_is_refused_unless_it_is_shrunk(local):
    for x, problem in (
        ([[1.0, 1.0, 2.0, 5.0]], "column 'f0' is constant in class 0 of 2"),
        ([[1.0, 2.0, 2.0, 5.0], [2.0, 4.0, 1.0, 9.0]], "features explain each other in class 0 of 2"),
    ):
        data = dataset(local, np.array(x).T, [0, 0, 1, 1])
        with pytest.raises(DataValueError, match=problem):
            fit(data, QUADRATIC)
        assert len(scored(fit(data, QUADRATIC, reg_param=0.1), data)[2]) == 4


def test_fourth_powers_that_overflow_are_refused_by_name(local):
    x, label = sample(2)
    x[7, 1] = 1e100
    with pytest.raises(DataValueError, match="column 'f1' has values so large that their fourth powers overflow") as e:
        fit(dataset(local, x, label), LINEAR, shrinkage="auto")
    assert (e.value.column, e.value.row) == ("f1", 7)
