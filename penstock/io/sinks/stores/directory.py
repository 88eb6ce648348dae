"""A folder of a store, with a manifest, as an output of a run.

Parts lie where they stay, under names that only this run has, so that nothing is renamed. The manifest, which is put
last, is the only thing that makes them an output: who reads takes what it lists, in its order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from penstock.core.errors import OutputError
from penstock.io.sinks.committer import ManifestCommitter
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.files import FileEntry
from penstock.io.sinks.manifest import Manifest
from penstock.io.sinks.stores.intent import StoreChange
from penstock.io.sinks.stores.names import new_token, of_others
from penstock.io.sinks.stores.output import StoreOutput
from penstock.io.sinks.stores.part_folder import StorePartFolder
from penstock.io.sinks.stores.recovery import discard_orphans
from penstock.io.sinks.target import refuse_existing


class StoreDirectory(StoreOutput, ManifestCommitter):
    """A folder of a store that appears at its target whole, or not at all.

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
        self,
        target: str,
        *,
        overwrite: bool = False,
        run_id: str,
        storage_options: Mapping[str, Any] | None = None,
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
