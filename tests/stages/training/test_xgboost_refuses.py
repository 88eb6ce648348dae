"""What XGBoost would take without a word, or tell without a place, is refused with column, file and row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, EmptyInputError
from penstock.pipeline import Pipeline
from penstock.stages.training.trees import _boosting_parameters
from penstock.stages.training.trees._objectives import REGRESSION

ROWS = 600


# Labels and weights that make training meaningless


def with_values(values: np.ndarray, rows: list[int], bad: Any) -> pa.Array:
    changed = list(values)
    for row in rows:
        changed[row] = bad
    return pa.array(changed)


def test_too_many_classes_are_a_regression(local: Engine) -> None:
    data = local.from_arrow(pa.table({"x": range(1001), "label": range(1001)}))
    with pytest.raises(DataValueError, match=r"'label' has 1001 class\(es\)"):
        Pipeline(st.XGBoostClassifier("label")).fit(data)


def test_no_row_to_train_on_is_an_error(make: Callable[..., Dataset], y: np.ndarray) -> None:
    with pytest.raises(EmptyInputError, match="no row is left of 600 read"):
        Pipeline(st.XGBoostRegressor("label")).fit(make(label=y > 0).filter(nw.col("f0") > 99))


def test_validation_is_checked_as_well(make: Callable[..., Dataset], y: np.ndarray) -> None:
    with pytest.raises(DataValueError, match="'y' has 1 values that are null") as caught:
        Pipeline(st.XGBoostRegressor("y", num_boost_round=2)).fit(
            make(y=y), validation=make(y=with_values(y, [321], None))
        )
    assert caught.value.row == 321


# Parameters


WRONG = [
    ({"num_boost_round": 0}, "num_boost_round of .* is 0, expected an integer >= 1"),
    ({"learning_rate": 0}, "learning_rate"),
    ({"subsample": 1.5}, "subsample"),
    ({"early_stopping_rounds": 0}, "early_stopping_rounds"),
    ({"params": {"max_leafs": 3}}, r"XGBoost has no parameter 'max_leafs'\. Did you mean 'max_leaves'\?"),
    ({"params": {"num_feature": 3}}, "XGBoost has no parameter 'num_feature'"),
    ({"params": {"max_depth": 3}}, "'max_depth' in params is the parameter 'max_depth'"),
    ({"params": {"eta": 0.1}}, "'eta' in params is the parameter 'learning_rate'"),
    ({"params": {"nthread": 4}}, "'nthread' in params is decided by the engine"),
    ({"params": {"device": "cuda"}}, "'device' in params is decided by the engine"),
    ({"params": {"num_class": 3}}, "'num_class' in params is decided by the engine and the data"),
    ({"min_child_weight": -1}, "min_child_weight of .* is -1, expected a number >= 0"),
    ({"max_bin": 1}, "max_bin of .* is 1, expected an integer >= 2"),
    ({"eval_metric": "no-such"}, "Unknown metric function no-such"),
    ({"eval_metric": "tweedie-nloglik"}, "must be in format tweedie-nloglik@rho"),
    ({"eval_metric": "mlogloss"}, "label must be in"),
    ({"params": {"booster": "gblinear"}}, "booster of .* is 'gblinear', expected one of gbtree, dart"),
    ({"params": {"booster": "dart", "rate_drop": 2}}, "value 2 for Parameter rate_drop exceed bound"),
    ({"params": {"tree_method": "exact"}}, "tree_method of .* is 'exact', expected one of hist, auto"),
    ({"params": {"updater": "prune"}}, "`prune` can not be used to create new trees"),
    ({"params": {"process_type": "update"}}, "process_type of .* is 'update', expected one of default"),
    ({"params": {"multi_strategy": "multi_output_tree"}}, "multi_strategy of .* expected one of one_output_per_t"),
    ({"params": {"grow_policy": "no-such"}}, r"Invalid Input: 'no-such', valid values are: \{'depthwise', "),
    ({"params": {"max_leaves": 2.5}}, "Invalid Parameter format for max_leaves expect int but value='2.5'"),
    ({"params": {"colsample_bylevel": 2}}, "value 2 for Parameter colsample_bylevel exceed bound"),
    ({"params": {"base_score": [0.1, 0.2]}}, "Invalid `base_score`, it should match the number of outputs"),
    ({"params": {"verbosity": 9}}, "verbosity of .* is 9, expected one of 0, 1, 2, 3"),
    ({"params": {"monotone_constraints": [1, 2]}}, r"monotone_constraints of .* is \[1, 2\]: 2 is no sign"),
    ({"params": {"monotone_constraints": "up"}}, "is 'up': a text of neither numbers nor names"),
    ({"params": {"interaction_constraints": [["f0"], "f1"]}}, "'f1' is no group"),
    ({"params": {"interaction_constraints": [0, 1]}}, "'int' object is not iterable"),
]


def test_a_wrong_parameter_is_refused_when_it_is_given(subtests: Any) -> None:
    for given, message in WRONG:
        with subtests.test(**given), pytest.raises(ConfigError, match=message):
            st.XGBoostRegressor("y", **given)


def test_parameters_of_xgboost_are_known_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xgboost.sklearn.SKLEARN_INSTALLED", False)
    _boosting_parameters._known_parameters.cache_clear()
    known = {
        "max_leaves", "grow_policy", "colsample_bylevel", "colsample_bynode", "max_delta_step", "monotone_constraints",
        "interaction_constraints", "num_parallel_tree", "sampling_method", "base_score", "booster", "rate_drop",
        "tweedie_variance_power", "max_cat_to_onehot", "verbosity", "tree_method", "scale_pos_weight",
    }  # fmt: skip
    _boosting_parameters.check_names("stage", tuple(known))


def test_what_the_objective_cannot_use_is_refused_when_it_is_given(subtests: Any) -> None:
    for objective, given in (
        ("survival:aft", {"label_upper_bound": "end", "eval_metric": "rmse"}),
        ("reg:tweedie", {"params": {"tweedie_variance_power": 3}}),
        ("reg:gamma", {"params": {"base_score": -1}}),
        ("reg:quantileerror", {"quantile_alpha": (0.2, 0.8), "params": {"base_score": [1, 2, 3]}}),
    ):
        told = "XGBoost refuses the parameters of XGBoostRegressor"
        with subtests.test(objective), pytest.raises(ConfigError, match=told):
            st.XGBoostRegressor("y", objective=objective, **given)


def test_every_objective_takes_parameters_of_any_trees(subtests: Any) -> None:
    needed = {"survival:aft": {"label_upper_bound": "end"}, "reg:quantileerror": {"quantile_alpha": 0.5}}
    for objective in REGRESSION:
        with subtests.test(objective):
            st.XGBoostRegressor("y", objective=objective, params={"max_leaves": 3}, **needed.get(objective, {}))


def test_what_suits_another_number_of_classes_is_refused_before_training(make: Callable[..., Dataset]) -> None:
    for given in ({"eval_metric": "logloss"}, {"params": {"base_score": [0.2, 0.8]}}):
        with pytest.raises(ConfigError, match="XGBoost refuses the parameters of XGBoostClassifier"):
            Pipeline(st.XGBoostClassifier("label", **given)).fit(make(label=["a", "b", "c"] * (ROWS // 3)))


# Whole numbers that float32 rounds


@pytest.mark.parametrize("stage", [st.XGBoostClassifier("label", num_boost_round=1), st.RandomForestRegressor("label")])
def test_ids_that_float32_rounds_are_noted_with_column_and_largest(local: Engine, stage: Any, tmp_path: Path) -> None:
    ids = {"id": pa.array([2**60 + 1, None, 7, -5]), "low": pa.array([-(2**24) - 1, 1, 2, 3], pa.int32())}
    fine = {"edge": [2**24, -(2**24), 0, None], "ratio": [1e9 + 0.5, 1.0, 2.0, 3.0], "b": [True, False, None, True]}
    model = Pipeline(stage).fit(local.from_arrow(pa.table({**ids, **fine, "label": [0, 1, 0, 1]}), fragment_bytes=1))
    assert [note.split(", and")[0] for note in model.report.notes] == [
        f"{stage.title}: feature 'id' has whole numbers as large as {2**60 + 1}",
        f"{stage.title}: feature 'low' has whole numbers as large as {-(2**24) - 1}",
    ]
    model.save(tmp_path / "model")
    assert "beyond" not in (tmp_path / "model" / "pipeline.json").read_text()


@pytest.mark.dask
def test_an_id_that_one_rank_alone_has_is_noted(dask: Engine) -> None:
    table = pa.table({"id": [1, 2, 3, 2**31], "label": [0.0, 1.0, 0.0, 1.0]})
    data = dask.from_arrow(table, fragment_bytes=1)
    notes = Pipeline(st.XGBoostRegressor("label", num_boost_round=1)).fit(data).report.notes
    assert len(notes) == 1
    assert f"as large as {2**31}" in notes[0]
