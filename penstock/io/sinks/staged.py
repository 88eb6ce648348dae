"""An output of a run: what lies at its target when the run begins, and what is to be there after it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from penstock.core.errors import CommitConflictError, ConfigError
from penstock.core.notices import get_logger
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.journal import Change, encode_path
from penstock.io.sinks.locks import claim, is_claimed, release
from penstock.io.sinks.os_errors import translating
from penstock.io.sinks.staging import Siblings, check_run_id, discard
from penstock.io.sinks.target import describe, fingerprint, refuse_changed, resolve

logger = get_logger(__name__)


class Staged(ABC):
    """What directories and files have in common; a `JointCommit`, of one or of several, puts them in place."""

    def __init__(self, target: str | os.PathLike[str], *, run_id: str) -> None:
        check_run_id(run_id)
        self.target = resolve(target)
        self.run_id = run_id
        self.names = Siblings(self.target, run_id)
        self._before: str | None = None
        self._described = "nothing"
        self._record: int | None = None
        self._sealed = False
        self._mode = 0o600

    @property
    def path(self) -> Path:
        """What is written to until this is sealed; only this user can read it."""
        return self.names.staging

    def check_target(self) -> None:
        """Raise OutputExistsError for a target that may not be replaced; nothing is written."""
        with translating(self.target):
            self._check_target()

    def describe_target(self) -> str:
        """Say for people what lies at the target."""
        return describe(self.target)

    def claim(self, targets: Sequence[Path]) -> None:
        """Check that the target may be written, note what is there, and record who is about to write to all targets."""
        self._check_target()
        self._note_target()
        try:
            folder = self.target.parent
            self._record = claim(self.names.record, [encode_path(target, folder) for target in targets])
        except FileExistsError as error:
            message = f"run {self.run_id!r} already writes to {self.target}"
            hint = f"Give each run an id of its own; if that run is dead, remove {self.names.record}."
            raise CommitConflictError(message, hint=hint, path=str(self.target), run_id=self.run_id) from error
        failpoint("recorded")
        self._mode = self._final_mode()
        self._make()
        failpoint("staged")

    def _note_target(self) -> None:
        """Note what is at the target, which the commit is to find there still."""
        self._before, self._described = fingerprint(self.target), describe(self.target)

    def change(self) -> Change | None:
        """Return what the commit is to do, None for nothing.

        Raises
        ------
        ConfigError
            The output was not sealed.
        """
        if not self._sealed:
            raise ConfigError(f"{self.target} was neither sealed nor left out", path=str(self.target))
        return Change(self.names, self._before, fingerprint(self.names.sealed))

    def is_unchanged(self) -> bool:
        """Return whether the target is what it was when it was claimed."""
        return fingerprint(self.target) == self._before

    def check_unchanged(self) -> None:
        """Raise CommitConflictError if the target is not what it was when it was claimed."""
        if not self.is_unchanged():
            raise refuse_changed(self.run_id, str(self.target), describe(self.target), self._described)

    def release(self, *, keep: bool) -> None:
        """Remove what is left beside the target, unless told to keep it, and the claim.

        The outcome is settled by now, so that a failure is only reported.
        """
        if self._record is None or not is_claimed(self._record):
            return
        try:
            if not keep:
                discard(self.names)
        except OSError as error:
            logger.warning("cannot remove %s; the next run tries again: %s", self.names.sealed, error)
        finally:
            release(self._record)
            self._record = None

    def _seal(self) -> Path:
        """Rename what was staged to a name that no worker knows, unless that is done, and return that."""
        if self._sealed:
            return self.names.sealed
        failpoint("committing")
        os.rename(self.path, self.names.sealed)
        failpoint("sealed")
        self._sealed = True
        return self.names.sealed

    @abstractmethod
    def _check_target(self) -> None:
        """Raise OutputExistsError or OSError for a target that may not be replaced."""

    @abstractmethod
    def _make(self) -> None:
        """Make what is staged into, for this user alone."""

    @abstractmethod
    def _final_mode(self) -> int:
        """Return the permissions of the output."""
