"""Successive halving: its rungs and who is on them are scikit-learn's; little to many, all to few."""

import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError
from penstock.search.study import Outcome

GRID = {"a": list(range(5)), "b": [0.0, 0.5, 1.0, 1.5]}


def score(params, resource):
    """Noisy where there is little: who looks best changes with the resource."""
    return -abs(params["a"] - 2.2) - abs(params["b"] - 0.6) + math.sin(7 * params["a"] + 3 * params["b"]) / resource


class Scored(BaseEstimator):
    def __init__(self, a=0, b=0.0, rounds=1):
        self.a, self.b, self.rounds = a, b, rounds

    def fit(self, X, y=None):
        return self

    def score(self, X, y=None):
        return score({"a": self.a, "b": self.b}, self.rounds)


def run(study, resource):
    rungs = []
    while batch := study.ask():
        rungs.append(batch)
        for trial in batch:
            study.tell(trial, Outcome("complete", score(trial.params, resource(trial))))
    return rungs


def of_scikit_learn(factor):
    how = {"factor": factor, "resource": "rounds", "max_resources": factor**3, "min_resources": "exhaust"}
    search = HalvingGridSearchCV(Scored(), GRID, cv=2, **how).fit(np.zeros((8, 1)))
    rungs = [(set(), resources) for resources in search.n_resources_]
    for params, rung in zip(search.cv_results_["params"], search.cv_results_["iter"], strict=True):
        rungs[rung][0].add((params["a"], params["b"]))
    return rungs


def test_the_rungs_and_who_is_on_them_are_those_of_scikit_learn():
    for factor in (2, 3, 4):
        space = ps.halving(ps.grid(GRID), factor=factor, resource="rounds", max_resources=factor**3)
        rungs = run(space.start({}), lambda trial: trial.params["rounds"])
        found = [({(each.params["a"], each.params["b"]) for each in rung}, rung[0].params["rounds"]) for rung in rungs]
        assert found == of_scikit_learn(factor)


def test_over_rows_the_last_rung_has_all_and_the_best_is_on_it():
    space = ps.halving(GRID, factor=3)
    study = space.start({})
    rungs = run(study, lambda trial: 27 * trial.fraction)
    sizes = [(len(rung), {trial.fraction for trial in rung}) for rung in rungs]
    assert sizes == [(20, {1 / 9}), (7, {1 / 3}), (3, {1.0})]
    assert study.n_trials == len(space) == len(study.trials) == 30
    last = max(rungs[-1], key=lambda trial: study.outcomes[trial.number].value)
    assert study.best() == last
    assert max(outcome.value for outcome in study.outcomes.values()) > study.outcomes[last.number].value


def test_a_least_fraction_makes_fewer_rungs_and_settings_drawn_at_random_compete_too():
    assert ps.halving(GRID, factor=2, min_resources=0.2).resources == (0.25, 0.5, 1.0)
    assert ps.halving(GRID, factor=2, min_resources=1).resources == (1.0,)
    space = ps.halving(ps.random(GRID, n=9, seed=1), factor=3)
    assert [len(rung) for rung in run(space.start({}), lambda trial: 1)] == [9, 3, 1]


def test_what_has_no_value_does_not_go_on():
    study = ps.halving(GRID, factor=2).start({}, "minimize")
    for trial in study.ask():
        study.tell(trial, Outcome("complete", 5.0) if trial.number in (3, 8) else Outcome("failed", reason="x"))
    second = study.ask()
    assert [dict(trial.params) for trial in second] == [dict(study.trials[number].params) for number in (3, 8)]
    for trial in second:
        study.tell(trial, Outcome("complete", None, reason="one class"))
    assert study.ask() == []
    assert study.best().number == 3  # of those that learned from the most rows and have a value


@pytest.mark.thorough
def test_a_study_that_starts_anew_after_every_batch_is_the_undisturbed_one(tmp_path):
    for space in (ps.halving(GRID, factor=2), ps.halving(GRID, resource="rounds", max_resources=90, min_resources=5)):
        undisturbed = space.start({})
        run(undisturbed, lambda trial: trial.params.get("rounds", trial.fraction))
        path = str(tmp_path / f"{space.resource}.journal")
        while batch := (study := space.start({}, "maximize", path)).ask():
            for trial in batch[: len(batch) // 2 + 1]:
                resource = trial.params.get("rounds", trial.fraction)
                study.tell(trial, Outcome("complete", score(trial.params, resource)))
            study.close()
        assert (study.trials, study.outcomes) == (undisturbed.trials, undisturbed.outcomes)
        study.close()


def test_rungs_that_are_none_and_a_resource_that_the_pipeline_does_not_take_are_refused(subtests):
    for options, message in (
        ({"factor": 1}, "factor is 1, expected at least 2"),
        ({"factor": 2.5}, "factor is 2.5, expected a positive integer"),
        ({"min_resources": 0.0}, "min_resources is 0.0, expected a fraction"),
        ({"min_resources": 300}, "min_resources is 300, expected a fraction"),
        ({"max_resources": 300}, "max_resources is of a parameter"),
        ({"resource": "rounds"}, "max_resources is None"),
        ({"resource": "rounds", "max_resources": 10, "min_resources": 20}, "expected at most max_resources, 10"),
        ({"resource": "a", "max_resources": 10}, "gives 'a', which is the resource"),
    ):
        with subtests.test(message), pytest.raises(ConfigError, match=message):
            ps.halving(GRID, **options)
    pipeline = ps.Pipeline(("model", st.XGBoostRegressor("y")))
    space = ps.halving({"model.max_depth": [2, 3]}, resource="model.num_boost_rounds", max_resources=20)
    with pytest.raises(ConfigError, match=r"Did you mean 'num_boost_round'\?"):
        space.check(pipeline)
    ps.halving({"model.max_depth": [2, 3]}, resource="model.num_boost_round", max_resources=20).check(pipeline)
