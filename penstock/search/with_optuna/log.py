"""The log of a study in one of Optuna's storages, so that it goes on where a process was killed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage
from optuna.study import StudyDirection

from penstock.core.errors import ConfigError, OutputError
from penstock.search.dimensions import Dimensions
from penstock.search.fingerprints import check_same_study
from penstock.search.study import Direction
from penstock.search.trial_log import Record
from penstock.search.with_optuna.backends import Backend
from penstock.search.with_optuna.trials import as_optuna_trial, as_record, ending, optuna_parameters, outcome_attributes

_FINGERPRINT, _OWNER = "penstock:fingerprint", "penstock:owner"


class OptunaLog:
    """Records of a study that other processes find again.

    A trial is on it as soon as it is handed out, and its outcome before its state says that it is over: a process that
    is killed anywhere leaves a record with its outcome or one without. One process writes at a time. A file is locked
    for as long as the study is open. In a database the last process to open a study owns it, and one that owned it
    before is refused at its next write.
    """

    def __init__(
        self, backend: Backend, fingerprint: Mapping[str, str], direction: Direction, dimensions: Dimensions
    ) -> None:
        self._backend, self._parameters = backend, optuna_parameters(dimensions)
        self._owner = uuid.uuid4().hex
        try:
            with backend.using() as storage:
                self._study = _open_study(storage, backend.study_name, direction)
                _check_fingerprint(storage, self._study, {**fingerprint, "direction": direction}, backend.shown)
                storage.set_study_user_attr(self._study, _OWNER, self._owner)
                self.records = self._read(storage)
        except BaseException:
            backend.close()
            raise

    def append(self, records: Sequence[Record]) -> None:
        with self._backend.using() as storage:
            self._check_owner(storage)
            for record in records:
                self._ids.append(storage.create_new_trial(self._study, as_optuna_trial(record, self._parameters)))
                self.records.append(record)

    def complete(self, record: Record) -> None:
        trial = self._ids[record.number]
        state, value, steps = ending(record)
        with self._backend.using() as storage:
            self._check_owner(storage)
            for step, reported in steps.items():
                storage.set_trial_intermediate_value(trial, step, reported)
            for name, note in record.notes.items():
                storage.set_trial_system_attr(trial, name, note)
            for name, attribute in outcome_attributes(record.outcome).items():
                storage.set_trial_user_attr(trial, name, attribute)
            storage.set_trial_state_values(trial, state, None if value is None else [value])
        self.records[record.number] = record

    def close(self) -> None:
        """Let go of the storage."""
        self._backend.close()

    def _read(self, storage: BaseStorage) -> list[Record]:
        trials = sorted(storage.get_all_trials(self._study), key=lambda trial: trial.number)
        self._ids = [storage.get_trial_id_from_study_id_trial_number(self._study, trial.number) for trial in trials]
        try:
            return [as_record(trial, self._parameters) for trial in trials]
        except (KeyError, ValueError, TypeError) as error:
            problem = f"the study {self._backend.shown} has a trial that Penstock did not write: {error!r}"
            raise ConfigError(problem, hint="Give another place for this study.") from error

    def _check_owner(self, storage: BaseStorage) -> None:
        if storage.get_study_user_attrs(self._study).get(_OWNER) != self._owner:
            raise OutputError(
                f"another process has taken over the study {self._backend.shown}",
                hint="One process at a time runs a study; the other one goes on with it.",
            )


def _open_study(storage: BaseStorage, name: str, direction: Direction) -> int:
    try:
        return storage.create_new_study([StudyDirection[direction.upper()]], name)
    except DuplicatedStudyError:
        return storage.get_study_id_from_name(name)


def _check_fingerprint(storage: BaseStorage, study: int, fingerprint: Mapping[str, str], shown: str) -> None:
    """Raise ConfigError unless a study is new or has this fingerprint; tells all that differs."""
    stored = storage.get_study_user_attrs(study).get(_FINGERPRINT)
    if stored is None and not storage.get_all_trials(study):
        storage.set_study_user_attr(study, _FINGERPRINT, dict(fingerprint))
        return
    if not isinstance(stored, dict):
        raise ConfigError(f"the study {shown} is none of Penstock's", hint="Give another place for this study.")
    check_same_study(shown, stored, fingerprint)
