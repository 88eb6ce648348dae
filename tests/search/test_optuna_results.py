"""Any search as a study of Optuna's: its figures can be drawn, and importances are shares of the variance."""

from __future__ import annotations

import optuna
import pytest
from optuna import visualization
from optuna.trial import TrialState
from scipy import stats

import penstock as ps
from penstock import stages as st
from penstock.search.study import Outcome, Trial
from penstock.search.with_optuna.results import as_optuna_study, param_importances
from tests.search.toy_studies import SPACES, run

FIGURES = ("optimization_history", "parallel_coordinate", "param_importances", "slice", "intermediate_values", "edf")


def results(space, value):
    """Return the trials of a space, and an outcome of each."""
    study = space.start({})
    while batch := study.ask():
        for trial in batch:
            study.tell(trial, Outcome("complete", value(trial), [{"auc": value(trial)}, {"auc": 0.5}]))
    return study.trials, study.outcomes


def total(trial):
    return 3 * trial.params["x"] + trial.params["y"] / 2 + (trial.params["k"] == "b")


@pytest.mark.thorough
def test_importances_are_shares_of_the_variance_of_a_sum():
    """Of 3 x + y / 2 + [k = b] they are 9 / 12, 1 / 48 and 1 / 4 of the whole, x and y even over 0 to 1."""
    space = {"x": stats.uniform(), "y": stats.uniform(), "k": ["a", "b"], "none": [1]}
    importances = param_importances(*results(ps.random(space, n=120, seed=2), total), "maximize")
    whole = 9 / 12 + 1 / 48 + 1 / 4
    assert list(importances) == ["x", "k", "y"]
    assert importances == pytest.approx({"x": 9 / 12 / whole, "k": 1 / 4 / whole, "y": 1 / 48 / whole}, abs=0.1)


def test_importances_are_of_parameters_that_every_trial_has():
    space = ps.grid({"model": ["flat", ps.when("deep", {"width": [1, 2, 3]})], "x": [1, 2, 3, 4]})
    trials, outcomes = results(space, lambda trial: trial.params["x"] + trial.params.get("width", 0) / 10)
    assert list(param_importances(trials, outcomes, "maximize")) == ["x", "model"]


@pytest.mark.parametrize("values", [[], [0.5], [0.5, 0.5, 0.5]])
def test_without_different_values_nothing_is_important(values):
    trials = [Trial(number, {"x": number}) for number in range(5)]
    outcomes = {number: Outcome("complete", value) for number, value in enumerate(values)}
    assert param_importances(trials, outcomes, "maximize") == {}


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2, 4], optuna.distributions.IntDistribution(1, 4), [1, 2, 4]),
        ([1, 100], optuna.distributions.IntDistribution(1, 100, log=True), [1, 100]),
        ([0, 0.5], optuna.distributions.FloatDistribution(0, 0.5), [0, 0.5]),
        ([0.001, 0.1], optuna.distributions.FloatDistribution(0.001, 0.1, log=True), [0.001, 0.1]),
        ([True, False], optuna.distributions.CategoricalDistribution(["true", "false"]), ["true", "false"]),
        ([1, None], optuna.distributions.CategoricalDistribution(["1", "null"]), ["1", "null"]),
        ([(1, 2), "a"], optuna.distributions.CategoricalDistribution(["[1, 2]", "a"]), ["[1, 2]", "a"]),
    ],
)
def test_a_parameter_is_a_number_where_all_its_values_are(values, kind, expected):
    trials = [Trial(number, {"x": value}) for number, value in enumerate(values)]
    study = as_optuna_study(trials, {trial.number: Outcome("complete", 1.0) for trial in trials}, "minimize")
    assert {trial.distributions["x"] for trial in study.trials} == {kind}
    assert [trial.params["x"] for trial in study.trials] == expected


def test_outcomes_are_what_optuna_calls_them_and_trials_under_way_are_left_out():
    outcomes = {
        1: Outcome("failed", reason="no rows"),
        2: Outcome("complete", None, [{"auc": None}], reason="one class"),
        3: Outcome("pruned", None, [{"auc": 0.6}]),
        4: Outcome("complete", 0.7, [{"auc": 0.6}, {"auc": 0.8}]),
    }
    study = as_optuna_study([Trial(number, {"x": 1}) for number in range(5)], outcomes, "maximize", "auc")
    states = [TrialState.FAIL, TrialState.PRUNED, TrialState.PRUNED, TrialState.COMPLETE]
    assert [trial.state for trial in study.trials] == states
    assert [trial.user_attrs["trial"] for trial in study.trials] == [1, 2, 3, 4]
    assert study.trials[3].intermediate_values == {0: 0.6, 1: 0.8}
    assert study.best_value == 0.7


def test_the_fraction_of_rows_is_a_parameter_where_it_varies():
    trials, outcomes = results(ps.halving({"x": [1, 2, 3, 4]}, factor=2), lambda trial: trial.fraction)
    study = as_optuna_study(trials, outcomes, "maximize")
    assert [trial.params["fraction of rows"] for trial in study.trials] == [0.25] * 4 + [0.5] * 2 + [1.0]


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*SPACES, "halving"])
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_figures_of_optuna_can_be_drawn_of_every_strategy(name):
    if name == "halving":
        models = [st.LogisticRegression("y"), ps.when(st.XGBoostClassifier("y"), {"model.max_depth": [2, 4]})]
        trials, outcomes = results(
            ps.halving({"model": models, "x": [1, 2]}, factor=2), lambda trial: trial.params["x"]
        )
    else:
        study = run(SPACES[name]().start({}, "minimize"))
        trials, outcomes = study.trials, study.outcomes
    drawn = as_optuna_study(trials, outcomes, "minimize", "loss")
    for figure in FIGURES:
        assert getattr(visualization, f"plot_{figure}")(drawn).to_json()
