"""Records of a study as Optuna's trials, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from penstock.search.descriptions import describe
from penstock.search.dimensions import Dimension, Dimensions, Listed, Suggestion, every_dimension
from penstock.search.distributions import OptunaDistribution
from penstock.search.study import Outcome
from penstock.search.trial_log import Record

BATCH, FRACTION, OUTCOME = "penstock:batch", "penstock:fraction", "penstock:outcome"


@dataclass(frozen=True)
class Parameter:
    """A dimension as Optuna has it; of a list, its distribution has the values where Optuna takes them, or texts."""

    dimension: Dimension
    distribution: BaseDistribution

    def value(self, suggested: float) -> Any:
        """Return what Optuna calls what suggests a value."""
        if isinstance(self.distribution, CategoricalDistribution):
            return self.distribution.choices[int(suggested)]
        return suggested

    def suggested(self, value: Any) -> int | float:
        """Return what suggests a value, from what Optuna calls it."""
        if isinstance(self.distribution, CategoricalDistribution):
            return int(self.distribution.to_internal_repr(value))
        return value


def optuna_parameters(dimensions: Dimensions) -> dict[str, Parameter]:
    """Return every dimension of a space by name, those beside one value of another too."""
    return {each.name: Parameter(each, _distribution(each)) for each in every_dimension(dimensions)}


def _distribution(dimension: Dimension) -> BaseDistribution:
    if isinstance(dimension, Listed):
        return CategoricalDistribution(_choices(dimension))
    drawn = dimension.drawn
    return drawn.distribution if isinstance(drawn, OptunaDistribution) else FloatDistribution(*drawn.ends())


def _choices(listed: Listed) -> list[Any]:
    """Return the values of a list as they are, where Optuna takes them and tells them apart, or else as texts."""
    values = [describe(branch.value) for branch in listed.branches]
    plain = listed.address is not None and all(
        value is None or isinstance(value, str | int | float) for value in values
    )
    return values if plain and len(set(values)) == len(values) else listed.labels


def as_optuna_trial(record: Record, parameters: Mapping[str, Parameter]) -> FrozenTrial:
    """Return a record as Optuna has it: one without an outcome as a trial under way."""
    state, value, steps = ending(record)
    return optuna.trial.create_trial(
        state=state,
        value=value,
        params={name: parameters[name].value(suggested) for name, suggested in record.suggestion.items()},
        distributions={name: parameters[name].distribution for name in record.suggestion},
        user_attrs={BATCH: record.batch, FRACTION: record.fraction} | outcome_attributes(record.outcome),
        system_attrs=dict(record.notes),
        intermediate_values=steps,
    )


def ending(record: Record) -> tuple[TrialState, float | None, dict[int, float]]:
    """Return state, value and steps of a record as Optuna has them.

    What is complete without a value is one of Optuna's pruned trials without a step: those lose to all others.
    """
    outcome, steps = record.outcome, dict(record.steps)
    if outcome is None:
        return TrialState.RUNNING, None, steps
    if outcome.state == "failed":
        return TrialState.FAIL, None, steps
    if outcome.state == "pruned":
        return TrialState.PRUNED, steps[max(steps)] if steps else None, steps
    if outcome.value is None:
        return TrialState.PRUNED, None, {}
    return TrialState.COMPLETE, outcome.value, steps


def outcome_attributes(outcome: Outcome | None) -> dict[str, Any]:
    """Return an outcome as Optuna stores what is not its own."""
    if outcome is None:
        return {}
    fields = {field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome)}
    return {OUTCOME: fields | {"metrics": [dict(metrics) for metrics in outcome.metrics]}}


def as_record(trial: FrozenTrial, parameters: Mapping[str, Parameter]) -> Record:
    """Return the record of one of Optuna's trials.

    Raises
    ------
    KeyError, ValueError, TypeError
        It is none that `as_optuna_trial` made of this space.
    """
    chosen = suggestion(trial.params, parameters)
    record = Record(trial.number, trial.user_attrs[BATCH], chosen, trial.user_attrs[FRACTION])
    if not trial.state.is_finished():  # what it has of an end that was not reached counts for nothing
        return record
    notes = {name: note for name, note in trial.system_attrs.items() if isinstance(note, int | float)}
    outcome = Outcome(**trial.user_attrs[OUTCOME])
    return dataclasses.replace(record, outcome=outcome, steps=dict(trial.intermediate_values), notes=notes)


def suggestion(values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> Suggestion:
    """Return the suggestion that Optuna's values of parameters are."""
    return {name: parameters[name].suggested(value) for name, value in values.items()}
