"""The penalty of least error on held-out rows, from one scan, is the one that fitting each model by hand finds."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import ElasticNet, Ridge

from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.frames import ROW
from penstock.pipeline import Pipeline
from penstock.statistics.grouped.folds import folds

ROWS, NAMES, PENALTIES = 300, ("a", "b", "c"), (0.0, 0.01, 0.3, 5.0)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(ROWS, 3)) * [1.0, 20.0, 0.1] + [0.0, 1e4, 5.0]
    y = x @ [1.0, 0.05, 3.0] + rng.normal(size=ROWS) * 2
    columns = dict(zip(NAMES, x.T, strict=True))
    fold = rng.integers(0, 4, ROWS)
    return pa.table({**columns, "y": y, "w": rng.exponential(size=ROWS), "fold": pa.array(fold, pa.int32())})


def fit(engine: Engine, table: pa.Table, **options: Any) -> Any:
    stage = st.LinearRegressionCV("y", features=NAMES, **{"reg_params": PENALTIES, **options})
    return Pipeline(stage).fit(engine.from_arrow(table, fragment_bytes=5000)).fitted[0]


def by_hand(table: pa.Table, fold: np.ndarray, make: Any, *, weight: bool = False) -> np.ndarray:
    """Return the error of each penalty on each fold, of models scikit-learn fits on the others; fold -1 is none."""
    x = np.column_stack([table[name].to_numpy() for name in NAMES])
    y, w = table["y"].to_numpy(), table["w"].to_numpy() if weight else np.ones(ROWS)
    errors = np.empty((fold.max() + 1, len(PENALTIES)))
    for number in range(len(errors)):
        rest, held = (fold != number) & (fold >= 0), fold == number
        for place, penalty in enumerate(PENALTIES):
            model = make(penalty, y[rest], w[rest]).fit(x[rest], y[rest], sample_weight=w[rest])
            errors[number, place] = np.sqrt(np.average((model.predict(x[held]) - y[held]) ** 2, weights=w[held]))
    return errors


def ridge(penalty: float, y: np.ndarray, w: np.ndarray) -> Ridge:
    deviation = np.sqrt(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    return Ridge(alpha=penalty * w.sum() / deviation, solver="svd")


@pytest.mark.parametrize("weight", [False, True])
def test_errors_are_those_of_models_fitted_one_by_one(local, table, weight):
    found = fit(local, table, fold="fold", num_folds=4, standardization=False, weight="w" if weight else None)
    expected = by_hand(table, table["fold"].to_numpy(), ridge, weight=weight)
    np.testing.assert_allclose(found["rmse"]["rmse"].to_numpy().reshape(4, -1), expected, rtol=1e-9)
    np.testing.assert_allclose(found["mean_rmse"], expected.mean(axis=0), rtol=1e-9)
    assert found["reg_param"] == PENALTIES[int(expected.mean(axis=0).argmin())]


def test_an_elastic_net_is_chosen_likewise(local, table):
    def net(penalty: float, y: np.ndarray, w: np.ndarray) -> ElasticNet:
        share = 1 / (1 + 1 / y.std())  # of MLlib's halves: absolute values, and squares in units of the label
        return ElasticNet(alpha=penalty / 2 / share, l1_ratio=share, tol=1e-12, max_iter=100_000)

    positive = PENALTIES[1:]
    options = {"reg_params": positive, "elastic_net_param": 0.5, "standardization": False, "tol": 1e-12}
    found = fit(local, table, fold="fold", num_folds=4, **options)
    fold, errors = table["fold"].to_numpy(), []
    x, y = np.column_stack([table[name].to_numpy() for name in NAMES]), table["y"].to_numpy()
    for number in range(4):
        rest, held = fold != number, fold == number
        models = [net(each, y[rest], np.ones(rest.sum())).fit(x[rest], y[rest]) for each in positive]
        errors.append([np.sqrt(((model.predict(x[held]) - y[held]) ** 2).mean()) for model in models])
    np.testing.assert_allclose(found["mean_rmse"], np.mean(errors, axis=0), rtol=1e-6)


def test_the_model_is_that_of_all_rows_with_the_penalty_chosen(local, table):
    found = fit(local, table)
    stage = st.LinearRegression("y", features=NAMES, reg_param=found["reg_param"])
    alone = Pipeline(stage).fit(local.from_arrow(table)).fitted[0]
    np.testing.assert_allclose(found["coefficients"], alone["coefficients"], rtol=1e-10)
    assert found["summary"]["rmse"] == pytest.approx(alone["summary"]["rmse"], rel=1e-10)


def test_rows_are_dealt_by_their_number(local, table):
    found = fit(local, table, num_folds=3, seed=11, standardization=False)
    expected = by_hand(table, folds(np.arange(ROWS, dtype=np.uint64), 3, 11), ridge)
    np.testing.assert_allclose(found["rmse"]["rmse"].to_numpy().reshape(3, -1), expected, rtol=1e-9)


def test_all_folds_and_penalties_take_one_scan(local, table):
    stage = st.LinearRegressionCV("y", features=NAMES, reg_params=PENALTIES)
    model = Pipeline(st.StandardScaler(NAMES), stage).fit(local.from_arrow(table))
    assert model.report.scans == 2  # one for the scaler
    assert Pipeline(stage).fit(local.from_arrow(table)).report.scans == 1


def test_the_first_of_equal_penalties_is_taken(local, table):
    assert fit(local, table, reg_params=(5.0, 0.01, 0.01))["reg_param"] == 0.01


def test_of_a_training_set_of_its_own_folds_the_one_without_rows_is_left_out(local, table):
    train = local.from_arrow(table).folds(4, seed=0)[1].train
    stage = st.LinearRegressionCV("y", features=NAMES, reg_params=PENALTIES, num_folds=4, standardization=False)
    found = Pipeline(stage).fit(train).fitted[0]
    rows = np.arange(ROWS, dtype=np.uint64)
    others = np.array([0, -1, 1, 2])[folds(rows, 4, seed=0)]
    expected = by_hand(table, others, ridge)
    assert found["rmse"]["fold"].unique().to_pylist() == [0, 2, 3]
    np.testing.assert_allclose(found["rmse"]["rmse"].to_numpy().reshape(3, -1), expected, rtol=1e-9)


def test_rows_that_are_all_in_one_fold_are_refused(local, table):
    held = local.from_arrow(table).folds(4, seed=0)[1].validation
    with pytest.raises(DataValueError, match="fold 0 of 4 has no row of a positive weight"):
        Pipeline(st.LinearRegressionCV("y", features=NAMES, num_folds=4)).fit(held)


def test_a_fold_without_rows_is_named(local, table):
    with pytest.raises(DataValueError, match="fold 4 of 5 has no row of a positive weight"):
        fit(local, table, fold="fold", num_folds=5)


def test_a_number_that_is_no_fold_is_told_with_its_row(local, table):
    first = int(np.flatnonzero(table["fold"].to_numpy() == 3)[0])
    with pytest.raises(DataValueError, match=f"values that are no fold.*row {first}"):
        fit(local, table, fold="fold", num_folds=3)


def test_rows_without_numbers_need_a_column_of_folds(local, table):
    made = local.from_arrow(table).map_partitions(lambda frame: frame, table.schema)
    stage = st.LinearRegressionCV("y", features=NAMES, reg_params=PENALTIES, num_folds=4)
    with pytest.raises(ConfigError, match="no numbers after map_partitions"):
        Pipeline(stage).fit(made)


def test_the_row_number_and_the_fold_are_no_features(local, table):
    stage = st.LinearRegressionCV("y", fold="fold", weight="w").bind(table.schema)
    assert stage.inputs() == NAMES
    assert ROW not in stage.training_columns()


def test_penalties_that_are_none_are_refused():
    for penalties in ((), (-1.0,), ("a",), (float("inf"),), (True,)):
        with pytest.raises(ConfigError, match="reg_params of LinearRegressionCV"):
            st.LinearRegressionCV("y", reg_params=penalties)
