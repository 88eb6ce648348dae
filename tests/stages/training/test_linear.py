"""Linear regression gives what scikit-learn, MLlib and closed forms give, in one scan."""

import itertools
import math
from math import nan
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from mllib_metrics import frame_of
from scipy import stats
from sklearn import linear_model
from sklearn.preprocessing import StandardScaler

from penstock import frames
from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.training.linear.linear_regression import regularisation_path
from penstock.statistics import Gram

NAMES = ("a", "b", "c", "d")


def sample(rows: int = 400, offset: float = 0.0, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return correlated features of several units, a label and weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4)) @ (np.eye(4) + 0.3) * [1.0, 10.0, 0.1, 3.0]
    y = x @ [2.0, -0.3, 4.0, 0.0] + rng.normal(size=rows) + 5
    return x + offset, y + offset, rng.exponential(size=rows)


def tables(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> pa.Table:
    columns = dict(zip(NAMES, x.T, strict=False)) | {"y": y}
    return pa.table(columns if weight is None else columns | {"w": weight})


def fitted(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None, parts: int = 3, **options: Any) -> Any:
    """Fit without an engine, from the statistics of `parts` partitions."""
    table = tables(x, y, weight)
    stage = st.LinearRegression("y", weight=None if weight is None else "w", **options).bind(table.schema)
    gram = stage.statistics(table.schema)["gram"]
    cuts = np.linspace(0, len(y), parts + 1).astype(int)
    pieces = [table.slice(low, high - low) for low, high in itertools.pairwise(cuts)]
    state = gram.merge([gram.summarise(frames.from_arrow(piece)) for piece in pieces])
    return stage.finish({"gram": gram.finish(state)})


def gram_of(x: np.ndarray, y: np.ndarray) -> Any:
    table = tables(x, y)
    gram = Gram(tuple(table.column_names))
    return gram.finish(gram.summarise(frames.from_arrow(table)))


def model_of(engine: Engine, table: pa.Table, **options: Any) -> PipelineModel:
    return Pipeline(st.LinearRegression("y", **options)).fit(engine.from_arrow(table))


def assert_fit(found: Any, oracle: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_allclose(found["coefficients"], np.ravel(oracle.coef_), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(found["intercept"], oracle.intercept_, rtol=rtol, atol=rtol)


# The coefficients are scikit-learn's.


def test_least_squares_and_ridge_are_scikit_learns(subtests: Any) -> None:
    x, y, weights = sample()
    for fit_intercept, weight in itertools.product([True, False], [None, weights]):
        deviation = math.sqrt(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
        size = len(y) if weight is None else weight.sum()
        with subtests.test(fit_intercept=fit_intercept, weighted=weight is not None):
            squares = linear_model.LinearRegression(fit_intercept=fit_intercept).fit(x, y, weight)
            assert_fit(fitted(x, y, weight, fit_intercept=fit_intercept), squares, 1e-11)
            ridge = linear_model.Ridge(alpha=7.0, fit_intercept=fit_intercept).fit(x, y, weight)
            options = {"reg_param": 7.0 * deviation / size, "fit_intercept": fit_intercept, "standardization": False}
            assert_fit(fitted(x, y, weight, **options), ridge)


def test_far_from_zero_nothing_is_lost() -> None:
    x, y, _ = (np.round(each, 3) for each in sample())
    near, far = fitted(x, y), fitted(x + 1e6, y + 1e6)
    np.testing.assert_allclose(far["coefficients"], near["coefficients"], rtol=1e-8, atol=1e-8)
    errors = [each["summary"]["coefficient_standard_errors"][:-1] for each in (far, near)]
    np.testing.assert_allclose(*errors, rtol=1e-8)


def test_lasso_is_scikit_learns(subtests: Any) -> None:
    x, y, _ = sample()
    for alpha, fit_intercept in itertools.product([0.01, 0.3, 5.0], [True, False]):
        oracle = linear_model.Lasso(alpha=alpha, fit_intercept=fit_intercept, tol=1e-14, max_iter=100_000).fit(x, y)
        options = {"elastic_net_param": 1.0, "standardization": False, "fit_intercept": fit_intercept}
        with subtests.test(alpha=alpha, fit_intercept=fit_intercept):
            found = fitted(x, y, reg_param=alpha, **options)
            assert_fit(found, oracle, 1e-7)
            assert [value == 0 for value in found["coefficients"]] == (oracle.coef_ == 0).tolist()


def test_elastic_net_is_scikit_learns() -> None:
    x, y, weights = sample()
    for weight in (None, weights):
        deviation = math.sqrt(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
        alpha, ratio = 0.2, 0.4
        strength = alpha * (ratio + (1 - ratio) * deviation)
        options = {"reg_param": strength, "elastic_net_param": alpha * ratio / strength, "standardization": False}
        oracle = linear_model.ElasticNet(alpha=alpha, l1_ratio=ratio, tol=1e-14, max_iter=100_000).fit(x, y, weight)
        assert_fit(fitted(x, y, weight, **options), oracle, 1e-7)


def test_standardization_is_scaling_the_features_before() -> None:
    x, y, _ = sample()
    options = {"reg_param": 0.5, "elastic_net_param": 0.7}
    scaler = StandardScaler().fit(x)
    found = np.array(fitted(x, y, **options)["coefficients"])
    before = fitted(scaler.transform(x), y, standardization=False, **options)["coefficients"]
    np.testing.assert_allclose(found * scaler.scale_, before, rtol=1e-11, atol=1e-12)


def test_a_lasso_of_many_related_features_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 60)) @ rng.normal(size=(60, 60)) / 4
    y = x[:, :5].sum(axis=1) + rng.normal(size=300)
    columns = {f"x{place:02}": x[:, place] for place in range(60)}
    frame = frames.from_arrow(pa.table({**columns, "y": y}))
    gram = Gram((*columns, "y"))
    path = regularisation_path(gram.finish(gram.summarise(frame)), [0.3, 0.01], 1.0, standardization=False)
    for alpha, found in zip([0.3, 0.01], path["coefficients"].to_pylist(), strict=True):
        oracle = linear_model.Lasso(alpha=alpha, tol=1e-14, max_iter=200_000).fit(x, y)
        np.testing.assert_allclose(found, oracle.coef_, atol=1e-6)


# Features that say nothing, or the same as others


def test_a_constant_feature_gets_zero_and_is_named() -> None:
    x, y, _ = sample()
    x[:, 1] = 0.1
    for options in ({}, {"fit_intercept": False}, {"reg_param": 0.1, "elastic_net_param": 1.0}):
        found, without = fitted(x, y, **options), fitted(x[:, [0, 2, 3]], y, **options)
        assert found["constant"] == ["b"]
        assert found["coefficients"][1] == 0.0
        np.testing.assert_allclose(np.delete(found["coefficients"], 1), without["coefficients"], rtol=1e-12)
    summary = fitted(x, y)["summary"]
    assert [value is None for value in summary["p_values"]] == [False, True, False, False, False]
    assert summary["degrees_of_freedom"] == len(y) - 4


def test_features_that_explain_each_other_get_the_coefficients_of_least_norm() -> None:
    x, y, _ = sample()
    x[:, 3] = 2 * x[:, 0] - 7 * x[:, 2] + 1
    found = fitted(x, y)
    deviation = x.std(axis=0)
    expected = np.linalg.lstsq((x - x.mean(axis=0)) / deviation, y - y.mean(), rcond=1e-8)[0] / deviation
    np.testing.assert_allclose(found["coefficients"], expected, rtol=1e-9)
    assert found["summary"]["degrees_of_freedom"] == len(y) - 4
    assert found["summary"]["coefficient_standard_errors"] == [None] * 5


def test_a_lasso_of_equal_features_is_a_minimum() -> None:
    x, y, _ = sample()
    x[:, 3] = x[:, 0]
    options = {"reg_param": 0.2, "elastic_net_param": 1.0}
    found, single = fitted(x, y, **options), fitted(x[:, :3], y, **options)
    both = found["coefficients"][0] + found["coefficients"][3]
    np.testing.assert_allclose([both, *found["coefficients"][1:3]], single["coefficients"], atol=1e-4)


def test_a_constant_label_is_the_intercept() -> None:
    x, y, _ = sample()
    for options in ({}, {"reg_param": 0.3, "elastic_net_param": 0.5}):
        found = fitted(x, np.full_like(y, 0.1), **options)
        assert (found["coefficients"], found["intercept"]) == ([0.0] * 4, pytest.approx(0.1, rel=1e-15))
        assert (found["summary"]["r2"], found["summary"]["rmse"]) == (None, 0.0)


def test_a_penalty_of_a_constant_label_without_intercept_is_refused() -> None:
    x, y, _ = sample()
    with pytest.raises(DataValueError, match="label 'y' is constant"):
        fitted(x, np.ones_like(y), fit_intercept=False, reg_param=1.0)


def test_one_row_is_an_intercept_without_inference() -> None:
    found = fitted(np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([5.0]), parts=1)
    assert (found["coefficients"], found["intercept"]) == ([0.0] * 4, 5.0)
    assert found["summary"]["degrees_of_freedom"] == 0
    assert found["summary"]["p_values"] == [None] * 5


# What is inferred


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_errors_t_and_p_values_are_those_of_the_closed_form(fit_intercept: bool) -> None:
    x, y, weight = sample(rows=60)
    weight[::10] = 0.0
    design = np.column_stack([x, np.ones(60)]) if fit_intercept else x
    inverse = np.linalg.inv(design.T @ (design * weight[:, None]))
    estimate = inverse @ (design.T @ (weight * y))
    freedom = 54 - design.shape[1]
    variance = (weight * (y - design @ estimate) ** 2).sum() / freedom
    error = np.sqrt(variance * np.diag(inverse))
    summary = fitted(x, y, weight, fit_intercept=fit_intercept)["summary"]
    np.testing.assert_allclose(summary["coefficient_standard_errors"], error, rtol=1e-10)
    np.testing.assert_allclose(summary["t_values"], estimate / error, rtol=1e-9)
    np.testing.assert_allclose(summary["p_values"], 2 * stats.t.sf(np.abs(estimate / error), freedom), rtol=1e-8)
    assert (summary["degrees_of_freedom"], summary["num_instances"]) == (freedom, 54)
    assert summary["rmse"] == pytest.approx(math.sqrt(variance * freedom / weight.sum()), rel=1e-11)


@pytest.mark.parametrize("reg_param", [0.0, 0.4])
def test_r2_and_rmse_are_those_of_the_predictions(local: Engine, reg_param: float) -> None:
    x, y, _ = sample()
    model = model_of(local, tables(x, y), reg_param=reg_param)
    predicted = model.transform(local.from_arrow(tables(x, y))).to_arrow()["prediction"].to_numpy()
    summary = model.fitted[0]["summary"]
    assert summary["rmse"] == pytest.approx(math.sqrt(np.mean((y - predicted) ** 2)), rel=1e-12)
    assert summary["r2"] == pytest.approx(1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2), rel=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_r2_with_weights_differs_from_that_of_r_by_the_factor_that_is_documented(fit_intercept: bool) -> None:
    x, y, weight = sample(rows=40)
    of_r = linear_model.LinearRegression(fit_intercept=fit_intercept).fit(x, y, sample_weight=weight)
    mean = np.average(y, weights=weight) if fit_intercept else 0.0
    unexplained = (weight * (y - of_r.predict(x)) ** 2).sum() / (weight * (y - mean) ** 2).sum()
    total = weight.sum()
    factor = (total - (weight**2).sum() / total) / (total - 1) if fit_intercept else 1.0
    found = fitted(x, y, weight, fit_intercept=fit_intercept)["summary"]["r2"]
    assert found == pytest.approx(1 - unexplained * factor, rel=1e-12)


def test_the_table_names_every_term(local: Engine) -> None:
    x, y, _ = sample()
    for reg_param in (0.0, 1.0):
        model = model_of(local, tables(x, y), reg_param=reg_param)
        table = model.coefficients()
        assert table["feature"].to_pylist() == [*NAMES, "(intercept)"]
        assert table["value"].to_pylist() == [*model.fitted[0]["coefficients"], model.fitted[0]["intercept"]]
        assert table["p_value"].null_count == (5 if reg_param else 0)


# One scan, many penalties, more days


def test_a_path_is_a_fit_for_each_penalty() -> None:
    x, y, _ = sample()
    penalties = [0.1, 3.0, 0.0, 0.5]
    for share in (0.0, 0.5, 1.0):
        path = regularisation_path(gram_of(x, y), penalties, share).to_pylist()
        assert [row["reg_param"] for row in path] == penalties
        for row in path:
            single = fitted(x, y, parts=1, reg_param=row["reg_param"], elastic_net_param=share)
            np.testing.assert_allclose(row["coefficients"], single["coefficients"], rtol=1e-10, atol=1e-12)
            assert row["intercept"] == pytest.approx(single["intercept"], rel=1e-10)
            assert row["rmse"] == pytest.approx(single["summary"]["rmse"], rel=1e-10)


def test_too_few_sweeps_are_told() -> None:
    x, y, _ = sample()
    with pytest.warns(UserWarning, match=r"reg_param 0\.2 have not converged after 1 sweeps"):
        fitted(x, y, reg_param=0.2, elastic_net_param=1.0, max_iter=1)


# Scoring, and what is refused


def test_a_prediction_is_the_sum_of_the_terms(local: Engine) -> None:
    model = model_of(local, tables(*sample()[:2]), features=("a", "b"))
    (a, b), intercept = model.fitted[0]["coefficients"], model.fitted[0]["intercept"]
    assert model.predict({"a": 1.0, "b": 2.0})["prediction"] == pytest.approx(a + 2 * b + intercept, rel=1e-14)


def test_a_parameter_out_of_range_is_refused() -> None:
    for options in ({"reg_param": -0.1}, {"elastic_net_param": 1.5}, {"max_iter": 0}, {"tol": 0.0}, {"reg_param": nan}):
        with pytest.raises(ConfigError, match=next(iter(options))):
            st.LinearRegression("y", **options)


# MLlib


@pytest.fixture(scope="module")
def spark_frame(spark: Any) -> Any:
    x, y, weight = mllib_sample()
    return frame_of(spark, {"features": x.tolist(), "y": y, "w": weight})


def mllib_sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows some of which have no weight; MLlib leaves those out of everything but r2's mean."""
    x, y, weight = sample(rows=200)
    weight[::10] = 0.0
    return x, y, weight


def mllib_fit(frame: Any, solver: str, weighted: bool, reg_param: float, share: float, **options: bool) -> Any:
    from pyspark.ml.regression import LinearRegression

    names = {"labelCol": "y"} | ({"weightCol": "w"} if weighted else {})
    switches = {"fitIntercept": options["fit_intercept"], "standardization": options["standardization"]}
    estimator = LinearRegression(
        solver=solver, regParam=reg_param, elasticNetParam=share, maxIter=1000, tol=1e-12, **names, **switches
    )
    return estimator.fit(frame)


@pytest.mark.spark
def test_coefficients_are_mllibs(spark_frame: Any, subtests: Any) -> None:
    x, y, weight = mllib_sample()
    scale = x.std(axis=0)
    cases = [
        ((True, True), (0.3, 0.0)), ((True, False), (0.3, 0.5)), ((False, True), (0.3, 0.5)),
        ((True, True), (0.0, 0.0)), ((False, True), (0.0, 0.0)),
    ]  # fmt: skip
    for place, ((fit_intercept, standardization), penalty) in enumerate(cases):
        weighted = place % 3 != 0
        options = {"fit_intercept": fit_intercept, "standardization": standardization}
        expected = mllib_fit(spark_frame, "normal", weighted, *penalty, **options)
        with subtests.test(penalty=penalty, weighted=weighted, **options):
            given = {"reg_param": penalty[0], "elastic_net_param": penalty[1], **options}
            found = fitted(x, y, weight if weighted else None, **given)
            coefficients = expected.coefficients.toArray()
            np.testing.assert_allclose(found["coefficients"] * scale, coefficients * scale, atol=3e-6)
            np.testing.assert_allclose(found["intercept"], expected.intercept, atol=3e-6)
            assert found["summary"]["r2"] == pytest.approx(expected.summary.r2, abs=1e-6)
            assert found["summary"]["rmse"] == pytest.approx(expected.summary.rootMeanSquaredError, rel=1e-6)
