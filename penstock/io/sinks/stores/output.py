"""Outputs of a run in a store: the previous output of a target, and the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from penstock.core.errors import CommitConflictError, ConfigError, OutputError
from penstock.io.sinks.committer import ManifestCommitter
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.files import FileEntry
from penstock.io.sinks.locks import Owner
from penstock.io.sinks.manifest import Manifest
from penstock.io.sinks.staging import check_run_id
from penstock.io.sinks.stores.conditional import Versioned
from penstock.io.sinks.stores.intent import StoreChange
from penstock.io.sinks.stores.names import StoreTarget, new_token, of_others
from penstock.io.sinks.stores.part_folder import StorePartFolder
from penstock.io.sinks.stores.recovery import discard_orphans, discard_run, recover
from penstock.io.sinks.stores.store import logger, store_at
from penstock.io.sinks.target import describe_manifest, refuse_changed, refuse_existing


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

    def _discard_replaced(self) -> None:
        """Remove what the output has replaced, where that is not gone with its head."""
        return


class StoreFile(StoreOutput):
    """A file that appears at its URL whole, or not at all; one that is there is replaced.

    Examples
    --------
    >>> from penstock.io.sinks.stores.commit import StoreCommit
    >>> with StoreCommit(page := StoreFile("memory://doc/report.html", run_id="r1")) as joint:
    ...     page.seal(b"<!doctype html>")
    ...     joint.commit()
    >>> page.store.read("/doc/report.html").content
    b'<!doctype html>'
    """

    is_file = True

    def seal(self, content: bytes) -> None:
        """Stage the whole content for the commit."""
        self._seal(content)

    def _check_target(self) -> None:
        if self.store.list(self.place.path).keys() - {"."}:
            raise OutputError(f"cannot write {self.target}: it is a folder", path=self.target)


class StoreDirectory(StoreOutput, ManifestCommitter):
    """A folder of a store that appears at its target whole, or not at all.

    Parts lie where they stay, under names that only this run has, so that nothing is renamed. The manifest, which is
    put last, is the only thing that makes them an output: who reads takes what it lists, in its order.

    Parameters
    ----------
    target : str
        A URL.
    overwrite : bool
        Whether an existing output may be replaced. Only a folder that is empty or has a manifest ever is.
    run_id : str
    storage_options : mapping, optional
        Passed to fsspec; never shown in a message.

    Raises
    ------
    OutputExistsError, CommitConflictError, OutputError
        As for `penstock.io.sinks.StagedDirectory`.

    Examples
    --------
    >>> from penstock.io.sinks.stores.commit import StoreCommit
    >>> with StoreCommit(output := StoreDirectory("memory://doc/scores", run_id="r1")) as joint:
    ...     def write(path: str) -> None:
    ...         with open(path, "w") as file:
    ...             _ = file.write("a")
    ...     entry = output.parts.put("part-00000.csv", write, rows=0, kind="csv")
    ...     manifest = output.seal([entry])
    ...     joint.commit()
    >>> sorted(output.store.list("/doc/scores")) == sorted(["_manifest.json", entry.path])
    True
    """

    is_file = False

    def __init__(
        self, target: str, *, overwrite: bool = False, run_id: str, storage_options: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(target, run_id=run_id, storage_options=storage_options)
        self.overwrite = overwrite
        self._token = new_token()
        self._replaced: set[str] = set()
        self._listed: frozenset[str] = frozenset()

    @property
    def parts(self) -> StorePartFolder:
        """The folder that workers put parts into."""
        return StorePartFolder(self.store, self.place.path, self.run_id, self._token)

    def previous(self) -> Manifest | None:
        if self.before is None:
            return None
        return Manifest.decode(self.before.content, path=self.store.show(self.place.head))

    def rebase(self) -> None:
        self.before = self.store.read(self.place.head)

    def _complete(self, manifest: Manifest, content: bytes, keep: Iterable[FileEntry]) -> None:
        self._check_there(manifest, {entry.path for entry in keep})
        failpoint("files-checked")
        self._listed = frozenset(entry.path for entry in manifest.files)
        self._seal(content)

    def change(self) -> StoreChange | None:
        """Return what the commit is to do."""
        if not self._omitted:
            return super().change()
        return StoreChange(self.place, self.before.version, removes=True) if self.before else None

    def _check_target(self) -> None:
        others = of_others(self.store.list(self.place.path))
        if self.before is not None and self.overwrite:
            self._replaced = others
        elif self.before is not None:
            raise refuse_existing(self.target, self.describe(self.before), is_output=True)
        elif others:
            raise refuse_existing(self.target, "no manifest of this library", is_output=False)

    def _check_there(self, manifest: Manifest, keep: Collection[str]) -> None:
        present = self.store.list(self.place.path) if manifest.files else {}
        for entry in manifest.files:
            if entry.path not in present or present[entry.path].size != entry.bytes:
                if entry.path in keep and not self.is_unchanged():
                    raise self.refuse_conflict()
                message = f"{entry.path} is not in {self.target} as it was listed, with {entry.bytes} bytes"
                hint = "Another program has removed or changed it; run again."
                raise OutputError(message, hint=hint, path=entry.path, run_id=self.run_id)

    def _discard_replaced(self) -> None:
        left = sorted(self._replaced - self._listed)
        self.store.discard(f"{self.place.path}/{name}" for name in left)
        discard_orphans(self.store, self.place)
        failpoint("replaced-removed")
