"""The next state of an output: what a run wrote, and what it keeps of what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.core.errors import CommitConflictError, InputError
from penstock.dataset.dataset import Dataset
from penstock.dataset.outputs.additions import Addition, Description
from penstock.dataset.outputs.merge import MergeByKeys
from penstock.dataset.outputs.parts import empty_part, write_parts
from penstock.dataset.steps import RowLog
from penstock.dataset.tasks import Written
from penstock.io.sinks import FileEntry, Json, Manifest
from penstock.io.sinks.committer import ManifestCommitter
from penstock.io.sinks.layout import Layout
from penstock.io.sources.files import Storage

_ATTEMPTS = 100
"""How often a run goes on from what others have committed before it: each time one of them has come through."""


@dataclass
class Revision:
    """Stages rows and seals them, again where another run has added to the output meanwhile.

    Parameters
    ----------
    description : Description
    rows, quarantine : ManifestCommitter
        Of the output, and of the rows that are set aside.
    storage : Storage
        Opens the files of both.
    """

    description: Description
    rows: ManifestCommitter
    quarantine: ManifestCommitter
    written: Written = field(default_factory=Written)
    addition: Addition = field(default_factory=Addition)
    storage: Storage = field(default_factory=Storage)
    _replaced: tuple[FileEntry, ...] | None = None
    _merged: Addition | None = None
    _attempts: int = 0

    def check(self) -> None:
        """Raise where the rows do not fit the output that is there: the errors of `Description.check_extends`."""
        self._before()

    def stage(self, dataset: Dataset) -> None:
        """Write all rows as parts; the errors of `Description.check_extends` come before anything is read."""
        before = self._before()
        layout = self.description.placement.layout(dataset.schema, self.rows.run_id)
        if self.description.placement.mode == "merge":
            self._merge(dataset, before, layout)
        else:
            folders = self.rows.parts, self.quarantine.parts
            self.written = write_parts(dataset, self.description.writer, *folders, layout)
            self._fill(before, layout)
            self.written.files = self._of_run(self.written.files)
        self.written.quarantine = self._of_run(self.written.quarantine)

    def _merge(self, dataset: Dataset, before: Manifest | None, layout: Layout) -> None:
        merge = MergeByKeys(
            dataset, self.description, layout, before, self.rows.parts, self.quarantine.parts, self.storage
        )
        try:
            self.written, self._merged = merge.stage()
        except InputError as error:
            if self.rows.previous() == before:
                raise
            raise self.description.replaced_meanwhile() from error
        if not self._merged.files:
            self.written.files = empty_part(self.description.writer, self.rows.parts, layout)
            self._merged = Addition(files=tuple(self.written.files))

    def _fill(self, before: Manifest | None, layout: Layout) -> None:
        """Leave out empty parts, which would become more with each run; have one where there is nothing else."""
        placement = self.description.placement
        if placement.adds:
            self.written.files = [entry for entry in self.written.files if entry.rows]
        if not self.written.files and not Addition.of(before, placement, ()).kept:
            self.written.files = empty_part(self.description.writer, self.rows.parts, layout)

    def seal(self) -> None:
        """Make both outputs ready for the commit.

        Raises
        ------
        CommitConflictError
            Another run has changed what this one was to replace, or what it keeps.
        """
        while True:
            try:
                self.addition = self._next()
                if self._replaced is None:
                    self._replaced = self.addition.replaced
                metadata = counts(self.written.log) | self.description.metadata()
                self.rows.seal(self.addition.files, metadata=metadata, keep=self.addition.kept)
                self._seal_quarantine()
                return
            except CommitConflictError:
                if not self.rebase():
                    raise

    def rebase(self) -> bool:
        """Go on from the output that is there now; return False where that would undo what another run has done."""
        self._attempts += 1
        if self.description.placement.mode not in ("append", "overwrite_partitions") or self._attempts > _ATTEMPTS:
            return False
        self.rows.rebase()
        self.quarantine.rebase()
        now = self._next()
        return now.replaced == self._replaced and bool(now.kept or now.replaced)

    def _next(self) -> Addition:
        """Return what becomes of the output that is there now."""
        if self._merged is not None:
            return self._merged
        return Addition.of(self._before(), self.description.placement, self.written.files)

    def _before(self) -> Manifest | None:
        """Return the manifest of the output that is added to, None where there is none or all of it gives way."""
        before = self.rows.previous() if self.description.placement.adds else None
        if before is not None:
            self.description.check_extends(before)
        return before

    def _seal_quarantine(self) -> None:
        placement = self.description.placement
        there = self.quarantine.previous() if placement.adds else None
        kept = Addition.of(there, replace(placement, mode="append", keys=()), ()).kept if placement.adds else ()
        files = [*kept, *self.written.quarantine]
        if files:
            self.quarantine.seal(files, metadata={"quarantined": self.written.log.quarantined}, keep=kept)
        else:
            self.quarantine.omit()

    def _of_run(self, files: Sequence[FileEntry]) -> list[FileEntry]:
        """Return entries that remember the run, where the user has named it."""
        run_id = self.description.placement.run_id
        return list(files) if run_id is None else [replace(entry, run=run_id) for entry in files]


def counts(log: RowLog) -> dict[str, Json]:
    """Return what a manifest says of the rows of the run that wrote it."""
    said: dict[str, Json] = {
        "rows_read": log.read, "rows": log.kept, "dropped": log.dropped, "quarantined": log.quarantined,
    }  # fmt: skip
    return said | ({"nulled": log.nulled} if log.nulled else {})
