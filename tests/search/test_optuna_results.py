"""Any search as a study of Optuna's: its figures can be drawn, and importances are shares of the variance."""

import pytest
from scipy import stats

import penstock as ps
from penstock import stages as st
from penstock.search.study import Outcome, Trial
from tests.search.toy_studies import SPACES, run

FIGURES = ("optimization_history", "parallel_coordinate", "param_importances", "slice", "intermediate_values", "edf")


@pytest.fixture(scope="module")
def optuna_results():
    from penstock.search.with_optuna import results

    return results


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
def test_importances_are_shares_of_the_variance_of_a_sum(optuna_results):
    """Of 3 x + y / 2 + [k = b] they are 9 / 12, 1 / 48 and 1 / 4 of the whole, x and y even over 0 to 1."""
    space = {"x": stats.uniform(), "y": stats.uniform(), "k": ["a", "b"], "none": [1]}
    importances = optuna_results.param_importances(*results(ps.random(space, n=120, seed=2), total), "maximize")
    whole = 9 / 12 + 1 / 48 + 1 / 4
    assert list(importances) == ["x", "k", "y"]
    assert importances == pytest.approx({"x": 9 / 12 / whole, "k": 1 / 4 / whole, "y": 1 / 48 / whole}, abs=0.1)


def test_importances_are_of_parameters_that_every_trial_has_and_none_without_different_values(optuna_results):
    space = ps.grid({"model": ["flat", ps.when("deep", {"width": [1, 2, 3]})], "x": [1, 2, 3, 4]})
    trials, outcomes = results(space, lambda trial: trial.params["x"] + trial.params.get("width", 0) / 10)
    assert list(optuna_results.param_importances(trials, outcomes, "maximize")) == ["x", "model"]
    trials = [Trial(number, {"x": number}) for number in range(5)]
    for values in ([], [0.5], [0.5, 0.5, 0.5]):
        outcomes = {number: Outcome("complete", value) for number, value in enumerate(values)}
        assert optuna_results.param_importances(trials, outcomes, "maximize") == {}


def test_a_parameter_is_a_number_where_all_its_values_are(optuna_results, subtests):
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    for values, kind, expected in (
        ([1, 2, 4], IntDistribution(1, 4), [1, 2, 4]),
        ([1, 100], IntDistribution(1, 100, log=True), [1, 100]),
        ([0, 0.5], FloatDistribution(0, 0.5), [0, 0.5]),
        ([0.001, 0.1], FloatDistribution(0.001, 0.1, log=True), [0.001, 0.1]),
        ([True, False], CategoricalDistribution(["true", "false"]), ["true", "false"]),
        ([1, None], CategoricalDistribution(["1", "null"]), ["1", "null"]),
        ([(1, 2), "a"], CategoricalDistribution(["[1, 2]", "a"]), ["[1, 2]", "a"]),
    ):
        with subtests.test(values=values):
            trials = [Trial(number, {"x": value}) for number, value in enumerate(values)]
            outcomes = {trial.number: Outcome("complete", 1.0) for trial in trials}
            study = optuna_results.as_optuna_study(trials, outcomes, "minimize")
            assert {trial.distributions["x"] for trial in study.trials} == {kind}
            assert [trial.params["x"] for trial in study.trials] == expected


def test_outcomes_and_fractions_are_what_optuna_calls_them_and_trials_under_way_are_left_out(optuna_results):
    from optuna.trial import TrialState

    outcomes = {
        1: Outcome("failed", reason="no rows"),
        2: Outcome("complete", None, [{"auc": None}], reason="one class"),
        3: Outcome("pruned", None, [{"auc": 0.6}]),
        4: Outcome("complete", 0.7, [{"auc": 0.6}, {"auc": 0.8}]),
    }
    study = optuna_results.as_optuna_study([Trial(i, {"x": 1}) for i in range(5)], outcomes, "maximize", "auc")
    states = [TrialState.FAIL, TrialState.PRUNED, TrialState.PRUNED, TrialState.COMPLETE]
    assert [trial.state for trial in study.trials] == states
    assert [trial.user_attrs["trial"] for trial in study.trials] == [1, 2, 3, 4]
    assert study.trials[3].intermediate_values == {0: 0.6, 1: 0.8}
    assert study.best_value == 0.7
    trials, outcomes = results(ps.halving({"x": [1, 2, 3, 4]}, factor=2), lambda trial: trial.fraction)
    study = optuna_results.as_optuna_study(trials, outcomes, "maximize")
    assert [trial.params["fraction of rows"] for trial in study.trials] == [0.25] * 4 + [0.5] * 2 + [1.0]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_figures_of_optuna_can_be_drawn_of_every_strategy(optuna_results, subtests):
    from optuna import visualization

    models = [st.LogisticRegression("y"), ps.when(st.XGBoostClassifier("y"), {"model.max_depth": [2, 4]})]
    halving = ps.halving({"model": models, "x": [1, 2]}, factor=2)
    searches = {"halving": results(halving, lambda trial: trial.params["x"])}
    for name, space in SPACES.items():
        study = run(space().start({}, "minimize"))
        searches[name] = study.trials, study.outcomes
    for name, (trials, outcomes) in searches.items():
        drawn = optuna_results.as_optuna_study(trials, outcomes, "minimize", "loss")
        for figure in FIGURES:
            with subtests.test(strategy=name, figure=figure):
                assert getattr(visualization, f"plot_{figure}")(drawn).to_json()
