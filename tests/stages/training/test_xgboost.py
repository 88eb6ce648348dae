"""Boosting on any engine gives XGBoost's own model."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xgboost as xgb

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.errors import ConfigError, DataValueError
from penstock.pipeline import Pipeline, PipelineModel
from penstock.stages.base import Blob
from penstock.stages.training.trees import _boosting

ROWS = 600
ROUNDS = 12


def oracle(x: np.ndarray, label: np.ndarray, **parameters: Any) -> xgb.Booster:
    """Train with XGBoost itself on the whole matrix in one process."""
    data = xgb.QuantileDMatrix(x.astype("float32"), label=label, nthread=1)
    return xgb.train({"tree_method": "hist", "nthread": 1, **parameters}, data, ROUNDS)


def score(booster: xgb.Booster, x: np.ndarray, **options: Any) -> np.ndarray:
    return booster.inplace_predict(x.astype("float32"), **options)


def booster_of(model: PipelineModel) -> xgb.Booster:
    return _boosting.load_booster(model.fitted[-1]["booster"])


def scored(model: PipelineModel, data: Dataset) -> dict[str, np.ndarray]:
    table = model.transform(data).to_arrow()
    return {name: np.array(table[name].to_pylist()) for name in ("rawPrediction", "probability", "prediction")}


# The model is XGBoost's own.  Equal up to rounding: XGBoost adds up gradients in float64 per thread, in an order that
# depends on how many threads there are, and rounds leaves to float32.


def test_a_binary_classifier_gives_what_xgboost_gives(make, x, y):
    label = (y > 0).astype("int32")
    model = Pipeline(st.XGBoostClassifier("label", num_boost_round=ROUNDS)).fit(make(label=label))
    found = scored(model, make())
    expected = oracle(x, label, objective="binary:logistic")
    np.testing.assert_allclose(found["probability"], score(expected, x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["rawPrediction"], score(expected, x, predict_type="margin"), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found["prediction"], score(expected, x) > 0.5)


def test_as_many_rows_as_one_thread_scores_get_what_more_get(make, x, y):
    booster = booster_of(Pipeline(st.XGBoostRegressor("y", num_boost_round=ROUNDS)).fit(make(y=y)))
    blob = _boosting.Blob(_boosting.KIND, bytes(booster.save_raw("ubj")))
    matrix = np.resize(x.astype("float32"), (_boosting._FEW_ROWS + 1, x.shape[1]))
    few, more = (_boosting.predict(blob, matrix[:rows], "value") for rows in (_boosting._FEW_ROWS, None))
    assert few.tolist() == more[:-1].tolist() == score(booster, matrix[:-1]).astype("float64").tolist()


@pytest.mark.thorough
def test_parameters_reach_xgboost(make, x, y):
    given = {
        "learning_rate": 0.2,
        "max_depth": 3,
        "min_child_weight": 2.0,
        "reg_lambda": 3.0,
        "gamma": 0.01,
        "max_bin": 16,
    }
    stage = st.XGBoostRegressor(
        "y", num_boost_round=ROUNDS, **given, params={"grow_policy": "lossguide", "max_leaves": 5}
    )
    found = Pipeline(stage).fit(make(y=y)).transform(make(y=y)).to_arrow()["prediction"].to_numpy()
    data = xgb.QuantileDMatrix(x.astype("float32"), label=y, max_bin=16)
    more = {"tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 5}
    expected = xgb.train({**more, **given}, data, ROUNDS)
    np.testing.assert_allclose(found, score(expected, x), rtol=1e-6, atol=1e-6)
    assert not np.allclose(found, score(oracle(x, y), x), rtol=1e-2, atol=1e-2)


@pytest.mark.thorough
def test_a_seed_decides_what_is_sampled(make, y):
    def trained(seed: int) -> Blob:
        stage = st.XGBoostRegressor("y", num_boost_round=3, subsample=0.5, seed=seed)
        return Pipeline(stage).fit(make(y=y)).fitted[0]["booster"]

    assert trained(1) == trained(1) != trained(2)


# Labels


@pytest.mark.thorough
def test_predictions_are_values_of_the_label_in_its_type(make, y, subtests):
    for values, kind in (
        (["no", "yes"], pa.string()), ([False, True], pa.bool_()), ([-3, 4], pa.int16()), ([0.0, 1.0], pa.float32()),
        (["b", "é", "a"], pa.string()), ([5, 300, 7], pa.int64()),
    ):  # fmt: skip
        codes = np.digitize(y, [-1, 0.5][: len(values) - 1])
        label = pa.array([values[code] for code in codes], kind)
        model = Pipeline(st.XGBoostClassifier("label", num_boost_round=40)).fit(make(label=label))
        for data in (make(label=label), make()):
            with subtests.test(values=values):
                scored, named = model.transform(data), label.to_pylist()
                assert scored.schema.field("prediction").type == kind
                share = pa.list_(pa.float64()) if len(values) == 3 else pa.float64()
                assert scored.schema.field("probability").type == share
                found = scored.to_arrow()
                assert found.schema == scored.schema
                assert np.mean([a == b for a, b in zip(found["prediction"].to_pylist(), named, strict=True)]) > 0.9


# Early stopping


def test_early_stopping_keeps_the_best_round(make, x, y):
    metric, patience, noise = "mae", 2, np.random.default_rng(3).permutation(y)
    stage = st.XGBoostRegressor(
        "y", num_boost_round=60, learning_rate=0.5, eval_metric=metric, early_stopping_rounds=patience
    )
    model = Pipeline(stage).fit(make(y=y), validation=make(y=(y + noise) / 2))
    data = xgb.QuantileDMatrix(x.astype("float32"), label=y)
    watched = xgb.QuantileDMatrix(x.astype("float32"), label=(y + noise) / 2, ref=data)
    history: dict[str, Any] = {}
    expected = xgb.train(
        {"tree_method": "hist", "learning_rate": 0.5, "eval_metric": metric}, data, 60,
        evals=[(watched, "validation")], early_stopping_rounds=patience, evals_result=history, verbose_eval=False,
    )  # fmt: skip
    fitted = model.fitted[0]
    assert fitted["rounds"] == expected.best_iteration + 1 < 60
    assert booster_of(model).num_boosted_rounds() == fitted["rounds"]
    np.testing.assert_allclose(fitted["history"][metric], history["validation"][metric], rtol=1e-4)
    assert len(fitted["history"][metric]) == fitted["rounds"] + patience


@pytest.mark.thorough
def test_a_metric_of_which_more_is_better_is_maximised(make, x, y):
    label = (y > 0).astype(int)
    watched = np.where(np.random.default_rng(3).random(ROWS) < 0.3, 1 - label, label)
    stage = st.XGBoostClassifier("label", num_boost_round=60, eval_metric="auc", early_stopping_rounds=4)
    fitted = Pipeline(stage).fit(make(label=label), validation=make(label=watched)).fitted[0]
    values = fitted["history"]["auc"]
    assert fitted["rounds"] == int(np.argmax(values)) + 1
    assert len(values) == fitted["rounds"] + 4


def test_validation_without_early_stopping_is_followed_to_the_end(make, y):
    fitted = Pipeline(st.XGBoostRegressor("y", num_boost_round=5)).fit(make(y=y), validation=make(y=y)).fitted[0]
    assert fitted["rounds"] == len(fitted["history"]["rmse"]) == 5


def test_early_stopping_without_validation_is_refused(make, y):
    stage = st.XGBoostRegressor("y", early_stopping_rounds=3)
    with pytest.raises(ConfigError, match="early_stopping_rounds is 3, but there is no validation data"):
        Pipeline(stage).fit(make(y=y))


def test_a_class_that_only_validation_has_is_told(make, y):
    label = (y > 0).astype(int)
    other = label.copy()
    other[321] = 7
    with pytest.raises(DataValueError, match="not a class, expected one of the classes 0, 1") as caught:
        Pipeline(st.XGBoostClassifier("label", num_boost_round=2)).fit(make(label=label), validation=make(label=other))
    assert caught.value.row == 321


# Features


def test_names_of_features_are_kept(make, y):
    model = Pipeline(st.XGBoostRegressor("y", features=["f2", "f0"], num_boost_round=2)).fit(make(y=y))
    assert booster_of(model).feature_names == ["f2", "f0"]


def test_importances_are_those_of_xgboost_highest_first(make, x, y):
    model = Pipeline(st.XGBoostRegressor("y", num_boost_round=ROUNDS)).fit(make(y=y))
    found = model.stages[0].importances(model.fitted[0])["total_gain"]
    expected = oracle(x, y).get_score(importance_type="total_gain")
    assert list(found) == sorted(found, key=lambda name: -found[name])
    np.testing.assert_allclose([found[f"f{i}"] for i in range(3)], [expected[f"f{i}"] for i in range(3)], rtol=1e-4)


def test_a_name_that_xgboost_does_not_take_is_told_before_reading(local):
    for name in ("a[0]", "x<5"):
        with pytest.raises(ConfigError, match="has one of the characters"):
            Pipeline(st.XGBoostRegressor("y")).fit(local.from_arrow(pa.table({name: [1.0], "y": [1.0]})))
