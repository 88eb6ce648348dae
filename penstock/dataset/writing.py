"""Writing a dataset: parts staged by the workers, every row accounted for, swapped in whole."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from penstock.core.errors import CommitConflictError, ConfigError
from penstock.core.locations import is_url
from penstock.core.recording import note_output
from penstock.core.redaction import redact
from penstock.core.scheduler import check_shared
from penstock.dataset.dataset import Dataset
from penstock.dataset.gather_step import conclude
from penstock.dataset.outputs.additions import Addition, Description
from penstock.dataset.outputs.destination import Destination, beside, checked
from penstock.dataset.outputs.parts import write_parts
from penstock.dataset.outputs.revision import Revision
from penstock.dataset.outputs.set_aside import SetAside
from penstock.dataset.tasks import Written
from penstock.io.formats.table_format import TableFormat
from penstock.io.sinks import MANIFEST_NAME, OutputCommit, check_apart, locate, new_run_id, output_directory
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sources.files import Storage
from penstock.io.tables.abandoned import at_work, dead_runs, discard_unnamed
from penstock.io.tables.committer import TableCommitter, TableWrite


@dataclass(frozen=True)
class WriteResult:
    """What a write did.

    ``rows`` were written to ``path``; ``read`` is how many came in, ``dropped`` and ``quarantined`` count the others by
    reason, and ``quarantine`` is where the latter went (None if there were none). ``nulled`` counts values, by what
    made them null.

    Of what the output is made: ``files`` were written, into ``partitions`` folders (0 where it is not partitioned).
    ``rows_replaced`` of the output that was there gave way, and ``rows_unchanged`` are in it still; with
    ``mode="error"`` and ``"overwrite"`` nothing is kept and nothing counted.

    ``reports`` are what was concluded from statistics that were gathered as the rows passed, by name; see `GatherStep`.
    """

    path: str
    rows: int
    read: int
    dropped: dict[str, int]
    quarantined: dict[str, int]
    quarantine: str | None
    run_id: str
    nulled: dict[str, int] = field(default_factory=dict)
    files: int = 0
    partitions: int = 0
    rows_replaced: int = 0
    rows_unchanged: int = 0
    reports: Mapping[str, Any] = field(default_factory=dict)

    @property
    def check(self) -> Any:
        """The `CheckReport` of the rules that the rows were written by; None without rules."""
        return self.reports.get("check")

    @property
    def drift(self) -> Any:
        """The `DriftReport` of rows that a model has scored under a monitor; None of others."""
        return self.reports.get("drift")


def write(dataset: Dataset, destination: Destination) -> WriteResult:
    """Write a dataset as a directory, or into a table; see `Dataset.write`."""
    if destination.table_format is not None:
        table, written, aside, reports = _write_table(dataset, destination.table_format, destination)
        written.files = [entry for entry in written.files if entry.rows]
        _note(table.path, written, dataset.schema)
        run_id = destination.placement.run_id or table.folder.run
        return _result_of(table.path, written, aside, run_id, table, table.partition_by, reports)
    staged = StagedDataset(destination, run_id=new_run_id())
    staged.writer(dataset)
    refuse_inputs(dataset, [output.target for output in staged.outputs])
    with OutputCommit(*staged.outputs) as joint:
        staged.seal(dataset)
        commit_together(joint, [staged])
        return staged.result()


def _write_table(
    dataset: Dataset, format: TableFormat[Any], destination: Destination
) -> tuple[TableCommitter, Written, str | None, dict[str, Any]]:
    """Write a dataset into a table that keeps a log.

    Return the table, what was written, the quarantine, and what was concluded from statistics gathered in the pass.

    Rows that are set aside are in their place before the table has the others: a process that dies loses none.
    """
    run, placement, dataset = new_run_id(), destination.placement, checked(dataset, destination.rules)
    table = format.committer(_described(dataset, destination, run), destination.options)
    if not table.prepare():
        return table, Written(), None, {}
    where = destination.quarantine or beside(table.path)
    layout = replace(
        replace(placement, partition_by=table.partition_by).layout(table.schema, run), prefix=table.folder.prefix
    )
    stored = table.schema if layout.partitioning is None else layout.partitioning.stored(table.schema)
    with SetAside(where, run, placement, destination.storage_options) as aside, at_work(table.folder):
        try:
            written = write_parts(dataset, table.writer(stored), table.folder.parts, aside.parts, layout)
            reports = conclude(dataset, written.log)
            aside.publish(written.quarantine, written.log)
            dead = dead_runs(table.folder)
        except BaseException:
            table.folder.discard()
            raise
        try:
            table.commit(written.files)
        except BaseException:
            discard_unnamed(table.folder, [run], table.names)  # a commit whose answer was cut off may name some
            raise
        discard_unnamed(table.folder, dead, table.names)
        aside.settle()
    return table, written, aside.location, reports


def _described(dataset: Dataset, destination: Destination, run: str) -> TableWrite:
    placement = destination.placement
    return TableWrite(
        target=destination.path,
        schema=dataset.schema,
        mode=placement.mode,
        partition_by=tuple(placement.partition_by),
        keys=tuple(placement.keys),
        run=run,
        run_id=placement.run_id,
        storage_options=destination.storage_options,
    )


def check_target(destination: Destination, *, apart_from: str | Path) -> None:
    """Raise what entering an output raises, before there are rows for it, and settle what dead runs left there.

    Of a table that is all in its log, which is asked when the rows are known.
    """
    if destination.table_format is None:
        joint = OutputCommit(*StagedDataset(destination, run_id=new_run_id()).outputs)
        check_apart([apart_from, *joint.targets])
        joint.check()


def check_write(dataset: Dataset, destination: Destination) -> None:
    """Raise what `write` raises before it reads rows: they do not fit the output that is there. Nothing is written."""
    if (format := destination.table_format) is not None:
        format.committer(_described(dataset, destination, new_run_id()), destination.options).prepare()
    else:
        StagedDataset(destination, run_id=new_run_id()).check(dataset)


def commit_together(joint: OutputCommit, staged: Iterable[StagedDataset]) -> None:
    """Put in place what was sealed; where other runs have added to outputs meanwhile, beside what they added.

    Parameters
    ----------
    joint : OutputCommit
    staged : iterable of StagedDataset
        Those of its outputs that are datasets.

    Raises
    ------
    CommitConflictError
        Another run has changed what this one was to replace.
    """
    datasets = list(staged)
    while True:
        try:
            return joint.commit()
        except CommitConflictError:
            changed = {id(output) for output in joint.changed()}
            behind = [each for each in datasets if not changed.isdisjoint(map(id, each.outputs))]
            rebased = {id(output) for each in behind for output in each.outputs}
            if not changed or not changed <= rebased or not all(each.rebase() for each in behind):
                raise


def _note(path: str, written: Written, schema: pa.Schema) -> None:
    """Take note of an output for the record of the run."""
    counts = {"rows": written.log.kept, "files": len(written.files), "bytes": sum(each.bytes for each in written.files)}
    note_output({"path": redact(path), **counts, "columns": {each.name: str(each.type) for each in schema}})


def _result_of(
    path: str,
    written: Written,
    aside: str | None,
    run_id: str,
    changed: Addition | TableCommitter,
    partition_by: Sequence[str],
    reports: Mapping[str, Any],
) -> WriteResult:
    log, quarantine = written.log, aside if written.quarantine else None
    folders = {posixpath.dirname(entry.path) for entry in written.files if entry.rows} if partition_by else ()
    account = (log.kept, log.read, log.dropped, log.quarantined, quarantine, run_id, log.nulled)
    made = len(written.files), len(folders), changed.rows_replaced, changed.rows_unchanged
    return WriteResult(path, *account, *made, reports)


class StagedDataset:
    """Rows as a directory, and those set aside as another beside it, in Parquet, to be put in place together.

    `run_id` is of what is staged, that of the user is in the destination; `outputs` are what an `OutputCommit` takes.
    """

    def __init__(self, destination: Destination, *, run_id: str) -> None:
        self._destination, options = destination, destination.storage_options
        replaces = destination.placement.mode != "error"
        self._rows = output_directory(destination.path, overwrite=replaces, run_id=run_id, storage_options=options)
        self._aside = destination.quarantine or beside(destination.path)
        self._quarantine = output_directory(self._aside, overwrite=True, run_id=run_id, storage_options=options)
        self.outputs = (self._rows, self._quarantine)
        self._reports: Mapping[str, Any] = {}

    def writer(self, dataset: Dataset) -> PartWriter:
        """Return what writes the parts; ConfigError where the format cannot hold a column, or workers see no output."""
        check_shared(dataset.engine, [self._destination.path, self._aside])
        layout = self._destination.placement.layout(dataset.schema, self._rows.run_id)
        stored = dataset.schema if layout.partitioning is None else layout.partitioning.stored(dataset.schema)
        return self._destination.format.part_writer(stored, self._destination.options)

    def check(self, dataset: Dataset) -> None:
        """Raise what `seal` raises before it reads rows; for before the outputs are entered, and nothing is written."""
        self._rows.rebase()
        self._revise(dataset).check()
        self._destination.check_rules(dataset)

    def seal(self, dataset: Dataset) -> WriteResult:
        """Stage a dataset, every row of it accounted for."""
        dataset, self._revision = checked(dataset, self._destination.rules), self._revise(dataset)
        self._revision.stage(dataset)
        self._reports = conclude(dataset, self._revision.written.log)
        self._revision.seal()
        _note(self._destination.path, self._revision.written, dataset.schema)
        return self.result()

    def rebase(self) -> bool:
        """Go on from what is there now, ready for the commit; return False where that would undo another run."""
        if not self._revision.rebase():
            return False
        self._revision.seal()
        return True

    def result(self) -> WriteResult:
        """Return what was sealed, beside what else the output holds by then."""
        revision, placement = self._revision, self._destination.placement
        path, aside, run_id = redact(self._destination.path), redact(self._aside), placement.run_id or self._rows.run_id
        written, changed = revision.written, revision.addition
        return _result_of(path, written, aside, run_id, changed, placement.partition_by, self._reports)

    def _revise(self, dataset: Dataset) -> Revision:
        to, writer = self._destination, self.writer(dataset)
        description = Description(to.path, dataset.schema, to.placement, to.format, writer)
        return Revision(description, self._rows, self._quarantine, storage=Storage(to.storage_options))


def refuse_inputs(dataset: Dataset, outputs: Iterable[str | Path]) -> None:
    """Raise ConfigError for an output that would replace, hold or lie in what the dataset reads."""
    read = {piece.path for fragment in dataset.fragments for piece in fragment.pieces if piece.table is None}
    sources = {locate(path) if is_url(path) else Path(os.path.realpath(path)) for path in read}
    for output in outputs:
        goal = locate(output)
        overlap = next((source for source in sources if goal in (source, *source.parents)), None)
        overlap = overlap or next((folder for folder in goal.parents if _is_read(folder, sources)), None)
        if overlap is not None:
            raise ConfigError(
                f"the output {output} would replace, hold or lie in its own input {overlap}",
                hint="Write to another directory.",
                path=os.fspath(output),
            )


def _is_read(folder: PurePath, sources: Iterable[PurePath]) -> bool:
    """Return whether a folder of a disk is a dataset, with a marker of its own, from which a file is read."""
    marked = isinstance(folder, Path) and any((folder / marker).exists() for marker in (MANIFEST_NAME, "_SUCCESS"))
    return marked and any(folder in source.parents for source in sources)
