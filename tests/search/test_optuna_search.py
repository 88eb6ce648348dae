"""What Optuna proposes and prunes: the same after a restart, better than chance, and none of it twice."""

import functools
import math

import pytest
from scipy import stats

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError
from penstock.search.study import Outcome
from tests.search.toy_studies import loss, outcome_of, run, space, table


@pytest.fixture
def curves():
    """A space of ranges alone."""
    return {name: values for name, values in space().items() if name != "kind"}


def values(study):
    return [outcome.value for outcome in study.outcomes.values() if outcome.value is not None]


def run_whole(study):
    """Run a study whose trials all end with a value."""
    while batch := study.ask():
        for trial in batch:
            study.tell(trial, Outcome("complete", loss(trial.params)))
    return study


def run_curves(study, order=list):
    """Run a study whose trials are said to come down to their value, by which some are pruned."""
    while batch := study.ask():
        for trial in order(batch):
            study.tell(trial, outcome_of_curve(study, trial))
    return study


def outcome_of_curve(study, trial):
    for step in range(1, 9):
        study.report(trial, step, loss(trial.params) + 1 / step)
        if study.should_prune(trial):
            return Outcome("pruned")
    return Outcome("complete", loss(trial.params))


@pytest.mark.thorough
def test_tpe_beats_random_search_of_as_many_trials(curves):
    seeds = range(3)
    proposed = [run_whole(ps.optuna_search(curves, n_trials=60, seed=seed).start({}, "minimize")) for seed in seeds]
    drawn = [run_whole(ps.random(curves, n=60, seed=seed).start({}, "minimize")) for seed in seeds]
    assert sum(min(values(study)) for study in proposed) < sum(min(values(study)) for study in drawn)
    assert min(min(values(study)) for study in proposed) < 1.01  # the least there is with this kind is 1


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_study_that_starts_anew_after_every_batch_is_the_undisturbed_one(tmp_path, curves, subtests):
    from optuna import samplers

    own = functools.partial(samplers.TPESampler, n_startup_trials=4)
    for place, sampler in enumerate(("tpe", "random", "gp", "cmaes", own, samplers.NSGAIISampler, samplers.QMCSampler)):
        with subtests.test(sampler=str(sampler)):
            tried, n = (curves, 16) if sampler == "cmaes" else (space(), 9 if sampler == "gp" else 10)
            how = {"sampler": sampler, "n_trials": n, "batch_size": 4, "seed": 2, "pruner": "hyperband"}
            made = ps.optuna_search(tried, **how)
            expected = table(run(made.start({}, "minimize")))
            while batch := (study := made.start({}, "minimize", str(tmp_path / f"{place}.journal"))).ask():
                for trial in batch:
                    study.tell(trial, outcome_of(study, trial))
                study.close()
            assert table(study) == expected
            study.close()


def test_a_batch_is_as_large_as_said_and_seeds_differ():
    tried = (ps.optuna_search(space(), n_trials=8, seed=seed, batch_size=8) for seed in (1, 1, 2))
    first, same, other = (each.start({}).ask() for each in tried)
    assert len(first) == 8
    assert first == same
    assert first != other


@pytest.mark.thorough
def test_parameters_of_a_value_are_proposed_beside_it_alone():
    study = run(ps.optuna_search(space(), n_trials=30, seed=4).start({}, "minimize"))
    for trial in study.trials:
        assert ("width" in trial.params) == (trial.params["kind"] == "deep")


def test_stages_and_values_of_several_types_are_proposed_as_they_are():
    from optuna.distributions import CategoricalDistribution

    choices = [st.Clip("x", lower=0), None, 1, True, 1.0, "1", (1, 2)]
    lists = {"a": choices, "b": CategoricalDistribution([0.1, 0.2])}
    study = ps.optuna_search(lists, n_trials=14, batch_size=14, sampler="random").start({})
    seen = set()
    while batch := study.ask():
        for trial in batch:
            seen.add(type(trial.params["a"]))
            study.tell(trial, Outcome("complete", 1.0))
    assert seen == {st.Clip, type(None), int, bool, float, str, tuple}


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


def test_what_fails_or_has_no_value_does_not_end_a_search_and_a_step_without_one_says_nothing(curves):
    study = ps.optuna_search(curves, n_trials=20).start({})
    outcomes = Outcome("complete", None, reason="one class"), Outcome("failed", reason="no")
    while batch := study.ask():
        for trial in batch:
            study.tell(trial, outcomes[trial.number % 2])
    assert len(study.outcomes) == 20
    assert study.best() is None
    study = ps.optuna_search(curves, n_trials=2, batch_size=1, pruner="median").start({})
    (trial,) = study.ask()
    study.report(trial, 0, None)
    assert not study.should_prune(trial)


@pytest.mark.thorough
def test_what_has_no_value_loses_and_the_sampler_leaves_it():
    """Without that the sampler would go where it knows no loss: of trials that fail it knows nothing."""
    late = {}
    for state in ("complete", "failed"):
        study = ps.optuna_search({"x": stats.uniform(-1, 2)}, n_trials=60, seed=1).start({})
        while batch := study.ask():
            for trial in batch:
                is_left = trial.params["x"] < 0
                study.tell(trial, Outcome("complete", 0.0) if is_left else Outcome(state, None))
        late[state] = sum(trial.params["x"] < 0 for trial in study.trials[30:])
    assert late["complete"] > 20
    assert late["failed"] < 10


@pytest.mark.thorough
def test_the_median_pruner_says_what_optuna_says_after_the_same_trials():
    import optuna

    x = {"x": optuna.distributions.FloatDistribution(0, 1)}
    study = ps.optuna_search(x, n_trials=30, batch_size=1, sampler="random", pruner="median").start({}, "minimize")
    oracle, judged = optuna.create_study(direction="minimize", pruner=optuna.pruners.MedianPruner()), set()
    while batch := study.ask():
        (trial,) = batch
        other, state = oracle.ask(), "complete"
        for step in range(4):
            value = trial.params["x"] + math.sin(10 * trial.params["x"] + step)
            study.report(trial, step, value)
            other.report(value, step)
            assert study.should_prune(trial) == other.should_prune()
            if other.should_prune():
                state, value = "pruned", None
                break
        judged.add(state)
        oracle.tell(other, value, optuna.trial.TrialState[state.upper()])
        study.tell(trial, Outcome(state, value))
    assert judged == {"complete", "pruned"}


@pytest.mark.thorough
def test_pruners_stop_bad_trials_and_keep_the_best(curves):
    from optuna.pruners import ThresholdPruner

    for pruner in ("successive_halving", "hyperband", ThresholdPruner(upper=4.0)):
        study = run_curves(ps.optuna_search(curves, n_trials=30, batch_size=5, pruner=pruner).start({}, "minimize"))
        by_state: dict[str, list[float]] = {}
        for trial in study.trials:
            by_state.setdefault(study.outcomes[trial.number].state, []).append(loss(trial.params))
        assert sorted(by_state) == ["complete", "pruned"]
        assert min(by_state["complete"]) < sorted(by_state["pruned"])[len(by_state["pruned"]) // 2]


@pytest.mark.thorough
def test_the_order_within_a_batch_does_not_matter_to_what_is_pruned(curves):
    def states(order):
        tried = ps.optuna_search(curves, n_trials=24, batch_size=6, pruner="successive_halving")
        study = run_curves(tried.start({}, "minimize"), order)
        return [study.outcomes[number].state for number in range(24)]

    assert states(list) == states(reversed)


def test_a_sampler_or_pruner_that_is_none_and_numbers_that_are_not_positive_are_refused(curves):
    from optuna.samplers import TPESampler

    for options, message in (
        ({"sampler": "tpr"}, r"sampler is 'tpr', expected one of tpe, gp, random, cmaes. Did you mean 'tpe'\?"),
        ({"sampler": TPESampler(seed=1)}, "sampler is a TPESampler, whose random numbers end"),
        ({"pruner": "mean"}, "pruner is 'mean', expected one of median"),
        ({"pruner": 3}, "pruner is 3, expected a name or one of Optuna's pruners"),
    ):
        with pytest.raises(ConfigError, match=message):
            ps.optuna_search(curves, n_trials=1, **options).start({})
    for options in ({"n_trials": 0}, {"n_trials": 1, "batch_size": 0}):
        with pytest.raises(ConfigError, match="is 0, expected a positive integer"):
            ps.optuna_search(curves, **options)
    with pytest.raises(ConfigError, match=f"n_trials is {2**70}, expected a positive integer, at most 1,000,000"):
        ps.optuna_search(curves, n_trials=2**70)


def test_every_value_and_both_ends_are_checked():
    from optuna.distributions import FloatDistribution

    pipeline = ps.Pipeline(("model", st.LogisticRegression("y")))
    for tried in (
        {"model.reg_param": FloatDistribution(-0.1, 1)},
        {"model": [None, ps.when(st.LinearRegression("y"), {"model.reg_param": stats.uniform(-1, 0.5)})]},
        {"model.reg_param": [0.0, -1.0]},
    ):
        with pytest.raises(ConfigError, match="reg_param"):
            ps.optuna_search(tried, n_trials=3).check(pipeline)
    ps.optuna_search({"model.reg_param": FloatDistribution(0, 1)}, n_trials=3).check(pipeline)
