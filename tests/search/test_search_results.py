"""Results of a search: table, best model, refit, pruned trials and rungs."""

import json
from statistics import fmean, pstdev

import pytest

import penstock as ps
from penstock import stages as st
from penstock.search.search_result import SearchResult
from penstock.search.study import Outcome, Trial
from tests.search.rows import labelled

PRICE = st.RegressionEvaluator(label="price", metrics=("rmse", "r2"))
PIPELINE = ps.Pipeline(st.Imputer("x"), st.LinearRegression("price", features=("x", "z")))


def result(values: list[float | None], larger_better: bool) -> SearchResult:
    """Return the result of trials whose metric on both folds is known."""
    trials = [Trial(number, {"model.depth": number}) for number in range(len(values))]
    outcomes = {number: Outcome("complete", value, [{"m": value}, {"m": value}]) for number, value in enumerate(values)}
    return SearchResult(trials, outcomes, "m", {"m": larger_better}, trials[0])


def test_ranks_go_the_way_of_the_metric_and_equal_trials_share_one():
    for larger_better, ranks in ((True, [2, 1, None, 2]), (False, [1, 3, None, 1])):
        table = result([0.5, 0.9, None, 0.5], larger_better).table
        assert table["rank_test_m"].to_pylist() == ranks
        assert table["mean_test_m"].to_pylist() == [0.5, 0.9, None, 0.5]
        assert table["param_model.depth"].to_pylist() == [0, 1, 2, 3]


@pytest.mark.thorough
def test_the_table_has_the_mean_and_deviation_of_each_metric_and_the_best_model_is_of_all_rows(local):
    data = local.from_arrow(labelled())
    space = {"LinearRegression.reg_param": [9.0, 0.0]}
    found = ps.CrossValidator(PIPELINE, space, PRICE, folds=3).fit(data)
    for row in found.to_pandas().to_dict("records"):
        by_fold = [row[f"split{fold}_test_rmse"] for fold in range(3)]
        assert row["mean_test_rmse"] == pytest.approx(fmean(by_fold), rel=1e-15)
        assert row["std_test_rmse"] == pytest.approx(pstdev(by_fold), rel=1e-12)
    assert found.avg_metrics == found.table["mean_test_rmse"].to_pylist()
    assert found.best_score == min(found.avg_metrics)
    assert found.best_params == {"LinearRegression.reg_param": 0.0}
    assert found.best_model is not None
    assert found.best_model.digest == PIPELINE.with_params(found.best_params).fit(data).digest


@pytest.mark.thorough
def test_a_booster_that_was_stopped_early_is_refitted_for_the_rounds_it_kept_on_average(local):
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
def test_a_metric_of_a_model_chosen_by_nested_search_is_that_of_the_loop(local):
    data = local.from_arrow(labelled(400))
    search = ps.CrossValidator(PIPELINE, {"LinearRegression.reg_param": [0.0, 1.0]}, PRICE, folds=2)
    nested = ps.cross_validate(search, data, PRICE, folds=2)
    by_hand = [search.fit(fold.train).best_model.evaluate(fold.validation, PRICE) for fold in data.folds(2)]
    assert [dict(each) for each in nested.evaluations] == [dict(each) for each in by_hand]
    assert nested.mean == {name: fmean(each[name] for each in by_hand) for name in ("rmse", "r2")}


@pytest.mark.thorough
def test_a_result_can_be_read_as_json(local):
    models = [st.LinearRegression("price", features="z", reg_param=penalty) for penalty in (0.5, 0.0)]
    search = ps.CrossValidator(PIPELINE, {"LinearRegression": models}, PRICE, folds=2, refit=False)
    rows = json.loads(json.dumps(search.fit(local.from_arrow(labelled(200))).table.to_pylist()))
    assert rows[0]["param_LinearRegression"] == "LinearRegression(label='price', features=['z'], reg_param=0.5)"


def pruned_search(pruner: str | None) -> ps.CrossValidator:
    space = {"LinearRegression.reg_param": [0.0, 0.001, 0.01, 0.1, 5.0, 50.0, 500.0, 5000.0, 9000.0]}
    tried = ps.optuna_search(space, n_trials=9, sampler="random", pruner=pruner, seed=1, batch_size=3)
    return ps.CrossValidator(PIPELINE, tried, PRICE, folds=4, refit=False)


@pytest.mark.thorough
def test_bad_trials_are_run_on_fewer_folds_and_the_others_have_the_metrics_that_they_have_without_a_pruner(local):
    pytest.importorskip("optuna")
    data = local.from_arrow(labelled())
    found, whole = (pruned_search(pruner).fit(data) for pruner in ("median", None))
    rows = found.table.to_pylist()
    pruned = [row for row in rows if row["state"] == "pruned"]
    assert pruned
    best = min(row["split0_test_rmse"] for row in rows)
    assert all(row["split0_test_rmse"] > best for row in pruned)
    assert all(row["split3_test_rmse"] is row["rank_test_rmse"] is None for row in pruned)
    by_params = {t.params["LinearRegression.reg_param"]: whole.outcomes[t.number].metrics for t in whole.trials}
    complete = [trial for trial in found.trials if found.outcomes[trial.number].state == "complete"]
    assert complete
    for trial in complete:
        assert found.outcomes[trial.number].metrics == by_params[trial.params["LinearRegression.reg_param"]]
    assert found.best_params == whole.best_params


@pytest.mark.thorough
def test_halving_over_rows_trains_rungs_on_nested_samples_and_the_last_on_all(local):
    data = local.from_arrow(labelled())
    space = ps.halving({"LinearRegression.reg_param": [0.0, 0.1, 5.0, 500.0]}, factor=2)
    found = ps.CrossValidator(PIPELINE, space, PRICE, folds=3).fit(data)
    assert [trial.fraction for trial in found.trials] == [0.25] * 4 + [0.5] * 2 + [1.0]
    by_hand = PIPELINE.with_params(found.best_params)
    metrics = [dict(by_hand.fit(fold.train).evaluate(fold.validation, PRICE)) for fold in data.folds(3)]
    assert [dict(each) for each in found.outcomes[found.best_trial.number].metrics] == metrics
