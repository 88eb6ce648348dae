"""Trials that do not look promising are stopped after a fold, and the others are what they would have been."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock import stages as st
from penstock.engines.base import Engine
from tests.search.rows import labelled

PIPELINE = ps.Pipeline(st.Imputer("x"), ("model", st.LinearRegression("price", features=("x", "z"))))
PRICE = st.RegressionEvaluator(label="price", metrics="rmse")


@pytest.fixture
def space() -> dict[str, list[float]]:
    pytest.importorskip("optuna")
    return {"model.reg_param": [0.0, 0.001, 0.01, 0.1, 5.0, 50.0, 500.0, 5000.0, 9000.0]}


def search(space: dict[str, list[float]], pruner: str | None) -> ps.CrossValidator:
    tried = ps.optuna_search(space, n_trials=9, sampler="random", pruner=pruner, seed=1, batch_size=3)
    return ps.CrossValidator(PIPELINE, tried, PRICE, folds=4, refit=False)


@pytest.mark.thorough
def test_a_pruned_search_runs_bad_trials_on_fewer_folds(local: Engine, space: dict[str, list[float]]) -> None:
    rows = search(space, "median").fit(local.from_arrow(labelled())).table.to_pylist()

    pruned = [row for row in rows if row["state"] == "pruned"]
    assert pruned
    best = min(row["split0_test_rmse"] for row in rows)
    assert all(row["split0_test_rmse"] > best for row in pruned)
    assert all(row["split0_test_rmse"] is not None and row["split3_test_rmse"] is None for row in pruned)
    assert all(row["rank_test_rmse"] is None for row in pruned)


@pytest.mark.thorough
def test_trials_that_are_not_pruned_have_the_metrics_they_have_without_a_pruner(
    local: Engine, space: dict[str, list[float]]
) -> None:
    data = local.from_arrow(labelled())
    found, whole = (search(space, pruner).fit(data) for pruner in ("median", None))

    by_params = {trial.params["model.reg_param"]: whole.outcomes[trial.number].metrics for trial in whole.trials}
    complete = [trial for trial in found.trials if found.outcomes[trial.number].state == "complete"]
    assert complete
    for trial in complete:
        assert found.outcomes[trial.number].metrics == by_params[trial.params["model.reg_param"]]
    assert found.best_params == whole.best_params


@pytest.mark.thorough
def test_halving_over_rows_trains_rungs_on_nested_samples_and_the_last_on_all(local: Engine) -> None:
    data = local.from_arrow(labelled())
    space = ps.halving({"model.reg_param": [0.0, 0.1, 5.0, 500.0]}, factor=2)

    found = ps.CrossValidator(PIPELINE, space, PRICE, folds=3).fit(data)

    fractions = [trial.fraction for trial in found.trials]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    by_hand = PIPELINE.with_params(found.best_params)
    metrics = [dict(by_hand.fit(fold.train).evaluate(fold.validation, PRICE)) for fold in data.folds(3)]
    assert [dict(each) for each in found.outcomes[found.best_trial.number].metrics] == metrics
