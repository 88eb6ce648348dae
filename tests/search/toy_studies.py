"""Studies over a toy objective, which takes no time and knows no data."""

import math

from scipy import stats

import penstock as ps
from penstock.search.study import Outcome


def space():
    """Return a space with ranges, one of them of integers, and with parameters of a value."""
    from optuna.distributions import FloatDistribution, IntDistribution

    kinds = ["flat", ps.when("deep", {"width": [1, 2, 3]}), None]
    ranges = {"x": FloatDistribution(-3, 3), "depth": IntDistribution(1, 8), "rate": stats.loguniform(1e-3, 1)}
    return {**ranges, "kind": kinds}


LISTS = {"x": [-1.0, 0.0, 0.5], "depth": [1, 4], "rate": [0.1], "kind": ["flat", ps.when("deep", {"width": [1, 2]})]}

SPACES = {
    "grid": lambda: ps.grid(LISTS, batch_size=4),
    "random": lambda: ps.random(space(), n=14, seed=3, batch_size=5),
    "tpe": lambda: ps.optuna_search(space(), n_trials=16, seed=3, batch_size=3),
    "tpe and median": lambda: ps.optuna_search(space(), n_trials=16, seed=3, batch_size=3, pruner="median"),
}


def loss(params):
    """The least is 0.1, at x = 1, depth = 5, rate = 0.1, kind "deep" of width 2."""
    kind = {"flat": 1.0, "deep": 0.1 + abs(params.get("width", 0) - 2), None: 2.0}[params.get("kind", "flat")]
    return (params["x"] - 1) ** 2 + (params["depth"] - 5) ** 2 / 10 + math.log10(params["rate"] * 10) ** 2 + kind


def outcome_of(study, trial):
    """Return what comes of a trial after three steps; some are pruned, some fail, some have no value."""
    value = loss(trial.params)
    for step in range(3):
        study.report(trial, step, value + 1 / (step + 1))
        if study.should_prune(trial):
            return Outcome("pruned", None, [{"loss": value + 1 / (step + 1)}])
    if 4.0 < value < 4.5:
        return Outcome("failed", reason="the loss is between 4 and 4.5")
    if 5.0 < value < 6.0:
        return Outcome("complete", None, [{"loss": None}], reason="the loss is between 5 and 6")
    return Outcome("complete", value, [{"loss": value, "double": 2 * value}], 0.25)


def run(study):
    """Run a study to its end, and return it."""
    while batch := study.ask():
        for trial in batch:
            study.tell(trial, outcome_of(study, trial))
    return study


def table(study):
    """Return all that a study says of its trials, as text."""
    told = study.outcomes
    rows = [(trial.number, trial.describe(), trial.fraction, told.get(trial.number)) for trial in study.trials]
    return "\n".join(map(repr, rows))
