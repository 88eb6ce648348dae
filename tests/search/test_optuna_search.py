"""What Optuna proposes and prunes: the same after a restart, better than chance, and none of it twice."""

from __future__ import annotations

import functools
import math

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from scipy import stats

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError
from penstock.search.study import Outcome
from tests.search.toy_studies import SPACE, loss, outcome_of, run, table

CURVES = {"x": FloatDistribution(-3, 3), "depth": IntDistribution(1, 8), "rate": FloatDistribution(1e-3, 1, log=True)}


def values(study):
    return [outcome.value for outcome in study.outcomes.values() if outcome.value is not None]


def run_whole(study):
    """Run a study whose trials all end with a value."""
    while batch := study.ask():
        for trial in batch:
            study.tell(trial, Outcome("complete", loss({"kind": "flat", **trial.params})))
    return study


@pytest.mark.thorough
def test_tpe_beats_random_search_of_as_many_trials():
    seeds = range(5)
    proposed = [run_whole(ps.optuna_search(CURVES, n_trials=60, seed=seed).start({}, "minimize")) for seed in seeds]
    drawn = [run_whole(ps.random(CURVES, n=60, seed=seed).start({}, "minimize")) for seed in seeds]
    assert sum(min(values(study)) for study in proposed) < sum(min(values(study)) for study in drawn)
    assert min(min(values(study)) for study in proposed) < 1.01  # the least there is with this kind is 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sampler",
    [
        "tpe",
        "random",
        functools.partial(optuna.samplers.TPESampler, n_startup_trials=4),
        optuna.samplers.NSGAIISampler,
        optuna.samplers.QMCSampler,
        pytest.param("gp", marks=pytest.mark.thorough),
    ],
    ids=["tpe", "random", "partial", "nsga2", "qmc", "gp"],
)
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_study_that_starts_anew_after_every_batch_is_the_undisturbed_one(sampler, tmp_path):
    n = 9 if sampler == "gp" else 14
    space = ps.optuna_search(SPACE, n_trials=n, sampler=sampler, seed=2, batch_size=4, pruner="hyperband")
    expected = table(run(space.start({}, "minimize")))
    while True:
        study = space.start({}, "minimize", str(tmp_path / "study.journal"))
        if not (batch := study.ask()):
            break
        for trial in batch:
            study.tell(trial, outcome_of(study, trial))
        study.close()
    assert table(study) == expected


@pytest.mark.thorough
def test_cmaes_goes_on_with_its_state(tmp_path):
    pytest.importorskip("cmaes")
    space = ps.optuna_search(CURVES, n_trials=24, sampler="cmaes", batch_size=6)
    expected = table(run_whole(space.start({}, "minimize")))
    for _ in range(5):
        study = space.start({}, "minimize", str(tmp_path / "study.journal"))
        for trial in study.ask():
            study.tell(trial, Outcome("complete", loss({"kind": "flat", **trial.params})))
        study.close()
    assert table(study) == expected


def test_a_batch_is_as_large_as_said_and_seeds_differ():
    first, same, other = (ps.optuna_search(SPACE, n_trials=8, seed=seed, batch_size=8).start({}) for seed in (1, 1, 2))
    assert len(first.ask()) == 8
    assert first.ask() == same.ask()
    assert first.ask() != other.ask()


@pytest.mark.thorough
def test_parameters_of_a_value_are_proposed_beside_it_alone():
    study = run(ps.optuna_search(SPACE, n_trials=30, seed=4).start({}, "minimize"))
    for trial in study.trials:
        assert ("width" in trial.params) == (trial.params["kind"] == "deep")


def test_stages_and_values_of_several_types_are_proposed_as_they_are():
    choices = [st.Clip("x", lower=0), None, 1, True, 1.0, "1", (1, 2)]
    space = {"a": choices, "b": CategoricalDistribution([0.1, 0.2])}
    study = ps.optuna_search(space, n_trials=14, batch_size=14, sampler="random").start({})
    seen = []
    while batch := study.ask():
        for trial in batch:
            seen.append((type(trial.params["a"]), trial.params["a"]))
            study.tell(trial, Outcome("complete", 1.0))
    assert {kind for kind, _ in seen} == {st.Clip, type(None), int, bool, float, str, tuple}


def test_a_setting_is_run_once_and_the_search_ends_when_all_are_tried():
    study = ps.optuna_search({"a": [1, 2, 3]}, n_trials=50, batch_size=2).start({}, "minimize")
    runs = []
    while batch := study.ask():
        for trial in batch:
            runs.append(trial.params["a"])
            study.tell(trial, Outcome("complete", 0.5 * trial.params["a"], seconds=1.0))
    assert sorted(runs) == [1, 2, 3]
    again = [outcome for outcome in study.outcomes.values() if outcome.seconds == 0.0]
    assert len(again) == len(study.trials) - 3
    assert all(outcome.reason.startswith("has the parameters of trial") for outcome in again)
    assert all(study.outcomes[trial.number].value == 0.5 * trial.params["a"] for trial in study.trials)


def test_what_fails_or_has_no_value_does_not_end_a_search():
    study = ps.optuna_search(CURVES, n_trials=20).start({})
    while batch := study.ask():
        for trial in batch:
            failed = trial.number % 2
            study.tell(
                trial, Outcome("failed", reason="no") if failed else Outcome("complete", None, reason="one class")
            )
    assert len(study.outcomes) == 20
    assert study.best() is None


@pytest.mark.thorough
def test_what_has_no_value_loses_and_the_sampler_leaves_it():
    """Without that the sampler would go where it knows no loss: of trials that fail it knows nothing."""
    late = {}
    for state in ("complete", "failed"):
        study = ps.optuna_search({"x": FloatDistribution(-1, 1)}, n_trials=60, seed=1).start({})
        while batch := study.ask():
            for trial in batch:
                is_left = trial.params["x"] < 0
                study.tell(trial, Outcome("complete", 0.0) if is_left else Outcome(state, None))
        late[state] = sum(trial.params["x"] < 0 for trial in study.trials[30:])
    assert late["complete"] > 20
    assert late["failed"] < 10


@pytest.mark.thorough
def test_the_median_pruner_says_what_optuna_says_after_the_same_trials():
    space = ps.optuna_search(
        {"x": FloatDistribution(0, 1)}, n_trials=30, batch_size=1, sampler="random", pruner="median"
    )
    study, judged = space.start({}, "minimize"), []
    oracle = optuna.create_study(direction="minimize", pruner=optuna.pruners.MedianPruner())
    while batch := study.ask():
        (trial,) = batch
        other = oracle.ask()
        state = "complete"
        for step in range(4):
            value = trial.params["x"] + math.sin(10 * trial.params["x"] + step)
            study.report(trial, step, value)
            other.report(value, step)
            assert study.should_prune(trial) == other.should_prune()
            if other.should_prune():
                state = "pruned"
                break
        judged.append(state)
        oracle.tell(other, value if state == "complete" else None, optuna.trial.TrialState[state[:8].upper()])
        study.tell(trial, Outcome(state, value if state == "complete" else None))
    assert set(judged) == {"complete", "pruned"}


@pytest.mark.parametrize("pruner", ["successive_halving", "hyperband", optuna.pruners.ThresholdPruner(upper=4.0)])
@pytest.mark.thorough
def test_pruners_stop_bad_trials_and_keep_the_best(pruner):
    study = ps.optuna_search(CURVES, n_trials=40, batch_size=5, pruner=pruner).start({}, "minimize")
    losses = {}
    while batch := study.ask():
        for trial in batch:
            losses[trial.number] = loss({"kind": "flat", **trial.params})
            outcome = Outcome("complete", losses[trial.number])
            for step in range(1, 9):
                study.report(trial, step, losses[trial.number] + 1 / step)
                if study.should_prune(trial):
                    outcome = Outcome("pruned")
                    break
            study.tell(trial, outcome)
    states = {number: outcome.state for number, outcome in study.outcomes.items()}
    assert set(states.values()) == {"complete", "pruned"}
    by_state = {each: [losses[number] for number in states if states[number] == each] for each in set(states.values())}
    assert sorted(by_state["complete"])[0] < sorted(by_state["pruned"])[len(by_state["pruned"]) // 2]


@pytest.mark.thorough
def test_the_order_within_a_batch_does_not_matter_to_what_is_pruned():
    def states(order):
        study = ps.optuna_search(CURVES, n_trials=24, batch_size=6, pruner="successive_halving").start({}, "minimize")
        while batch := study.ask():
            for trial in order(batch):
                study.tell(trial, outcome_of_curve(study, trial))
        return [study.outcomes[number].state for number in range(24)]

    assert states(list) == states(reversed)


def outcome_of_curve(study, trial):
    value = loss({"kind": "flat", **trial.params})
    for step in range(1, 9):
        study.report(trial, step, value + 1 / step)
        if study.should_prune(trial):
            return Outcome("pruned")
    return Outcome("complete", value)


def test_a_step_without_a_value_says_nothing():
    study = ps.optuna_search(CURVES, n_trials=2, batch_size=1, pruner="median").start({})
    (trial,) = study.ask()
    study.report(trial, 0, None)
    assert not study.should_prune(trial)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": "tpr"}, "sampler is 'tpr', expected one of tpe, gp, random, cmaes. Did you mean 'tpe'?"),
        ({"sampler": optuna.samplers.TPESampler(seed=1)}, "sampler is a TPESampler, whose random numbers end"),
        ({"pruner": "mean"}, "pruner is 'mean', expected one of median"),
        ({"pruner": 3}, "pruner is 3, expected a name or one of Optuna's pruners"),
    ],
)
def test_a_sampler_or_pruner_that_is_none_is_refused_at_the_start(options, message):
    with pytest.raises(ConfigError, match=message.replace("?", "[?]")):
        ps.optuna_search(CURVES, n_trials=1, **options).start({})


@pytest.mark.parametrize("options", [{"n_trials": 0}, {"n_trials": 1, "batch_size": 0}])
def test_numbers_that_are_not_positive_are_refused(options):
    with pytest.raises(ConfigError, match="is 0, expected a positive integer"):
        ps.optuna_search(CURVES, **options)


def test_every_value_and_both_ends_are_checked():
    pipeline = ps.Pipeline(("model", st.LogisticRegression("y")))
    for space in (
        {"model.reg_param": FloatDistribution(-0.1, 1)},
        {"model": [None, ps.when(st.LinearRegression("y"), {"model.reg_param": stats.uniform(-1, 0.5)})]},
        {"model.reg_param": [0.0, -1.0]},
    ):
        with pytest.raises(ConfigError, match="reg_param"):
            ps.optuna_search(space, n_trials=3).check(pipeline)
    ps.optuna_search({"model.reg_param": FloatDistribution(0, 1)}, n_trials=3).check(pipeline)
