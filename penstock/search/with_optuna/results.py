"""What came of any search as a study of Optuna's: for its figures, and for what parameters matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.importance import FanovaImportanceEvaluator, get_param_importances
from optuna.trial import TrialState

from penstock.core.extras import importing
from penstock.search.descriptions import label
from penstock.search.study import Direction, Outcome, Trial
from penstock.search.trial_log import Record
from penstock.search.with_optuna.quiet import quiet
from penstock.search.with_optuna.trials import ending

FRACTION = "fraction of rows"
_LOGARITHMIC = 50
_TREES = 32


def as_optuna_study(
    trials: Sequence[Trial], outcomes: Mapping[int, Outcome], direction: Direction, metric: str | None = None
) -> optuna.Study:
    """Return the trials that are told as a study in memory, for `optuna.visualization`, however they were proposed.

    Parameters
    ----------
    trials, outcomes
        As a `Study` and a `SearchResult` have them.
    direction : {"maximize", "minimize"}
    metric : str, optional
        Whose values by fold become the steps of each trial; without it there are none.

    Returns
    -------
    optuna.Study
        A parameter is a number where all its values are, from the least to the greatest of them and in the logarithm
        where these are far apart; else one of a list of texts. `Trial.number` is an attribute of the user, ``trial``,
        as those that are not told are left out. Where trials learn from different fractions of the rows, that is a
        parameter too. A trial that is complete without a value is one of Optuna's pruned ones.

    Examples
    --------
    >>> trials = [Trial(number, {"model.max_depth": depth}) for number, depth in enumerate((2, 4, 8))]
    >>> outcomes = {trial.number: Outcome("complete", trial.number / 4) for trial in trials}
    >>> study = as_optuna_study(trials, outcomes, "maximize")
    >>> study.best_params, study.best_value
    ({'model.max_depth': 8}, 0.5)
    """
    told = [trial for trial in trials if trial.number in outcomes]
    settings = [_setting(trial, told) for trial in told]
    distributions = {
        name: _distribution([setting[name] for setting in settings if name in setting])
        for name in dict.fromkeys(name for setting in settings for name in setting)
    }
    with quiet():
        study = optuna.create_study(direction=direction)
        for trial, setting in zip(told, settings, strict=True):
            study.add_trial(_optuna_trial(trial, outcomes[trial.number], setting, distributions, metric))
    return study


def param_importances(
    trials: Sequence[Trial], outcomes: Mapping[int, Outcome], direction: Direction, seed: int = 0
) -> dict[str, float]:
    """Return how much of the variance of the value each parameter explains by itself, by functional ANOVA.

    Parameters
    ----------
    trials, outcomes, direction
        As of `as_optuna_study`.
    seed : int
        Of the random forest that stands for the value as a function of the parameters.

    Returns
    -------
    dict of str to float
        Greatest first, 1 in sum. Of parameters that every trial with a value has, and that have several values; empty
        where fewer than two trials have a value, or all the same.

    Raises
    ------
    MissingExtraError
        scikit-learn is not installed, which grows the forest.
    """
    with importing("scikit-learn", "sklearn"):
        import sklearn.ensemble  # noqa: F401
    study = as_optuna_study(trials, outcomes, direction)
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    common = [name for name in _names(complete) if len({label(trial.params[name]) for trial in complete}) > 1]
    if len({trial.value for trial in complete}) < 2 or not common:
        return {}
    with quiet():
        importances = get_param_importances(
            study, evaluator=FanovaImportanceEvaluator(n_trees=_TREES, seed=seed), params=common
        )
    return {name: float(share) for name, share in importances.items()}


def _names(trials: Sequence[optuna.trial.FrozenTrial]) -> list[str]:
    """Return the parameters that all trials have."""
    return [name for name in trials[0].params if all(name in trial.params for trial in trials)] if trials else []


def _setting(trial: Trial, told: Sequence[Trial]) -> dict[str, Any]:
    varies = len({each.fraction for each in told}) > 1
    return trial.describe() | ({FRACTION: trial.fraction} if varies else {})


def _distribution(values: Sequence[Any]) -> BaseDistribution:
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return CategoricalDistribution(list(dict.fromkeys(_text(value) for value in values)))
    low, high = min(values), max(values)
    logarithmic = low > 0 and high / low >= _LOGARITHMIC
    if all(isinstance(value, int) for value in values):
        return IntDistribution(low, high, log=logarithmic)
    return FloatDistribution(low, high, log=logarithmic)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else label(value)


def _optuna_trial(
    trial: Trial,
    outcome: Outcome,
    setting: Mapping[str, Any],
    distributions: Mapping[str, BaseDistribution],
    metric: str | None,
) -> optuna.trial.FrozenTrial:
    values = [fold.get(metric) for fold in outcome.metrics] if metric is not None else []
    steps = {fold: value for fold, value in enumerate(values) if value is not None}
    state, value, steps = ending(Record(trial.number, 0, {}, trial.fraction, outcome, steps))
    return optuna.trial.create_trial(
        state=state,
        value=value,
        params={name: _value(value, distributions[name]) for name, value in setting.items()},
        distributions={name: distributions[name] for name in setting},
        user_attrs={"trial": trial.number},
        intermediate_values=steps,
    )


def _value(value: Any, distribution: BaseDistribution) -> Any:
    return _text(value) if isinstance(distribution, CategoricalDistribution) else value
