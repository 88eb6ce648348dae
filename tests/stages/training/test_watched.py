"""Validation rows that say nothing of a model refuse early stopping by name, before anything is trained."""

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, EmptyInputError, TuningError
from penstock.stages.training.trees import _boosting
from penstock.stages.training.trees._objectives import RANKING, REGRESSION

ROWS = 60
BOOSTED = {"features": "x", "num_boost_round": 9, "early_stopping_rounds": 2}
OPTIONS = {"survival:aft": {"label_upper_bound": "t"}, "reg:quantileerror": {"quantile_alpha": 0.5}}
NONE = nw.col("x") > 99


def rows(engine: Engine, **columns: Any) -> Dataset:
    x, place = np.random.default_rng(0).normal(size=ROWS), np.arange(ROWS)
    given = {"x": x, "y": place % 2, "kind": place % 3, "q": place // 4, "t": np.abs(x) + 0.1, "w": np.ones(ROWS)}
    return engine.from_arrow(pa.table({**given, **columns}), fragment_bytes=1200)


def boosted(metric: str | None = None, label: str = "y", **options: Any) -> Any:
    return st.XGBoostClassifier(label, eval_metric=metric, **BOOSTED, **options)


def ranker(metric: str | None = None, **options: Any) -> Any:
    return st.XGBoostRanker("y", group="q", eval_metric=metric, **BOOSTED, **options)


def network(**options: Any) -> Any:
    return st.TorchClassifier("y", features="x", epochs=3, early_stopping_rounds=1, **options)


def fit(stage: Any, train: Dataset, validation: Dataset) -> ps.PipelineModel:
    return ps.Pipeline(stage).fit(train, validation=validation)


CASES = [
    (
        boosted("auc"),
        {"y": nw.lit(1)},
        "eval_metric 'auc' needs 2 different values of 'y', which 60 validation rows lack",
    ),
    (boosted("aucpr"), {"y": nw.lit(0)}, "eval_metric 'aucpr' needs 2 different values"),
    (boosted("auc", weight="w"), {"w": nw.col("y")}, "needs 2 different values of 'y' where 'w' is above 0, which"),
    (boosted("auc", "kind"), {"kind": nw.col("y")}, "needs 3 different values of 'kind', which 60"),
    (boosted(weight="w"), {"w": nw.lit(0.0)}, "'binary:logistic' needs rows of a weight above 0, which 60"),
    (network(weight="w"), {"w": nw.lit(0.0)}, "the loss 'cross_entropy' needs rows of a weight above 0"),
    (st.XGBoostRegressor("t", objective="survival:cox", **BOOSTED), {"t": -nw.col("t")}, "an event .above 0. in 't'"),
    *((ranker(metric), {"y": nw.lit(0)}, "in one group of 'q'") for metric in (None, "ndcg@2-", "auc")),
    (ranker(), {"q": nw.col("q") * 2 + nw.col("y")}, "2 different values of 'y' in one group of 'q'"),
    (ranker(weight="w"), {"w": nw.lit(0.0)}, "needs rows of a weight above 0"),
]


def test_a_metric_that_rows_say_nothing_of_is_refused_before_training(local, subtests, monkeypatch):
    monkeypatch.setattr(_boosting, "_rounds", None)  # nothing is boosted
    for stage, columns, problem in CASES:
        with subtests.test(problem), pytest.raises(DataValueError, match=problem) as caught:
            fit(stage, rows(local), rows(local).with_columns(**columns))
        assert (caught.value.stage, caught.value.hint[:21]) == (stage.title, "Pass other rows as va")


def test_no_rows_are_refused_for_every_objective_and_for_networks(local, subtests):
    regressions = [
        st.XGBoostRegressor("t", objective=name, **BOOSTED, **OPTIONS.get(name, {}))
        for name in REGRESSION
        if name != "reg:logistic"
    ]
    rankers = [ranker(objective=name) for name in RANKING]
    regressor = st.TorchRegressor("t", features="x", early_stopping_rounds=1)
    for stage in [*regressions, *rankers, boosted(), boosted(label="kind"), network(), regressor]:
        with subtests.test(repr(stage)), pytest.raises(EmptyInputError, match="needs rows to watch"):
            fit(stage, rows(local), rows(local).filter(NONE))


def test_ranks_agree_on_what_their_rows_say_together(engine):
    one_class = rows(engine).with_columns(y=nw.lit(1))
    with pytest.raises(DataValueError, match="60 validation rows lack"):
        fit(boosted("auc"), rows(engine), one_class)
    in_order = rows(engine, y=np.sort(np.arange(ROWS) % 2))  # no fragment has both classes
    assert fit(boosted("auc"), rows(engine), in_order).fitted[0]["rounds"] >= 1


def test_rows_that_do_say_something_are_watched(local, subtests):
    half = {"w": nw.col("y") * 1.0}  # a group counts by the mean of its weights, with all its rows
    for stage, columns in (
        (boosted(), {"y": nw.lit(1)}),
        (boosted("error"), {"y": nw.lit(1)}),
        (ranker(weight="w"), half),
        (ranker("rmse"), {"y": nw.lit(0)}),
        (st.XGBoostRegressor("t", objective="survival:cox", **BOOSTED), {"x": nw.col("x")}),
    ):
        with subtests.test(repr(stage)):
            assert fit(stage, rows(local), rows(local).with_columns(**columns)).fitted[0]["rounds"] >= 1


@pytest.mark.thorough
def test_folds_searches_and_refits_are_refused_alike(local, subtests):
    place, evaluator = np.arange(ROWS), st.BinaryClassificationEvaluator("y")
    data = rows(local, g=np.where(place < 40, place // 20, place % 2 * 2))
    folds = data.folds(3, group="g")  # those of g 2 are all of one class
    pipeline, space = ps.Pipeline(("trees", boosted("auc"))), {"trees.max_depth": [2, 3]}
    model = fit(boosted(), data, data)
    for door, kind, attempt in (
        ("cross_validate", DataValueError, lambda: ps.cross_validate(pipeline, data, evaluator, folds=folds)),
        ("search", TuningError, lambda: ps.CrossValidator(pipeline, space, evaluator, folds=folds).fit(data)),
        ("warm", EmptyInputError, lambda: model.refit(data, warm_start=True, validation=data.filter(NONE))),
        ("no new rows", EmptyInputError, lambda: model.refit(data.filter(NONE), warm_start=True, validation=data)),
    ):
        words = "there is nothing to learn" if door == "no new rows" else "early stopping by .* needs"
        with subtests.test(door), pytest.raises(kind, match=words):
            attempt()


def test_a_key_without_rows_to_watch_is_named_or_left_out(local):
    others = rows(local).filter(nw.col("kind") != 1)
    stage = st.XGBoostRegressor("t", **BOOSTED)
    with pytest.raises(DataValueError, match=r"where kind is 1: early stopping by .* needs rows to watch"):
        fit(st.PerKey(stage, by="kind"), rows(local), others)
    assert fit(st.PerKey(stage, by="kind", errors="skip"), rows(local), others).fitted[0]["keys"].num_rows == 2


def test_a_metric_that_is_no_number_ends_training_by_name(local):
    stage = st.XGBoostRegressor("t", eval_metric="mape", **BOOSTED)
    with pytest.raises(DataValueError, match="watches 'mape', which is inf of the validation rows after round 1"):
        fit(stage, rows(local), rows(local).with_columns(t=nw.lit(0.0)))  # mape divides by the label
    silent = st.XGBoostRegressor("t", params={"disable_default_eval_metric": True}, **BOOSTED)
    with pytest.raises(ConfigError, match="early stopping has no metric to watch"):
        fit(silent, rows(local), rows(local))


def test_a_metric_that_never_changes_is_noted(local):
    model = fit(boosted("error"), rows(local, x=np.zeros(ROWS)), rows(local))
    assert model.fitted[0]["rounds"] == 1
    assert any("error of the validation rows is the same after every round" in note for note in model.report.notes)
