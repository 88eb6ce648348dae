"""What a search reads: each level of the pipeline once for all trials and folds, and the evaluation once."""

from typing import Any

import pytest

import penstock as ps
from penstock import stages as st
from penstock.engines.base import Engine
from tests.search.rows import labelled


@pytest.fixture
def scans(local: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The labels of all scans and trainings of the local engine."""
    labels: list[str] = []
    for method in ("reduce", "spmd"):
        whole = getattr(local, method)

        def counted(*arguments: Any, label: str, whole: Any = whole) -> Any:
            labels.append(label)
            return whole(*arguments, label=label)

        monkeypatch.setattr(local, method, counted)
    return labels


@pytest.mark.thorough
def test_ten_trials_on_three_folds_scan_as_often_as_one_fit_and_one_evaluation(local, scans):
    data = local.from_arrow(labelled(200))
    scaled = st.Imputer("x"), st.StandardScaler(("x", "z")), st.StringIndexer("c")
    pipeline = ps.Pipeline(*scaled, st.LinearRegression("price"))
    penalties = [0.01 * number for number in range(5)]
    space = {"Imputer.strategy": ["mean", "median"], "LinearRegression.reg_param": penalties}
    result = ps.CrossValidator(pipeline, space, st.RegressionEvaluator(label="price"), folds=3, refit=False).fit(data)
    assert len(result.trials) == 10
    assert len(scans) == pipeline.plan(data).scans + 1


@pytest.mark.thorough
def test_folds_without_a_change_of_their_own_rows_are_trained_once_for_equal_trials(local, scans):
    data = local.from_arrow(labelled(), fragment_bytes=20_000)
    pipeline = ps.Pipeline(
        st.Imputer("x"), st.LogisticRegression("clicked", features="x"), st.Clip("probability", lower=0.0, upper=0.9)
    )
    evaluator = st.BinaryClassificationEvaluator(label="clicked")
    ps.CrossValidator(pipeline, {"Clip.upper": [0.9, 0.8, 0.7]}, evaluator, folds=3, refit=False).fit(data)
    assert sum(label.startswith("train") for label in scans) == 3


@pytest.mark.thorough
def test_a_stage_that_learns_from_the_same_is_fitted_once_for_all_trials(local, monkeypatch):
    fitted: list[Any] = []
    finish = st.StringIndexer.finish
    monkeypatch.setattr(st.StringIndexer, "finish", lambda *given: fitted.append(1) or finish(*given))
    data = local.from_arrow(labelled())
    pipeline = ps.Pipeline(st.StringIndexer("c"), st.LinearRegression("price", features=("z", "c")))
    space = {"LinearRegression.reg_param": [0.0, 0.1, 0.2, 0.3]}
    ps.CrossValidator(pipeline, space, st.RegressionEvaluator(label="price"), folds=3, refit=False).fit(data)
    assert len(fitted) == 3


def test_what_a_search_will_do_is_explained_before_anything_is_read(local, monkeypatch):
    monkeypatch.setattr(local, "reduce", None)
    pipeline = ps.Pipeline(st.Imputer("x"), st.LogisticRegression("clicked", features=("x", "z")))
    space = {"Imputer.strategy": ["mean", "median"], "LogisticRegression.reg_param": [0.0, 0.1, 0.2]}
    search = ps.CrossValidator(pipeline, space, st.BinaryClassificationEvaluator(label="clicked"), folds=4)
    lines = search.explain(local.from_arrow(labelled())).splitlines()
    assert lines[0].endswith("6 trial(s) on 4 fold(s) of 900 rows, by areaUnderROC, larger is better")
    assert "6 trial(s), 2 scan(s) to fit all of them, 1 to evaluate" in lines[1]
    assert "at most 24 training(s), one after the other" in lines[3]


@pytest.mark.thorough
def test_the_best_is_refitted_without_training_it_on_folds_again(local, scans):
    data = local.from_arrow(labelled(), fragment_bytes=20_000)
    pipeline = ps.Pipeline(st.Imputer("x"), st.XGBoostRegressor("price", features="x", num_boost_round=2))
    space = {"XGBoostRegressor.max_depth": [1, 2]}
    ps.CrossValidator(pipeline, space, st.RegressionEvaluator(label="price"), folds=3).fit(data)
    assert sum(label.startswith("train") for label in scans) == 2 * 3 + 1
