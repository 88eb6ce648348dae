"""Objectives of XGBoost: its own predictions, and labels that are not for one are refused with their place."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xgboost as xgb

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.pipeline import Pipeline, PipelineModel

ROWS = 600
LABELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "reg:squaredlogerror": np.abs,
    "reg:logistic": lambda y: (y > 0).astype(float) / 2 + 0.25,
    "reg:pseudohubererror": lambda y: y,
    "reg:absoluteerror": lambda y: y,
    "reg:gamma": lambda y: np.abs(y) + 0.1,
    "reg:tweedie": lambda y: np.maximum(y, 0),
    "count:poisson": lambda y: np.floor(np.abs(y)),
    "survival:cox": lambda y: np.where(np.arange(ROWS) % 3 == 0, -1, 1) * (np.abs(y) + 0.1),
}


def predicted(stage: Any, data: Dataset) -> np.ndarray:
    return np.array(Pipeline(stage).fit(data).transform(data).to_arrow()["prediction"].to_pylist())


def expected(x: np.ndarray, parameters: dict[str, Any], **targets: Any) -> np.ndarray:
    """Return what XGBoost itself predicts after training on the whole matrix."""
    data = xgb.QuantileDMatrix(x.astype("float32"), nthread=1, **targets)
    booster = xgb.train({"tree_method": "hist", "nthread": 1, **parameters}, data, 5)
    return booster.inplace_predict(x.astype("float32"))


# The model is XGBoost's own, also after it was stored


@pytest.mark.thorough
def test_an_objective_gives_what_xgboost_gives_and_is_loaded_without_trust(make, x, y, tmp_path, subtests):
    for place, (objective, of) in enumerate(LABELS.items()):
        label, folder = of(y), tmp_path / str(place)
        data = make(y=label)
        model = Pipeline(st.XGBoostRegressor("y", objective=objective, num_boost_round=5)).fit(data)
        model.save(folder)
        for each in (model, PipelineModel.load(folder)):
            with subtests.test(objective):
                found = each.transform(data).to_arrow()["prediction"].to_numpy()
                np.testing.assert_allclose(
                    found, expected(x, {"objective": objective}, label=label), rtol=1e-5, atol=1e-6
                )


def test_quantiles_are_those_of_xgboost(make, x, y):
    alpha = (0.1, 0.9)
    stage = st.XGBoostRegressor("y", objective="reg:quantileerror", quantile_alpha=list(alpha), num_boost_round=5)
    model = Pipeline(stage).fit(make(y=y))
    scored = model.transform(make(y=y))
    assert scored.schema.field("prediction").type == pa.list_(pa.float64())
    found = np.array(scored.to_arrow()["prediction"].to_pylist())
    wanted = expected(x, {"objective": "reg:quantileerror", "quantile_alpha": alpha}, label=y)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    covered = np.mean((found[:, 0] <= y) & (y <= found[:, 1]))
    assert 0.75 < covered < 0.98


def test_one_quantile_is_a_number(make, x, y):
    stage = st.XGBoostRegressor("y", objective="reg:quantileerror", quantile_alpha=0.3, num_boost_round=5)
    wanted = expected(x, {"objective": "reg:quantileerror", "quantile_alpha": 0.3}, label=y)
    np.testing.assert_allclose(predicted(stage, make(y=y)), wanted, rtol=1e-5, atol=1e-6)


def test_no_rows_have_no_quantiles(make, y):
    stage = st.XGBoostRegressor("y", objective="reg:quantileerror", quantile_alpha=(0.1, 0.9), num_boost_round=1)
    scored = Pipeline(stage).fit(make(y=y)).transform(make().filter(nw.col("f0") > 99))
    assert scored.to_arrow().equals(scored.schema.empty_table())


@pytest.mark.thorough
def test_survival_times_are_those_of_xgboost(make, x, y):
    low = np.exp(y).astype("float32")
    high = np.where(np.arange(ROWS) % 3 == 0, np.inf, low)
    data = make(low=low, high=high)
    for loss in ("normal", "logistic", "extreme"):
        given = {"aft_loss_distribution": loss, "aft_loss_distribution_scale": 0.8, "objective": "survival:aft"}
        stage = st.XGBoostRegressor("low", label_upper_bound="high", num_boost_round=5, **given)
        assert stage.bind(data.schema).inputs() == ("f0", "f1", "f2")
        wanted = expected(x, given, label_lower_bound=low, label_upper_bound=high)
        np.testing.assert_allclose(predicted(stage, data), wanted, rtol=1e-4, err_msg=loss)


# Labels


def parquet(local: Engine, folder: Path, x: np.ndarray, **columns: Any) -> Dataset:
    """Write two files of 400 and 200 rows, and read them in fragments of 100."""
    table = pa.table({"f0": x[:, 0], **columns})
    pq.write_table(table.slice(0, 400), folder / "0.parquet", row_group_size=100)
    pq.write_table(table.slice(400), folder / "1.parquet", row_group_size=100)
    return local.read_parquet(str(folder / "*.parquet"), fragment_bytes=16 * 100)


def with_values(values: Any, bad: Any) -> pa.Array:
    return pa.array([bad if row in (433, 500) else value for row, value in enumerate(values)], pa.float64())


def demand_told(stage: Any, data: Dataset, message: str) -> DataValueError:
    with pytest.raises(DataValueError, match=message) as caught:
        Pipeline(stage).fit(data)
    assert Path(str(caught.value.path)).name == "1.parquet"
    assert caught.value.row == 33
    return caught.value


BAD_LABELS = [
    ("reg:squaredlogerror", -1, r"-1 or less, but 'reg:squaredlogerror' takes numbers greater than -1"),
    ("reg:logistic", 1.5, "outside 0 to 1"),
    ("reg:gamma", 0, "zero or negative, but 'reg:gamma' takes numbers greater than 0"),
    ("reg:tweedie", -1, "negative"),
    ("count:poisson", -1, "negative, but 'count:poisson' takes numbers of 0 or more"),
    ("survival:cox", 0, "0, but 'survival:cox' takes times"),
    ("rank:ndcg", 32, r"greater than 31, but 'rank:ndcg' takes grades from 0 to 31"),
    ("rank:ndcg", 0.5, "fractional"),
    ("rank:pairwise", -1, "negative"),
    ("rank:map", 2, "neither 0 nor 1"),
]


@pytest.mark.thorough
def test_a_label_that_is_not_for_the_objective_is_told_with_count_file_and_row(local, tmp_path, x, subtests):
    for objective, bad, message in BAD_LABELS:
        ranks = objective.startswith("rank")
        data = parquet(
            local, tmp_path, x, y=with_values(np.full(ROWS, 1.0 if ranks else 0.5), bad), q=np.arange(ROWS) // 10
        )
        kind, options = (st.XGBoostRanker, {"group": "q"}) if ranks else (st.XGBoostRegressor, {"features": "f0"})
        with subtests.test(objective, bad=bad):
            error = demand_told(kind("y", objective=objective, **options), data, rf"'y': 2 label\(s\) {message}")
            assert error.column == "y"


def test_an_interval_that_is_none_is_told(local, tmp_path, x, subtests):
    stage = st.XGBoostRegressor("low", objective="survival:aft", label_upper_bound="high")
    for bad, column, message in ((None, "high", "null"), (0.0, "high", "zero or negative"), (0.5, None, "upside down")):
        data = parquet(local, tmp_path, x, low=np.ones(ROWS), high=with_values(np.full(ROWS, 2.0), bad))
        with subtests.test(message):
            assert demand_told(stage, data, rf"'high': 2 label\(s\) {message}").column == column


def test_validation_is_checked_for_the_objective_as_well(make):
    stage = st.XGBoostRegressor("y", objective="count:poisson", num_boost_round=2)
    with pytest.raises(DataValueError, match="negative, but 'count:poisson'") as caught:
        Pipeline(stage).fit(make(y=np.ones(ROWS)), validation=make(y=with_values(np.ones(ROWS), -1.0)))
    assert caught.value.row == 433


def test_an_upper_end_that_is_no_number_is_told_before_reading(make, y):
    stage = st.XGBoostRegressor("y", objective="survival:aft", label_upper_bound="high")
    with pytest.raises(SchemaError, match="column 'high' is string"):
        Pipeline(stage).plan(make(y=y, high=["a"] * ROWS))


# Parameters


IMPOSSIBLE = [
    ({"objective": "reg:poison"}, "expected one of reg:squarederror, .* survival:aft"),
    ({"objective": "count:poison"}, r"Did you mean 'count:poisson'\?"),
    ({"objective": "binary:logistic"}, "expected one of reg:"),
    ({"objective": "reg:quantileerror"}, "needs quantile_alpha"),
    ({"objective": "survival:aft"}, "needs label_upper_bound"),
    ({"quantile_alpha": 0.5}, "is for objective 'reg:quantileerror', not 'the default'"),
    ({"objective": "reg:quantileerror", "quantile_alpha": (0.5, 1.0)}, "between 0 and 1"),
    ({"objective": "reg:quantileerror", "quantile_alpha": ()}, "between 0 and 1"),
    ({"objective": "reg:quantileerror", "quantile_alpha": (0.9, 0.1)}, "in ascending order"),
]


def test_an_objective_that_cannot_be_is_refused_when_it_is_given(subtests):
    for given, message in IMPOSSIBLE:
        with subtests.test(**given), pytest.raises(ConfigError, match=message):
            st.XGBoostRegressor("y", **given)
    with pytest.raises(ConfigError, match="expected one of binary:logistic, multi:softprob"):
        st.XGBoostClassifier("y", objective="binary:hinge")


def test_an_objective_for_another_number_of_classes_is_refused(make):
    for objective, classes in (("binary:logistic", 3), ("multi:softprob", 2)):
        told = f"'{objective}' is not for {classes} classes, which label 'label' has"
        with pytest.raises(ConfigError, match=told):
            Pipeline(st.XGBoostClassifier("label", objective=objective)).fit(make(label=np.arange(ROWS) % classes))


def test_hazards_are_compared_on_one_rank_only():
    stage = st.XGBoostRegressor("y", objective="survival:cox")
    with pytest.raises(ConfigError, match="there are 2 ranks") as caught:
        stage.train(SimpleNamespace(size=2), {})  # type: ignore[arg-type]
    assert "world_size=1" in str(caught.value.hint)
