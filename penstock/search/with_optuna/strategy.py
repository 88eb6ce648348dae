"""Proposals of Optuna's samplers and verdicts of its pruners, by the trials before: the same after a restart."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner, SuccessiveHalvingPruner
from optuna.samplers import BaseSampler, CmaEsSampler, GPSampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from penstock.core.errors import ConfigError, check_one_of
from penstock.core.extras import importing
from penstock.search.descriptions import label
from penstock.search.dimensions import Dimensions, Suggestion, assign, count_combinations, suggest
from penstock.search.logged_study import Proposal, Verdict
from penstock.search.study import Direction
from penstock.search.trial_log import Record
from penstock.search.with_optuna.quiet import quiet
from penstock.search.with_optuna.trials import as_optuna_trial, ending, optuna_parameters, suggestion

SamplerFactory = Callable[..., BaseSampler]

_PRUNERS: dict[str, type[BasePruner]] = {
    "median": MedianPruner,
    "successive_halving": SuccessiveHalvingPruner,
    "hyperband": HyperbandPruner,
}
_SAMPLERS: dict[str, SamplerFactory] = {
    "tpe": lambda seed: TPESampler(seed=seed, constant_liar=True),
    "gp": lambda seed: GPSampler(seed=seed, warn_independent_sampling=False),
    "random": lambda seed: RandomSampler(seed=seed),
    "cmaes": lambda seed: CmaEsSampler(seed=seed, warn_independent_sampling=False),
}
_FORGETFUL = ("tpe", "gp", "random")
"""Those that know no more than the trials: one of a seed for each trial says what one of its own would."""
_NEEDS = {"gp": ("PyTorch", "torch", "torch"), "cmaes": ("cmaes", "cmaes", "optuna")}


def make_pruner(pruner: str | BasePruner | None) -> BasePruner:
    """Return a pruner: by name, one of Optuna's, or one that stops nothing."""
    if pruner is None:
        return NopPruner()
    if isinstance(pruner, BasePruner):
        return pruner
    if not isinstance(pruner, str):
        raise ConfigError(f"pruner is {pruner!r:.100}, expected a name or one of Optuna's pruners")
    check_one_of("pruner", pruner, tuple(_PRUNERS))
    return _PRUNERS[pruner]()


class Judge:
    """Asks a pruner of trials under way, for each in a study of its own: those of its batch do not matter to it."""

    def __init__(self, pruner: BasePruner, dimensions: Dimensions) -> None:
        self.pruner, self._parameters = pruner, optuna_parameters(dimensions)
        self._batch = -1
        self._studies: dict[int, optuna.Study] = {}

    def __call__(self, records: Sequence[Record], record: Record, direction: Direction) -> Verdict:
        """Return whether to stop a trial after its last step."""
        if isinstance(self.pruner, NopPruner):
            return Verdict(False)
        with quiet():
            study = self._study(records, record, direction)
            judged = study.get_trials()[-1]
            judged.intermediate_values = dict(record.steps)
            prune = study.pruner.prune(study, judged)
            notes = study.get_trials(deepcopy=False)[-1].system_attrs
        return Verdict(prune, {name: note for name, note in notes.items() if isinstance(note, int | float)})

    def _study(self, records: Sequence[Record], record: Record, direction: Direction) -> optuna.Study:
        if record.batch != self._batch:
            self._batch, self._studies = record.batch, {}
        if record.number not in self._studies:
            study = new_study(direction, self.pruner)
            study.add_trials(as_optuna_trial(each, self._parameters) for each in (*records, record))
            self._studies[record.number] = study
        return self._studies[record.number]


def new_study(direction: Direction, pruner: BasePruner) -> optuna.Study:
    """Return an empty study in memory, of a name on which pruners may depend, with a pruner that has seen nothing."""
    return optuna.create_study(study_name="penstock", direction=direction, pruner=copy.deepcopy(pruner))


def sampler_factory(sampler: str | SamplerFactory) -> SamplerFactory:
    """Return what makes a sampler from ``seed=``.

    Raises
    ------
    ConfigError
        It is no name that is known, and no class or function.
    MissingExtraError
        What the sampler computes with is not installed.
    """
    if isinstance(sampler, BaseSampler):
        raise ConfigError(
            f"sampler is a {type(sampler).__name__}, whose random numbers end with the process",
            hint="Give what makes one from seed=, the class or functools.partial(TPESampler, n_startup_trials=20).",
        )
    if callable(sampler):
        return sampler
    check_one_of("sampler", sampler, tuple(_SAMPLERS))
    if sampler in _NEEDS:
        name, module, extra = _NEEDS[sampler]
        with importing(name, extra):
            __import__(module)
    return _SAMPLERS[sampler]


@dataclass
class Sampled:
    """The strategy of asking one of Optuna's samplers for several trials at a time.

    None of a batch is known to end when the others are proposed. A sampler that knows no more than the trials is made
    anew for each, from the seed and the number. Another one is made once, and in a new process goes through all batches
    again.
    """

    dimensions: Dimensions
    sampler: str | SamplerFactory
    n_trials: int
    batch_size: int
    seed: int
    judge_of_steps: Judge

    def __post_init__(self) -> None:
        self._make, self._parameters = sampler_factory(self.sampler), optuna_parameters(self.dimensions)
        self._live: optuna.Study | None = None
        self._asked: list[optuna.Trial] = []
        self._finished: list[FrozenTrial] = []
        self._told = 0

    @property
    def prunes(self) -> bool:
        """Whether there is a pruner."""
        return not isinstance(self.judge_of_steps.pruner, NopPruner)

    def judge(self, records: Sequence[Record], record: Record, direction: Direction) -> Verdict:
        """Return what the pruner says."""
        return self.judge_of_steps(records, record, direction)

    def propose(self, records: Sequence[Record], direction: Direction) -> list[Proposal]:
        """Return as many trials as a batch has; fewer at the end, and none once every setting was tried."""
        if self._is_exhausted(records):
            return []
        with quiet():
            study = (
                self._rebuilt(records, direction) if self.sampler in _FORGETFUL else self._replayed(records, direction)
            )
            numbers = range(len(records), min(len(records) + self.batch_size, self.n_trials))
            return [Proposal(self._ask(study, number)) for number in numbers]

    def _is_exhausted(self, records: Sequence[Record]) -> bool:
        if count_combinations(self.dimensions) > len(records):
            return False
        settings = {label(assign(self.dimensions, record.suggestion)) for record in records}
        return len(settings) >= count_combinations(self.dimensions)

    def _rebuilt(self, records: Sequence[Record], direction: Direction) -> optuna.Study:
        study = new_study(direction, self.judge_of_steps.pruner)
        self._finished += [as_optuna_trial(record, self._parameters) for record in records[len(self._finished) :]]
        study.add_trials(self._finished)
        return study

    def _replayed(self, records: Sequence[Record], direction: Direction) -> optuna.Study:
        """Return the study of this process with these records told; in a new process all of them are asked again."""
        if self._live is None or len(self._asked) != len(records):
            self._live, self._asked, self._told = new_study(direction, self.judge_of_steps.pruner), [], 0
            self._live.sampler = self._make(seed=self.seed)
        for _, group in itertools.groupby(records[self._told :], key=lambda record: record.batch):
            batch = list(group)
            for record in batch[max(len(self._asked) - batch[0].number, 0) :]:
                self._check_same(self._ask(self._live, record.number), record)
            for record in batch:
                self._tell(self._live, record)
        self._told = len(records)
        return self._live

    def _check_same(self, proposed: Suggestion, record: Record) -> None:
        if dict(proposed) != dict(record.suggestion):
            raise ConfigError(
                f"the sampler proposes another trial {record.number} than when the study was begun",
                hint="Go on with the version of Optuna that it was begun with, or begin another study.",
            )

    def _tell(self, study: optuna.Study, record: Record) -> None:
        state, value, steps = ending(record)
        trial = self._asked[record.number]
        for step, reported in steps.items():
            trial.report(reported, step)
        study.tell(trial, value if state == TrialState.COMPLETE else None, state)

    def _ask(self, study: optuna.Study, number: int) -> Suggestion:
        if self.sampler in _FORGETFUL:
            seed = np.random.SeedSequence([self.seed, number]).generate_state(1)[0]
            study.sampler = self._make(seed=int(seed))
        trial = study.ask()
        self._asked.append(trial)
        suggest(
            self.dimensions,
            lambda listed: int(self._parameters[listed.name].suggested(self._suggest(trial, listed.name))),
            lambda ranged: self._suggest(trial, ranged.name),
        )
        return suggestion(trial.params, self._parameters)

    def _suggest(self, trial: optuna.Trial, name: str) -> Any:
        distribution: Any = self._parameters[name].distribution
        if isinstance(distribution, CategoricalDistribution):
            return trial.suggest_categorical(name, distribution.choices)
        kind = trial.suggest_int if isinstance(distribution, IntDistribution) else trial.suggest_float
        return kind(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)
