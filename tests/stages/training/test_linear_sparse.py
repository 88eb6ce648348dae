"""Linear regression on sparse vectors: the model of the dense columns, and never a dense matrix."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn import linear_model, metrics
from vector_rows import FEATURES, MATRIX, NUMBERS, ROWS, SIZE, VECTOR, WEIGHT, X, dataset, draw, lists

from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import DataValueError
from penstock.frames import sparse
from penstock.pipeline import Pipeline, PipelineModel

TIGHT = {"tol": 1e-11, "max_iter": 3000}
DRAW = draw()
WHOLE = np.hstack([X, MATRIX.toarray()])
SCALE = WHOLE.std(axis=0)
Y = MATRIX @ DRAW.normal(size=SIZE) * 3 + 5 * X[:, 0] + DRAW.normal(size=ROWS) + 20


def table(**more: Any) -> pa.Table:
    return pa.table({**dict(zip(NUMBERS, X.T, strict=True)), **lists(MATRIX), "y": Y, **more})


def stage(features: tuple[str, ...] = VECTOR, **options: Any) -> st.LinearRegression:
    return st.LinearRegression("y", features=features, **{**TIGHT, **options})


def fitted(engine: Engine, rows: pa.Table, features: tuple[str, ...] = VECTOR, **options: Any) -> Any:
    """Fit, and return what was learned, of a training that has converged."""
    found = Pipeline(stage(features, **options)).fit(dataset(engine, rows)).fitted[0]
    assert found["converged"]
    return found


def coefficients(found: Any, size: int = SIZE) -> np.ndarray:
    """Return the coefficients of numbers, and of all indices of the vector."""
    held = found["vector_coefficients"]
    of_vector = np.zeros(size)
    of_vector[held["index"].to_numpy()] = held["0"].to_numpy()
    return np.append(found["coefficients"], of_vector)


def deviation(label: np.ndarray, weight: np.ndarray) -> float:
    return math.sqrt(np.average((label - np.average(label, weights=weight)) ** 2, weights=weight))


# How good it is


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [True, False])
def test_quality_is_that_of_the_predictions(local: Engine, weighted: bool) -> None:
    model = Pipeline(stage(FEATURES, weight="w" if weighted else None)).fit(dataset(local, table(w=WEIGHT)))
    made = model.transform(dataset(local, table(w=WEIGHT))).to_arrow()["prediction"].to_numpy()
    weight = WEIGHT if weighted else np.ones(ROWS)
    error = metrics.mean_squared_error(Y, made, sample_weight=weight)
    summary, total = model.fitted[0]["summary"], weight.sum()
    # Of rows that have weights, MLlib compares with the unbiased variance times the sum of the weights less 1.
    whole = deviation(Y, weight) ** 2 / (1 - (weight**2).sum() / total**2) * (total - 1)
    assert summary["num_instances"] == ROWS
    assert summary["rmse"] == pytest.approx(math.sqrt(error), rel=1e-12)
    assert summary["r2"] == pytest.approx(1 - error * total / whole, rel=1e-12)


# The closed form, of standardised features


@pytest.mark.thorough
@pytest.mark.parametrize("standardization", [True, False])
def test_ridge_is_the_solution_of_the_normal_equations(local: Engine, standardization: bool) -> None:
    total = WEIGHT.sum()
    x, y = (each - np.average(each, axis=0, weights=WEIGHT) for each in (WHOLE, Y))
    spread = np.sqrt((x**2 * WEIGHT[:, None]).sum(axis=0) / total)
    punished = np.diag(spread**2 if standardization else np.ones(len(spread)))
    matrix = x.T @ (x * WEIGHT[:, None]) / total + 0.3 / deviation(Y, WEIGHT) * punished
    expected = np.linalg.solve(matrix, x.T @ (y * WEIGHT) / total)
    found = fitted(
        local, table(w=WEIGHT), FEATURES, weight="w", reg_param=0.3, standardization=standardization
    )  # fmt: skip
    np.testing.assert_allclose(coefficients(found) * spread, expected * spread, atol=1e-8)
    middle = np.average(Y - WHOLE @ expected, weights=WEIGHT)
    assert found["intercept"] == pytest.approx(middle, abs=1e-6)  # the mean of b is 16 of its deviations


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_by_default_eight_digits_are_those_of_the_closed_form(local: Engine, fit_intercept: bool) -> None:
    oracle = linear_model.LinearRegression(fit_intercept=fit_intercept).fit(WHOLE, Y)
    model = Pipeline(st.LinearRegression("y", features=FEATURES, fit_intercept=fit_intercept)).fit(
        dataset(local, table())
    )
    found = model.fitted[0]
    assert found["converged"]
    np.testing.assert_allclose(coefficients(found) * SCALE / Y.std(), oracle.coef_ * SCALE / Y.std(), atol=1e-8)


@pytest.mark.thorough
def test_two_numbers_that_nearly_explain_each_other_are_told_apart(local: Engine) -> None:
    near = X[:, 0] + draw().normal(size=ROWS) * 1e-4  # a thousandth of the deviation
    oracle = linear_model.LinearRegression().fit(np.column_stack([WHOLE, near]), Y)
    found = Pipeline(st.LinearRegression("y", features=("a", "b", "near", *VECTOR))).fit(
        dataset(local, table(near=near))
    )
    np.testing.assert_allclose(found.fitted[0]["coefficients"], [*oracle.coef_[:2], oracle.coef_[-1]], rtol=1e-5)


def test_features_that_explain_each_other_get_the_coefficients_of_least_norm(local: Engine) -> None:
    wide = scipy.sparse.random(40, 90, 0.2, format="csr", random_state=4)
    wide.sort_indices()
    y = draw().normal(size=40)
    data = local.from_arrow(pa.table({**lists(wide), "y": y}), fragment_bytes=1000)
    found = Pipeline(stage()).fit(data).fitted[0]
    dense = wide.toarray()
    scale = dense.std(axis=0)
    standard = (dense - dense.mean(axis=0)) / np.where(scale == 0, 1, scale)
    np.testing.assert_allclose(
        coefficients(found, 90) * scale, np.linalg.pinv(standard) @ (y - y.mean()), atol=1e-7
    )  # fmt: skip
    assert found["summary"]["rmse"] < 1e-9


# The dense columns, which are held to MLlib: the same objective, whose minimum is solved for there


@pytest.mark.thorough
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_model_is_that_of_dense_columns(local: Engine, subtests: Any, fit_intercept: bool) -> None:
    columns = {f"f{place:02}": MATRIX[:, [place]].toarray()[:, 0] for place in range(SIZE)}
    wide = pa.table({**dict(zip(NUMBERS, X.T, strict=True)), **columns, "y": Y, "w": WEIGHT})
    for place, (reg_param, share) in enumerate([(0.0, 0.0), (0.3, 0.0), (0.3, 0.5), (0.3, 1.0)]):
        options = {
            "reg_param": reg_param, "elastic_net_param": share, "fit_intercept": fit_intercept,
            "standardization": fit_intercept == bool(place % 2), "weight": "w",
        }  # fmt: skip
        with subtests.test(**options):
            dense = Pipeline(stage((*NUMBERS, *columns), **options)).fit(dataset(local, wide)).fitted[0]
            found = fitted(local, table(w=WEIGHT), FEATURES, **options)
            expected = np.array(dense["coefficients"])
            np.testing.assert_allclose(coefficients(found) * SCALE, expected * SCALE, atol=1e-8)
            assert found["intercept"] == pytest.approx(dense["intercept"], abs=1e-6)
            for name in ("rmse", "r2"):
                assert found["summary"][name] == pytest.approx(dense["summary"][name], rel=1e-9)
            np.testing.assert_array_equal(coefficients(found) == 0, expected == 0)


def test_a_constant_label_is_the_intercept_and_has_no_scale_for_a_penalty_without_one(local: Engine) -> None:
    for share in (0.0, 1.0):
        found = fitted(local, table(y=np.full(ROWS, 0.1)), FEATURES, reg_param=0.1, elastic_net_param=share)
        assert found["intercept"] == 0.1
        assert not coefficients(found).any()
        assert (found["summary"]["rmse"], found["summary"]["r2"]) == (0.0, None)
    with pytest.raises(DataValueError, match="label 'y' is constant, so that a penalty has no scale"):
        Pipeline(stage(reg_param=0.1, fit_intercept=False)).fit(dataset(local, table(y=np.full(ROWS, 0.1))))


def test_one_row_is_an_intercept(local: Engine) -> None:
    model = Pipeline(stage(FEATURES)).fit(local.from_arrow(table().slice(3, 1)))
    assert model.fitted[0]["intercept"] == Y[3]
    assert model.fitted[0]["summary"] == {"num_instances": 1, "rmse": 0.0, "r2": None}


# How it is trained


def test_the_history_falls_from_half_the_variance_of_the_label(local: Engine) -> None:
    history = Pipeline(stage(FEATURES, max_iter=3)).fit(dataset(local, table())).fitted[0]["objective_history"]
    assert history[0] == pytest.approx(0.5, rel=1e-12)  # of a label of deviation 1
    assert history == sorted(history, reverse=True)
    assert len(history) == 4


@pytest.mark.thorough
def test_numbers_are_learned_in_one_scan_and_a_vector_by_a_trainer_after_it(local: Engine) -> None:
    data = dataset(local, table())
    of_numbers, of_vector = (Pipeline(stage(names)).fit(data) for names in (NUMBERS, FEATURES))
    assert [model.stages[0].trains(data.schema) for model in (of_numbers, of_vector)] == [False, True]
    assert list(of_numbers.report.seconds) == ["scan 1"]
    assert list(of_vector.report.seconds) == ["scan 1", "train LinearRegression"]
    explained = Pipeline(stage(FEATURES)).explain(data)
    assert "train LinearRegression: on all ranks at once" in explained


def test_a_bound_stage_is_bound_to_other_columns_anew() -> None:
    bound = stage(FEATURES, reg_param=0.1).bind(table().schema)
    assert bound.bind(table().schema) == bound
    numbers = pa.schema(dict.fromkeys([*FEATURES, "y"], pa.float64()))
    assert bound.bind(numbers) == stage(FEATURES, reg_param=0.1).bind(numbers)
    assert not bound.bind(numbers).trains(numbers)


def test_a_model_of_a_vector_that_was_saved_by_a_class_of_its_own_is_the_same() -> None:
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64()), *sparse.fields(["v"]).items()])
    bound = st.LinearRegression("y", features=("x", "v_indices", "v_values")).bind(schema)
    assert st.LinearRegression.from_parameters({**bound.parameters(), "vector": "v"}) == bound
    model = PipelineModel((bound,), ({"vector": "v", "intercept": 1.5},), schema)
    assert model.digest == "sha256:56b70d556789b57aed81e604d235f74262c7262d33c0ae34cb20b7faccc1c748"
    assert model.preprocessing_digest == PipelineModel((), (), schema).digest


# Scoring


def test_the_table_names_numbers_and_indices(local: Engine) -> None:
    model = Pipeline(stage(("a", *VECTOR), reg_param=0.1)).fit(dataset(local, table()))
    found = model.coefficients()
    assert found["feature"].to_pylist() == ["a", *(f"v[{place}]" for place in range(SIZE)), "(intercept)"]
    expected = [*coefficients(model.fitted[0]), model.fitted[0]["intercept"]]
    assert found["value"].to_pylist() == expected
    assert found["p_value"].null_count == SIZE + 2
