"""Studies in memory: trials in batches, what is told of them, and which of them is best."""

import pytest

import penstock as ps
from penstock import stages as st
from penstock.errors import ConfigError
from penstock.search.study import Outcome, Trial

SPACE = {"a": [1, 2, 3], "b": [10, 20]}


def test_a_grid_hands_out_all_trials_at_once_and_is_over_when_they_are_told():
    study = ps.grid(SPACE).start({})
    batch = study.ask()
    assert [trial.number for trial in batch] == list(range(6))
    assert [trial.params for trial in batch] == list(ps.grid(SPACE))
    for trial in batch:
        study.tell(trial, Outcome("complete", 1.0))
    assert study.ask() == []
    assert study.trials == batch


def test_batches_are_of_the_size_given_and_the_last_is_the_rest():
    study = ps.random(SPACE, n=5, batch_size=2).start({})
    sizes = []
    while batch := study.ask():
        sizes.append(len(batch))
        for trial in batch:
            study.tell(trial, Outcome("complete", 1.0))
    assert sizes == [2, 2, 1]
    assert study.n_trials == 5


def test_trials_that_are_not_told_are_handed_out_again():
    study = ps.grid(SPACE, batch_size=3).start({})
    first, second, third = study.ask()
    assert study.ask() == [first, second, third]
    study.tell(second, Outcome("failed", reason="no rows"))
    assert study.ask() == [first, third]
    assert study.outcomes == {1: Outcome("failed", reason="no rows")}


def test_a_direction_a_state_and_a_trial_that_are_none_are_refused():
    study = ps.grid(SPACE).start({})
    trial = study.ask()[0]
    study.tell(trial, Outcome("complete", 1.0))
    with pytest.raises(ConfigError, match="trial 0 is told already: complete"):
        study.tell(trial, Outcome("complete", 2.0))
    assert study.outcomes[0].value == 1.0
    study = ps.grid(SPACE, batch_size=1).start({})
    study.ask()
    with pytest.raises(ConfigError, match="trial 3 is none of this study, which has handed out 1"):
        study.tell(Trial(3, {}), Outcome("complete", 1.0))
    with pytest.raises(ConfigError, match="direction is 'max', expected one of maximize, minimize"):
        ps.grid(SPACE).start({}, "max")
    with pytest.raises(ConfigError, match="state of an outcome is 'done'"):
        Outcome("done")


def test_the_best_has_a_value_is_complete_and_is_the_first_of_equals():
    nan = float("nan")
    ends = [
        ("failed", None),
        ("complete", 0.5),
        ("pruned", 9.0),
        ("complete", 0.7),
        ("complete", nan),
        ("complete", 0.7),
    ]
    for direction, best in (("maximize", 3), ("minimize", 1)):
        study = ps.grid(SPACE).start({}, direction)
        for trial, (state, value) in zip(study.ask(), ends, strict=True):
            study.tell(trial, Outcome(state, value))
        assert study.best().number == best


def test_without_a_value_or_with_nan_none_is_best():
    study = ps.grid({"a": [1]}).start({})
    assert study.best() is None
    study.tell(study.ask()[0], Outcome("complete", None, reason="auc is None: one class"))
    assert study.best() is None
    assert Outcome("complete", float("nan")).value is None


def test_what_is_on_a_list_is_not_pruned():
    study = ps.grid({"a": [1]}).start({})
    (trial,) = study.ask()
    study.report(trial, 0, 0.1)
    assert not study.should_prune(trial)


def test_a_trial_describes_its_stages_as_text():
    trial = Trial(0, {"model": st.XGBoostClassifier("y", max_depth=3), "scale": None, "clip.upper": 2.5})
    model = "XGBoostClassifier(label='y', max_depth=3)"
    assert trial.describe() == {"model": model, "scale": None, "clip.upper": 2.5}
