"""What a search gives: its table, its best model, and what a refit does."""

from __future__ import annotations

import json

import pytest

import penstock as ps
from penstock import stages as st
from penstock.engines.base import Engine
from penstock.search.search_result import SearchResult
from penstock.search.study import Outcome, Trial
from tests.search.rows import labelled

PRICE = st.RegressionEvaluator(label="price", metrics=("rmse", "r2"))


def result(values: list[float | None], larger_better: bool) -> SearchResult:
    """Return the result of trials whose metric on both folds is known."""
    trials = [Trial(number, {"model.depth": number}) for number in range(len(values))]
    outcomes = {number: Outcome("complete", value, [{"m": value}, {"m": value}]) for number, value in enumerate(values)}
    return SearchResult(trials, outcomes, "m", {"m": larger_better}, trials[0])


@pytest.mark.parametrize(("larger_better", "ranks"), [(True, [2, 1, None, 2]), (False, [1, 3, None, 1])])
def test_ranks_go_the_way_of_the_metric_and_equal_trials_share_one(larger_better: bool, ranks: list[int]) -> None:
    table = result([0.5, 0.9, None, 0.5], larger_better).table

    assert table["rank_test_m"].to_pylist() == ranks
    assert table["mean_test_m"].to_pylist() == [0.5, 0.9, None, 0.5]
    assert table["param_model.depth"].to_pylist() == [0, 1, 2, 3]


@pytest.mark.thorough
def test_the_table_has_the_mean_and_deviation_of_each_metric_over_the_folds(local: Engine) -> None:
    pipeline = ps.Pipeline(st.Imputer("x"), st.LinearRegression("price", features=("x", "z")))

    found = ps.CrossValidator(pipeline, {"LinearRegression.reg_param": [0.0, 9.0]}, PRICE, folds=3).fit(
        local.from_arrow(labelled())
    )

    for row in found.to_pandas().to_dict("records"):
        by_fold = [row[f"split{fold}_test_rmse"] for fold in range(3)]
        mean = sum(by_fold) / 3
        assert row["mean_test_rmse"] == pytest.approx(mean, rel=1e-15)
        deviation = (sum((value - mean) ** 2 for value in by_fold) / 3) ** 0.5
        assert row["std_test_rmse"] == pytest.approx(deviation, rel=1e-12)
    assert found.avg_metrics == found.table["mean_test_rmse"].to_pylist()
    assert found.best_score == min(found.avg_metrics)


@pytest.mark.thorough
def test_the_best_model_is_the_fit_of_the_best_parameters_to_all_rows(local: Engine) -> None:
    data = local.from_arrow(labelled())
    pipeline = ps.Pipeline(st.Imputer("x"), st.LinearRegression("price", features=("x", "z")))

    found = ps.CrossValidator(pipeline, {"LinearRegression.reg_param": [5.0, 0.0]}, PRICE, folds=3).fit(data)

    assert found.best_params == {"LinearRegression.reg_param": 0.0}
    assert found.best_model is not None
    assert found.best_model.digest == pipeline.with_params(found.best_params).fit(data).digest


@pytest.mark.thorough
def test_a_booster_that_was_stopped_early_is_refitted_for_the_rounds_it_kept_on_average(local: Engine) -> None:
    data = local.from_arrow(labelled())
    stage = st.XGBoostRegressor("price", features=("x", "z"), num_boost_round=60, early_stopping_rounds=3)
    pipeline = ps.Pipeline(stage)

    found = ps.CrossValidator(pipeline, {"XGBoostRegressor.learning_rate": [0.5]}, PRICE, folds=3).fit(data)

    kept = [
        pipeline.with_params(found.best_params).fit(fold.train, validation=fold.validation).fitted[0]["rounds"]
        for fold in data.folds(3)
    ]
    assert found.best_model is not None
    assert found.best_model.stages[0].num_boost_round == round(sum(kept) / 3)
    assert found.best_model.fitted[0]["rounds"] == round(sum(kept) / 3) < 60


@pytest.mark.thorough
def test_a_metric_of_a_model_chosen_by_nested_search_is_that_of_the_loop(local: Engine) -> None:
    data = local.from_arrow(labelled(400))
    pipeline = ps.Pipeline(st.Imputer("x"), st.LinearRegression("price", features=("x", "z")))
    search = ps.CrossValidator(pipeline, {"LinearRegression.reg_param": [0.0, 1.0]}, PRICE, folds=2)

    nested = ps.cross_validate(search, data, PRICE, folds=2)

    by_hand = [search.fit(fold.train).best_model.evaluate(fold.validation, PRICE) for fold in data.folds(2)]
    assert [dict(each) for each in nested.evaluations] == [dict(each) for each in by_hand]


@pytest.mark.thorough
def test_a_result_can_be_read_as_json(local: Engine) -> None:
    pipeline = ps.Pipeline(st.Imputer("x"), ("model", st.LinearRegression("price", features=("x", "z"))))
    space = {
        "model": [st.LinearRegression("price", features="z", reg_param=0.5), st.LinearRegression("price", features="z")]
    }

    found = ps.CrossValidator(pipeline, space, PRICE, folds=2, refit=False).fit(local.from_arrow(labelled(200)))

    rows = json.loads(json.dumps(found.table.to_pylist()))
    assert rows[0]["param_model"] == "LinearRegression(label='price', features=['z'], reg_param=0.5)"
