"""An output of a run in a store: what lies at its target when the run begins, and what is to be there after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.errors import CommitConflictError, ConfigError
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.locks import Owner
from penstock.io.sinks.manifest import Manifest
from penstock.io.sinks.staging import check_run_id
from penstock.io.sinks.stores.conditional import Versioned
from penstock.io.sinks.stores.intent import StoreChange
from penstock.io.sinks.stores.names import StoreTarget, new_token
from penstock.io.sinks.stores.recovery import discard_run, recover
from penstock.io.sinks.stores.store import logger, store_at
from penstock.io.sinks.target import describe_manifest, refuse_changed


class StoreOutput(ABC):
    """What folders and files of a store have in common; a `StoreCommit`, of one or of several, puts them in place.

    Parameters
    ----------
    target : str
        A URL.
    run_id : str
        The run, as ``new_run_id`` makes one.
    storage_options : mapping, optional
        Passed to fsspec; never shown in a message.
    """

    is_file: bool

    def __init__(self, target: str, *, run_id: str, storage_options: Mapping[str, Any] | None = None) -> None:
        check_run_id(run_id)
        self.store = store_at(target, storage_options)
        self.target = self.store.url
        self.run_id = run_id
        self.place = StoreTarget(self.store.path, self.is_file)
        self.before: Versioned | None = None
        self._claimed = self._sealed = False

    def check_target(self) -> None:
        """Note what lies at the target, and raise OutputExistsError if that may not be replaced; nothing is written."""
        self.before = self.store.read(self.place.head)
        self._check_target()

    def describe_target(self) -> str:
        """Say for people what lies at the target."""
        return self.describe(self._now())

    def claim(self, targets: Sequence[StoreTarget]) -> None:
        """Settle what other runs left, check that the target may be written, note what is there, and record who runs.

        Raises
        ------
        OutputExistsError
            It may not be replaced.
        CommitConflictError
            This run already writes there.
        """
        recover(self.store, self.place)
        failpoint("recovered")
        self.check_target()
        record = Owner.here([target.encode() for target in targets]).encode(claim=new_token())
        self._claimed = self.store.replace(self.place.owner(self.run_id), record, None)
        if not self._claimed:
            message = f"run {self.run_id!r} already writes to {self.target}"
            hint = "Give each run an id of its own; what a dead run left is removed when it is a day old."
            raise CommitConflictError(message, hint=hint, path=self.target, run_id=self.run_id)
        failpoint("recorded")

    def change(self) -> StoreChange | None:
        """Return what the commit is to do, None for nothing; ConfigError where the output was not sealed."""
        if not self._sealed:
            raise ConfigError(f"{self.target} was neither sealed nor left out", path=self.target)
        return StoreChange(self.place, self.before.version if self.before else None)

    def refuse_conflict(self) -> CommitConflictError:
        """Return the error for a target that another run has changed."""
        return refuse_changed(self.run_id, self.target, self.describe_target(), self.describe(self.before))

    def is_unchanged(self) -> bool:
        """Return whether the target is what it was when it was claimed."""
        now = self._now()
        return (now.version if now else None) == (self.before.version if self.before else None)

    def release(self, *, committed: bool) -> None:
        """Remove what nobody needs any more, and the record; the outcome is settled by now."""
        if self._claimed:
            self._claimed = False
            if committed:
                self._discard_replaced()
            discard_run(self.store, self.place, self.run_id)

    def leave(self) -> None:
        """Leave all to the next run that enters the target: what is committed is not known."""
        self._claimed = False
        logger.error("what becomes of %s is not known; the next run that writes there settles it", self.target)

    def describe(self, head: Versioned | None) -> str:
        """Say for people what a head stands for."""
        if head is None:
            return "nothing"
        if self.is_file:
            return "a file"
        return describe_manifest(lambda: Manifest.decode(head.content, path=self.target))

    def _now(self) -> Versioned | None:
        return self.store.read(self.place.head)

    def _seal(self, content: bytes) -> None:
        """Put what the head is to be beside it."""
        failpoint("committing")
        self.store.put(self.place.sealed(self.run_id), content)
        failpoint("sealed")
        self._sealed = True

    @abstractmethod
    def _check_target(self) -> None:
        """Raise OutputExistsError for a target that may not be replaced."""

    @abstractmethod
    def _discard_replaced(self) -> None:
        """Remove what the output has replaced."""
