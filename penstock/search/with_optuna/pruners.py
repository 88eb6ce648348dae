"""What Optuna's pruners say of a trial, compared with those of batches before its own."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner, SuccessiveHalvingPruner

from penstock.core.errors import ConfigError, check_one_of
from penstock.search.dimensions import Dimensions
from penstock.search.logged_study import Verdict
from penstock.search.study import Direction
from penstock.search.trial_log import Record
from penstock.search.with_optuna.quiet import quiet
from penstock.search.with_optuna.trials import as_optuna_trial, optuna_parameters

_NAMED: dict[str, type[BasePruner]] = {
    "median": MedianPruner,
    "successive_halving": SuccessiveHalvingPruner,
    "hyperband": HyperbandPruner,
}


def make_pruner(pruner: str | BasePruner | None) -> BasePruner:
    """Return a pruner: by name, one of Optuna's, or one that stops nothing."""
    if pruner is None:
        return NopPruner()
    if isinstance(pruner, BasePruner):
        return pruner
    if not isinstance(pruner, str):
        raise ConfigError(f"pruner is {pruner!r:.100}, expected a name or one of Optuna's pruners")
    check_one_of("pruner", pruner, tuple(_NAMED))
    return _NAMED[pruner]()


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
