"""Boosting on any engine gives XGBoost's own model, and refuses what XGBoost would take without a word."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xgboost as xgb

from penstock import frames
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import (
    ConfigError,
    DataValueError,
    EmptyInputError,
    ExecutionError,
    SchemaError,
    UserCodeError,
)
from penstock.pipeline import Pipeline, PipelineModel
from penstock.spmd import Rank, SpmdOptions, Work
from penstock.spmd.checkpoints import Checkpoint
from penstock.stages.base import Blob
from penstock.stages.training import boosting, matrix
from penstock.stages.training.matrix import Batches, ToBatch

ROWS = 600
ROUNDS = 12
FRAGMENT = 8 * 4 * 150  # 150 rows of four float64 columns: four fragments


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train on one thread: more only wait for each other on data this small."""
    monkeypatch.setattr("penstock.devices.usable_cores", lambda: 1)


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    """Three features of at most 50 values, a tenth of them missing: bins are then exact, whatever the batches."""
    generator = np.random.default_rng(7)
    values = np.round(generator.normal(size=(ROWS, 3)), 1).clip(-2.4, 2.4)
    values[generator.random(values.shape) < 0.1] = np.nan
    return values


@pytest.fixture(scope="module")
def y(x: np.ndarray) -> np.ndarray:
    filled = np.nan_to_num(x)
    return np.round(filled[:, 0] - 2 * (filled[:, 1] > 0.3) + np.random.default_rng(8).normal(size=ROWS) / 4, 3)


@pytest.fixture
def make(local: Engine, x: np.ndarray) -> Callable[..., Dataset]:
    """Return a function that makes a dataset of the features and more columns, in four fragments."""

    def dataset(**columns: Any) -> Dataset:
        features = {f"f{place}": x[:, place] for place in range(3)}
        return local.from_arrow(pa.table({**features, **columns}), fragment_bytes=FRAGMENT)

    return dataset


def oracle(
    x: np.ndarray, label: np.ndarray, parameters: dict[str, Any], *, weight: np.ndarray | None = None, **options: Any
) -> xgb.Booster:
    """Train with XGBoost itself on the whole matrix in one process."""
    data = xgb.QuantileDMatrix(x.astype("float32"), label=label, weight=weight, nthread=1)
    rounds = options.pop("rounds", ROUNDS)
    return xgb.train({"tree_method": "hist", "nthread": 1, **parameters}, data, rounds, **options)


def score(booster: xgb.Booster, x: np.ndarray, **options: Any) -> np.ndarray:
    return booster.inplace_predict(x.astype("float32"), **options)


def booster_of(model: PipelineModel) -> xgb.Booster:
    return boosting.load_booster(model.fitted[-1]["booster"])


def scored(model: PipelineModel, data: Dataset) -> dict[str, np.ndarray]:
    table = model.transform(data).to_arrow()
    return {name: np.array(table[name].to_pylist()) for name in ("rawPrediction", "probability", "prediction")}


# The model is XGBoost's own.  Equal up to rounding: XGBoost adds up gradients in float64 per thread, in an order that
# depends on how many threads there are, and rounds leaves to float32.


def test_a_regressor_gives_what_xgboost_gives(make: Callable[..., Dataset], x: np.ndarray, y: np.ndarray) -> None:
    model = Pipeline(st.XGBoostRegressor("y", num_boost_round=ROUNDS, max_depth=4)).fit(make(y=y))
    found = model.transform(make(y=y)).to_arrow()["prediction"]
    expected = oracle(x, y, {"objective": "reg:squarederror", "max_depth": 4})
    assert found.type == pa.float64()
    np.testing.assert_allclose(found.to_numpy(), score(expected, x), rtol=1e-6, atol=1e-6)


def test_a_binary_classifier_gives_what_xgboost_gives(
    make: Callable[..., Dataset], x: np.ndarray, y: np.ndarray
) -> None:
    label = (y > 0).astype("int32")
    model = Pipeline(st.XGBoostClassifier("label", num_boost_round=ROUNDS)).fit(make(label=label))
    found = scored(model, make())
    expected = oracle(x, label, {"objective": "binary:logistic"})
    np.testing.assert_allclose(found["probability"], score(expected, x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["rawPrediction"], score(expected, x, predict_type="margin"), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found["prediction"], score(expected, x) > 0.5)


def test_a_multiclass_classifier_gives_what_xgboost_gives(
    make: Callable[..., Dataset], x: np.ndarray, y: np.ndarray
) -> None:
    codes = np.digitize(y, [-1, 0.5])
    label = np.array([30, 10, 20])[codes]
    model = Pipeline(st.XGBoostClassifier("label", num_boost_round=ROUNDS)).fit(make(label=label))
    found = scored(model, make())
    ordered = np.searchsorted([10, 20, 30], label)
    expected = oracle(x, ordered, {"objective": "multi:softprob", "num_class": 3})
    np.testing.assert_allclose(found["probability"], score(expected, x), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found["prediction"], np.array([10, 20, 30])[score(expected, x).argmax(axis=1)])
    np.testing.assert_allclose(found["probability"].sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("batches", [1, 4])
def test_weights_count_as_repeated_rows(local: Engine, x: np.ndarray, y: np.ndarray, batches: int) -> None:
    weight = np.random.default_rng(9).integers(0, 4, ROWS)
    columns = {"f0": x[:, 0], "f1": x[:, 1], "y": y, "w": weight}
    once = local.from_arrow(pa.table(columns), fragment_bytes=32 * ROWS // batches)
    repeated = local.from_arrow(pa.table({name: np.repeat(values, weight) for name, values in columns.items()}))
    # Leaves are checked by total weight, and bins by weighted quantiles: few values leave no choice of bins.
    stage = st.XGBoostRegressor("y", features=["f0", "f1"], num_boost_round=ROUNDS)
    of_repeated = Pipeline(stage).fit(repeated)
    of_weighted = Pipeline(st.XGBoostRegressor("y", features=["f0", "f1"], weight="w", num_boost_round=ROUNDS)).fit(
        once
    )
    found, expected = (
        model.transform(once).to_arrow()["prediction"].to_numpy() for model in (of_weighted, of_repeated)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_weights_are_those_of_xgboost(make: Callable[..., Dataset], x: np.ndarray, y: np.ndarray) -> None:
    weight = np.random.default_rng(9).random(ROWS)
    stage = st.XGBoostRegressor("y", features=["f0", "f1", "f2"], weight="w", num_boost_round=ROUNDS)
    found = Pipeline(stage).fit(make(y=y, w=weight)).transform(make(y=y)).to_arrow()["prediction"]
    np.testing.assert_allclose(found.to_numpy(), score(oracle(x, y, {}, weight=weight), x), rtol=1e-6, atol=1e-6)


def test_weights_are_no_feature_unless_they_are_asked_for(make: Callable[..., Dataset], y: np.ndarray) -> None:
    data = make(y=y, w=np.ones(ROWS), name=["text"] * ROWS)
    assert st.XGBoostRegressor("y", weight="w").bind(data.schema).inputs() == ("f0", "f1", "f2")


def test_parameters_reach_xgboost(make: Callable[..., Dataset], x: np.ndarray, y: np.ndarray) -> None:
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
    np.testing.assert_allclose(found, score(expected, x), rtol=1e-2, atol=1e-2)  # 16 bins of 50 values are a sketch
    assert not np.allclose(found, score(oracle(x, y, {}), x), rtol=1e-2, atol=1e-2)


def test_a_seed_decides_what_is_sampled(make: Callable[..., Dataset], y: np.ndarray) -> None:
    def trained(seed: int) -> Blob:
        stage = st.XGBoostRegressor("y", num_boost_round=3, subsample=0.5, seed=seed)
        return Pipeline(stage).fit(make(y=y)).fitted[0]["booster"]

    assert trained(1) == trained(1) != trained(2)


# Labels


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["no", "yes"], pa.string()),
        ([False, True], pa.bool_()),
        ([-3, 4], pa.int16()),
        ([0.0, 1.0], pa.float32()),
        (["b", "é", "a"], pa.string()),
        ([5, 300, 7], pa.int64()),
    ],
    ids=str,
)
def test_predictions_are_values_of_the_label_in_its_type(
    make: Callable[..., Dataset], y: np.ndarray, values: list[Any], kind: pa.DataType
) -> None:
    codes = np.digitize(y, [-1, 0.5][: len(values) - 1])
    label = pa.array([values[code] for code in codes], kind)
    model = Pipeline(st.XGBoostClassifier("label", num_boost_round=40)).fit(make(label=label))
    for data in (make(label=label), make()):
        scored = model.transform(data)
        assert scored.schema.field("prediction").type == kind
        found = scored.to_arrow()
        assert found.schema == scored.schema
        agreement = np.mean([a == b for a, b in zip(found["prediction"].to_pylist(), label.to_pylist(), strict=True)])
        assert agreement > 0.9


@pytest.mark.parametrize("classes", [2, 3])
def test_no_rows_are_scored_to_no_rows(make: Callable[..., Dataset], y: np.ndarray, classes: int) -> None:
    import narwhals as nw

    model = Pipeline(st.XGBoostClassifier("label", num_boost_round=2)).fit(make(label=np.arange(ROWS) % classes))
    scored = model.transform(make().filter(nw.col("f0") > 99))
    assert scored.to_arrow().equals(scored.schema.empty_table())
    assert model.transform(make()).head(1).height == 1


def test_what_was_fitted_is_typed_by_the_classes(make: Callable[..., Dataset], y: np.ndarray) -> None:
    model = Pipeline(st.XGBoostClassifier("label", num_boost_round=2)).fit(make(label=np.arange(ROWS) % 3))
    assert model.transform(make()).schema.field("probability").type == pa.list_(pa.float64())
    model = Pipeline(st.XGBoostClassifier("label", num_boost_round=2)).fit(make(label=np.arange(ROWS) % 2))
    assert model.transform(make()).schema.field("probability").type == pa.float64()


# Early stopping


@pytest.mark.parametrize(("metric", "patience"), [("rmse", 3), ("mae", 2)])
def test_early_stopping_keeps_the_best_round(
    make: Callable[..., Dataset], x: np.ndarray, y: np.ndarray, metric: str, patience: int
) -> None:
    noise = np.random.default_rng(3).permutation(y)
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


def test_a_metric_of_which_more_is_better_is_maximised(
    make: Callable[..., Dataset], x: np.ndarray, y: np.ndarray
) -> None:
    label = (y > 0).astype(int)
    watched = np.where(np.random.default_rng(3).random(ROWS) < 0.3, 1 - label, label)
    stage = st.XGBoostClassifier("label", num_boost_round=60, eval_metric="auc", early_stopping_rounds=4)
    fitted = Pipeline(stage).fit(make(label=label), validation=make(label=watched)).fitted[0]
    values = fitted["history"]["auc"]
    assert fitted["rounds"] == int(np.argmax(values)) + 1
    assert len(values) == fitted["rounds"] + 4


def test_validation_without_early_stopping_is_followed_to_the_end(make: Callable[..., Dataset], y: np.ndarray) -> None:
    fitted = Pipeline(st.XGBoostRegressor("y", num_boost_round=5)).fit(make(y=y), validation=make(y=y)).fitted[0]
    assert fitted["rounds"] == len(fitted["history"]["rmse"]) == 5


def test_early_stopping_without_validation_is_refused(make: Callable[..., Dataset], y: np.ndarray) -> None:
    stage = st.XGBoostRegressor("y", early_stopping_rounds=3)
    with pytest.raises(ConfigError, match="early_stopping_rounds is 3, but there is no validation data"):
        Pipeline(stage).fit(make(y=y))


def test_a_class_that_only_validation_has_is_told(make: Callable[..., Dataset], y: np.ndarray) -> None:
    label = (y > 0).astype(int)
    other = label.copy()
    other[321] = 7
    with pytest.raises(DataValueError, match="is not one of the classes 0, 1") as caught:
        Pipeline(st.XGBoostClassifier("label", num_boost_round=2)).fit(make(label=label), validation=make(label=other))
    assert caught.value.row == 321


# Features


def test_names_of_features_are_kept(make: Callable[..., Dataset], y: np.ndarray) -> None:
    model = Pipeline(st.XGBoostRegressor("y", features=["f2", "f0"], num_boost_round=2)).fit(make(y=y))
    assert booster_of(model).feature_names == ["f2", "f0"]


def test_importances_are_those_of_xgboost_highest_first(
    make: Callable[..., Dataset], x: np.ndarray, y: np.ndarray
) -> None:
    model = Pipeline(st.XGBoostRegressor("y", num_boost_round=ROUNDS)).fit(make(y=y))
    found = model.stages[0].feature_importances(model.fitted[0], "total_gain")
    expected = oracle(x, y, {}).get_score(importance_type="total_gain")
    assert list(found) == sorted(found, key=lambda name: -found[name])
    np.testing.assert_allclose(
        [found[f"f{place}"] for place in range(3)], [expected[f"f{place}"] for place in range(3)], rtol=1e-4
    )


def test_null_nan_and_a_column_of_nulls_are_missing(local: Engine) -> None:
    table = pa.table(
        {"x": [1.0, None, float("nan"), 4.0] * 20, "z": pa.nulls(80, pa.int64()), "y": [1.0, 2.0, 2.0, 3.0] * 20}
    )
    data = local.from_arrow(table)
    model = Pipeline(st.XGBoostRegressor("y", num_boost_round=40, params={"base_score": 0.0})).fit(data)
    found = model.transform(data).head(4)["prediction"].to_list()
    assert found == pytest.approx([1.0, 2.0, 2.0, 3.0], abs=0.05)
    assert found[1] == found[2]


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e39])
@pytest.mark.parametrize("when", ["fit", "predict"])
def test_an_infinity_is_refused_with_its_column_file_and_row(
    local: Engine, tmp_path: Path, x: np.ndarray, y: np.ndarray, bad: float, when: str
) -> None:
    for number, part in enumerate((slice(0, 400), slice(400, ROWS))):
        values = x[part].copy()
        if number == 1:
            values[[33, 44], 1] = bad
        pq.write_table(pa.table({"f0": values[:, 0], "f1": values[:, 1], "y": y[part]}), tmp_path / f"{number}.parquet")
    broken = local.read_parquet(str(tmp_path / "*.parquet"), fragment_bytes=24 * 100)
    pipeline = Pipeline(st.XGBoostRegressor("y", num_boost_round=2))
    with pytest.raises(DataValueError, match=r"column 'f1': 2 value\(s\) infinite") as caught:
        if when == "fit":
            pipeline.fit(broken)
        else:
            pipeline.fit(local.read_parquet(tmp_path / "0.parquet")).transform(broken).to_arrow()
    assert (caught.value.path, caught.value.row) == (str(tmp_path / "1.parquet"), 33)
    assert (caught.value.column, caught.value.stage) == ("f1", "XGBoostRegressor")


@pytest.mark.parametrize("name", ["a[0]", "x<5"])
def test_a_name_that_xgboost_does_not_take_is_told_before_reading(local: Engine, name: str) -> None:
    data = local.from_arrow(pa.table({name: [1.0], "y": [1.0]}))
    with pytest.raises(ConfigError, match="has one of the characters"):
        Pipeline(st.XGBoostRegressor("y")).fit(data)


@pytest.mark.parametrize("role", ["label", "weight"])
def test_neither_label_nor_weight_is_a_feature(make: Callable[..., Dataset], y: np.ndarray, role: str) -> None:
    data = make(label=y, weight=np.ones(ROWS))
    with pytest.raises(ConfigError, match=f"{role} '{role}' is among the features"):
        Pipeline(st.XGBoostRegressor("label", weight="weight", features=["f0", role])).plan(data)


def test_text_is_no_feature(make: Callable[..., Dataset], y: np.ndarray) -> None:
    with pytest.raises(SchemaError, match="'s' is string, but XGBoostRegressor takes numeric"):
        Pipeline(st.XGBoostRegressor("y", features=["f0", "s"])).plan(make(y=y, s=["a"] * ROWS))


# Labels and weights that make training meaningless


def parquet(local: Engine, folder: Path, x: np.ndarray, **columns: Any) -> Dataset:
    """Write two files of 400 and 200 rows, and read them in fragments of 100."""
    table = pa.table({"f0": x[:, 0], **columns})
    pq.write_table(table.slice(0, 400), folder / "0.parquet", row_group_size=100)
    pq.write_table(table.slice(400), folder / "1.parquet", row_group_size=100)
    return local.read_parquet(str(folder / "*.parquet"), fragment_bytes=16 * 100)


def with_values(values: np.ndarray, rows: list[int], bad: Any) -> pa.Array:
    changed = list(values)
    for row in rows:
        changed[row] = bad
    return pa.array(changed)


@pytest.mark.parametrize("stage", [st.XGBoostClassifier, st.XGBoostRegressor])
@pytest.mark.parametrize(
    ("bad", "message"), [(None, "has 2 values that are null"), (float("nan"), "null"), (float("inf"), "inf")]
)
def test_a_label_that_is_no_value_is_told_with_count_file_and_row(
    local: Engine, tmp_path: Path, x: np.ndarray, y: np.ndarray, stage: Any, bad: Any, message: str
) -> None:
    label = with_values((y > 0).astype(float), [433, 500], bad)
    with pytest.raises(DataValueError, match=f"'label'.*{message}") as caught:
        Pipeline(stage("label", num_boost_round=2)).fit(parquet(local, tmp_path, x, label=label))
    assert " 2 value" in caught.value.message
    assert (caught.value.path, caught.value.row) == (str(tmp_path / "1.parquet"), 33)


def test_a_fraction_is_no_class(local: Engine, tmp_path: Path, x: np.ndarray, y: np.ndarray) -> None:
    label = with_values((y > 0).astype(float), [450, 451, 452], 0.5)
    with pytest.raises(DataValueError, match=r"column 'label': 3 value\(s\) not a class: 0\.5") as caught:
        Pipeline(st.XGBoostClassifier("label")).fit(parquet(local, tmp_path, x, label=label))
    assert (caught.value.path, caught.value.row) == (str(tmp_path / "1.parquet"), 50)


def test_one_class_is_told_with_its_count(make: Callable[..., Dataset]) -> None:
    with pytest.raises(DataValueError, match=r"'label' has 1 class\(es\), expected 2 to 1000; counts: 'yes': 600"):
        Pipeline(st.XGBoostClassifier("label")).fit(make(label=["yes"] * ROWS))


def test_too_many_classes_are_a_regression(local: Engine) -> None:
    data = local.from_arrow(pa.table({"x": range(1001), "label": range(1001)}))
    with pytest.raises(DataValueError, match=r"'label' has 1001 class\(es\)"):
        Pipeline(st.XGBoostClassifier("label")).fit(data)


@pytest.mark.parametrize("stage", [st.XGBoostClassifier, st.XGBoostRegressor])
def test_no_row_to_train_on_is_an_error(make: Callable[..., Dataset], y: np.ndarray, stage: Any) -> None:
    import narwhals as nw

    with pytest.raises(EmptyInputError, match="no row is left of 600 read"):
        Pipeline(stage("label")).fit(make(label=y > 0).filter(nw.col("f0") > 99))


@pytest.mark.parametrize(
    ("bad", "message"),
    [(None, "null"), (-1.0, "negative"), (float("inf"), "infinite")],
    ids=["null", "negative", "inf"],
)
def test_a_weight_that_is_none_is_told_with_file_and_row(
    local: Engine, tmp_path: Path, x: np.ndarray, y: np.ndarray, bad: Any, message: str
) -> None:
    data = parquet(local, tmp_path, x, label=y, w=with_values(np.ones(ROWS), [433, 500], bad))
    with pytest.raises(DataValueError, match=f"column 'w' has 2 values that are {message}") as caught:
        Pipeline(st.XGBoostRegressor("label", weight="w")).fit(data)
    assert (caught.value.path, caught.value.row) == (str(tmp_path / "1.parquet"), 33)


def test_validation_is_checked_as_well(make: Callable[..., Dataset], y: np.ndarray) -> None:
    with pytest.raises(DataValueError, match="'y' has 1 values that are null") as caught:
        Pipeline(st.XGBoostRegressor("y", num_boost_round=2)).fit(
            make(y=y), validation=make(y=with_values(y, [321], None))
        )
    assert caught.value.row == 321


@pytest.mark.parametrize(
    ("stage", "label"),
    [(st.XGBoostRegressor, ["a"] * ROWS), (st.XGBoostClassifier, pa.array([0] * ROWS, pa.date32()))],
)
def test_a_label_of_the_wrong_type_is_told_before_reading(make: Callable[..., Dataset], stage: Any, label: Any) -> None:
    with pytest.raises(SchemaError, match=r"label 'label' is (string|date32)"):
        Pipeline(stage("label")).plan(make(label=label))


# Parameters


@pytest.mark.parametrize(
    ("given", "message"),
    [
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
    ],
)
def test_a_wrong_parameter_is_refused_when_it_is_given(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        st.XGBoostRegressor("y", **given)


def test_parameters_of_xgboost_are_known_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xgboost.sklearn.SKLEARN_INSTALLED", False)
    boosting._known_parameters.cache_clear()
    known = {
        "max_leaves", "grow_policy", "colsample_bylevel", "colsample_bynode", "max_delta_step", "monotone_constraints",
        "interaction_constraints", "num_parallel_tree", "sampling_method", "base_score", "booster", "rate_drop",
        "tweedie_variance_power", "max_cat_to_onehot", "verbosity", "tree_method", "scale_pos_weight",
    }  # fmt: skip
    boosting.check_parameters("stage", dict.fromkeys(known))


def test_parameters_pass_through_json() -> None:
    stage = st.XGBoostClassifier(
        "label", features=["a", "b"], max_depth=3, params={"monotone_constraints": [1, -1], "max_leaves": 7}
    )
    stored = json.loads(json.dumps(stage.parameters()))
    assert st.XGBoostClassifier.from_parameters(stored) == stage


def test_a_parameter_that_xgboost_refuses_is_told_in_its_words(make: Callable[..., Dataset], y: np.ndarray) -> None:
    with pytest.raises(UserCodeError, match=r"train XGBoostRegressor raised XGBoostError.*no-such") as caught:
        Pipeline(st.XGBoostRegressor("y", objective="no-such")).fit(make(y=y))
    assert caught.value.stage == "train XGBoostRegressor"


# Checkpoints


class Interrupted(BaseException):
    """Ends the process, as far as training can tell."""


def interrupt(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    report = Rank.report

    def reports(self: Rank, rounds: int, detail: str = "") -> None:
        report(self, rounds, detail)
        if rounds == after:
            raise Interrupted

    monkeypatch.setattr(Rank, "report", reports)


@pytest.mark.parametrize("after", [2, 6, 7])
def test_a_training_that_goes_on_gives_the_model_of_one_that_was_never_interrupted(
    make: Callable[..., Dataset], y: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    stage = st.XGBoostRegressor("y", num_boost_round=10, subsample=0.5, colsample_bytree=0.7)
    options = SpmdOptions(checkpoint_dir=tmp_path, checkpoint_interval=3)
    with monkeypatch.context() as patched:
        interrupt(patched, after)
        with pytest.raises(Interrupted):
            Pipeline(stage).fit(make(y=y), options=options)
    assert len(list(tmp_path.iterdir())) == (after > 3)
    reported: list[int] = []
    report = Rank.report
    monkeypatch.setattr(
        Rank, "report", lambda self, rounds, detail="": (reported.append(rounds), report(self, rounds, detail))
    )
    resumed = Pipeline(stage).fit(make(y=y), options=options)
    assert reported == list(range(1 + (after - 1) // 3 * 3, 11))
    assert list(tmp_path.iterdir()) == []
    undisturbed = Pipeline(stage).fit(make(y=y), options=SpmdOptions(checkpoint_interval=3))
    assert resumed.fitted[0] == undisturbed.fitted[0]


def test_early_stopping_goes_on_where_it_was(
    make: Callable[..., Dataset], y: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = np.random.default_rng(3).permutation(y)
    stage = st.XGBoostRegressor("y", num_boost_round=60, early_stopping_rounds=5, learning_rate=0.5)
    undisturbed = Pipeline(stage).fit(make(y=y), validation=make(y=watched)).fitted[0]
    assert undisturbed["rounds"] <= 3  # the best is behind the checkpoint
    options = SpmdOptions(checkpoint_dir=tmp_path, checkpoint_interval=1)
    with monkeypatch.context() as patched:
        interrupt(patched, len(undisturbed["history"]["rmse"]) - 1)
        with pytest.raises(Interrupted):
            Pipeline(stage).fit(make(y=y), validation=make(y=watched), options=options)
    assert Pipeline(stage).fit(make(y=y), validation=make(y=watched), options=options).fitted[0] == undisturbed


def test_the_checkpoint_of_other_data_is_not_taken(
    make: Callable[..., Dataset], y: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = st.XGBoostRegressor("y", num_boost_round=4)
    options = SpmdOptions(checkpoint_dir=tmp_path, checkpoint_interval=1)
    with monkeypatch.context() as patched:
        interrupt(patched, 3)
        with pytest.raises(Interrupted):
            Pipeline(stage).fit(make(y=y), options=options)
    other = make(y=y[::-1])
    assert Pipeline(stage).fit(other, options=options).fitted[0] == Pipeline(stage).fit(other).fitted[0]


# How a rank trains


def test_data_that_is_read_again_gives_the_model_of_data_that_is_kept(
    make: Callable[..., Dataset], y: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = st.XGBoostRegressor("y", num_boost_round=5)
    kept = Pipeline(stage).fit(make(y=y), validation=make(y=y)).fitted[0]
    read: list[str] = []
    batches = Rank.batches
    monkeypatch.setattr(Rank, "batches", lambda self, name, *rest: (read.append(name), batches(self, name, *rest))[1])
    monkeypatch.setattr(matrix, "CACHE_BYTES", 100)
    assert Pipeline(stage).fit(make(y=y), validation=make(y=y)).fitted[0] == kept
    assert read.count("train") > 1


class Silent:
    """The channel of a rank that nobody listens to."""

    def meet(self) -> dict[str, Any]:
        return {}

    def save(self, checkpoint: Checkpoint) -> None:
        pass

    def round(self, rounds: int, detail: str) -> None:
        pass


def rank_of(data: dict[str, Dataset], *, size: int = 1, threads: int = 1, kind: Any = "cpu") -> Rank:
    """Return the last of `size` ranks."""
    work = Work.of(lambda rank: None, data, size, kind, threads)
    rank = Rank(size - 1, size, work, None, 10, Silent())  # type: ignore[arg-type]
    rank.size = 1  # it trains alone
    return rank


def test_a_rank_without_rows_has_a_matrix_without_rows(local: Engine) -> None:
    data = {"train": local.from_arrow(pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}))}
    convert = ToBatch(("x",), "y", None, None)
    for size in (1, 2):
        batches = Batches(rank_of(data, size=size), "train", convert)
        made = xgb.QuantileDMatrix(batches)
        assert (made.num_row(), made.num_col(), made.feature_names) == (0, 1, ["x"])


def test_the_matrix_is_freed_once_xgboost_has_its_own(local: Engine) -> None:
    data = {"train": local.from_arrow(pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]}))}
    batches = Batches(rank_of(data), "train", ToBatch(("x",), "y", None, None))
    boosting._quantised(batches, {"nthread": 1}, None)
    assert batches._held == []


def test_a_rank_uses_the_threads_it_has(local: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []
    monkeypatch.setattr(
        boosting, "_check_device",
        lambda booster, rank: used.append(json.loads(booster.save_config())["learner"]["generic_param"]["nthread"]),
    )  # fmt: skip
    data = {"train": local.from_arrow(pa.table({"x": [1.0, 2.0] * 10, "y": [1.0, 2.0] * 10}))}
    rank = rank_of(data, threads=3)
    boosting.boost(rank, ToBatch(("x",), "y", None, None), {}, num_boost_round=1, early_stopping_rounds=None)
    assert used == ["3"]


@pytest.mark.parametrize(
    ("asked", "used", "fails"), [("gpu", "cpu", True), ("gpu", "cuda:0", False), ("cpu", "cpu", False)]
)
def test_training_that_fell_back_to_the_cpu_is_an_error(asked: str, used: str, fails: bool) -> None:
    config = json.dumps({"learner": {"generic_param": {"device": used}}})
    booster: Any = SimpleNamespace(save_config=lambda: config)
    rank: Any = SimpleNamespace(kind=asked, index=3)
    if not fails:
        boosting._check_device(booster, rank)
        return
    with pytest.raises(ExecutionError, match=r"asked to train on a GPU and trained on 'cpu' \(rank 3\)"):
        boosting._check_device(booster, rank)


def test_the_configuration_says_where_it_was_trained(make: Callable[..., Dataset], y: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # XGBoost only warns where there is no GPU
        booster = xgb.train({"device": "cpu"}, xgb.DMatrix(np.zeros((2, 1)), label=[0, 1]), 1)
    assert json.loads(booster.save_config())["learner"]["generic_param"]["device"] == "cpu"


def test_features_beyond_float32_are_found_on_the_matrix() -> None:
    frame = frames.from_arrow(pa.table({"x": [1.0, 2.0], "big": [0.0, -1e300]}))
    with pytest.raises(DataValueError, match="'big': 1 value") as caught:
        matrix.finite_matrix(frame, ("x", "big"))
    assert frame.filter(caught.value.predicate)["big"].to_list() == [-1e300]
