"""Merging: each row of an output with the key of a new row gives way to it, and the other new rows come after.

The new rows are read once and staged by their keys, in buckets that fit into memory. Each file of the output is then
looked at by itself: a task reads it, looks its keys up in every bucket, and writes it again only if one is there. What
is left of the new rows after that is written as any rows are. All of this goes by the values of rows and the order of
fragments alone, so that it is the same on every engine.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from penstock import frames
from penstock.core.errors import RowCountError
from penstock.core.names import hidden_name
from penstock.core.scheduler import Scheduler, map_all
from penstock.dataset.dataset import Dataset
from penstock.dataset.outputs.additions import Addition, Description, count_rows
from penstock.dataset.outputs.new_rows import FRAGMENT, PLACE, CheckTask, KeyBuckets, NewRows, staged_schema
from penstock.dataset.outputs.parts import in_order, write_parts
from penstock.dataset.tasks import Written, put_parts
from penstock.io.formats import TableOptions
from penstock.io.fragments import Fragment, row_bytes
from penstock.io.sinks import FileEntry, Manifest
from penstock.io.sinks.layout import Layout
from penstock.io.sinks.parquet import ParquetWriter
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sources.base import Reader
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.paths import expand

_BUCKET_BYTES = 256 * 2**20
_MOST_BUCKETS = 4096


@dataclass(frozen=True)
class MergeByKeys:
    """A merge of the rows of a dataset into the output that is there.

    Parameters
    ----------
    dataset : Dataset
    description : Description
    layout : Layout
        Of the new files.
    before : Manifest or None
        The output that is there.
    rows, quarantine : PartFolder
        Where parts go.
    storage : Storage
        Opens the files of the output.
    """

    dataset: Dataset
    description: Description
    layout: Layout
    before: Manifest | None
    rows: PartFolder
    quarantine: PartFolder
    storage: Storage

    def stage(self) -> tuple[Written, Addition]:
        """Write all files that change, and return them, with what becomes of the output.

        Raises
        ------
        DataValueError
            A key is twice among the new rows.
        CommitConflictError
            Another run has replaced the output.
        RowCountError
            Rows would be lost, or be there twice.
        """
        new, written = self._new_rows()
        try:
            replaced = self._replaced(new)
        finally:
            new.forget_keys()
        inserted = self._inserted(new, replaced.values())
        written.files = [*(entry for each in replaced.values() for entry in each.files), *inserted]
        return written, self._addition(replaced, inserted)

    def _new_rows(self) -> tuple[NewRows, Written]:
        """Read the dataset once, and stage its rows by their keys."""
        schema, keys = self.dataset.schema, tuple(self.description.placement.keys)
        rows = sum(fragment.rows for fragment in self.dataset.fragments)
        count = min(_MOST_BUCKETS, 1 + rows * row_bytes(schema) // _BUCKET_BYTES)
        buckets = KeyBuckets(keys, count, self.layout.prefix)
        writer = ParquetWriter(staged_schema(schema))
        written = write_parts(self.dataset, writer, self.rows, self.quarantine, buckets)
        return NewRows(self.rows, self.storage, schema, keys, tuple(written.files)), written

    def _replaced(self, new: NewRows) -> Mapping[str, Replaced]:
        """Write files again in which new rows take places; return what became of each that was looked at."""
        engine = self.dataset.engine
        check = CheckTask(new, self.layout.partitioning)
        touched = set().union(*map_all(engine, check, new.buckets, label="merge: keys"))
        if self.before is None or not new.buckets:
            return {}
        paths = {entry.path for entry in self.before.files if entry.rows and _is_touched(entry, touched)}
        files = plan_files(engine, self.description, self.before, paths, self.storage)
        task = ReplaceTask(new, self.description.writer, self.rows, self.layout)
        replaced = map_all(engine, task, files, label="merge: replace")
        return {file.entry.path: each for file, each in zip(files, replaced, strict=True) if each.files}

    def _inserted(self, new: NewRows, replaced: Iterable[Replaced]) -> list[FileEntry]:
        """Write the new rows that took no place, in the order of their fragments."""
        taken = {index: np.zeros(rows, bool) for index, rows in new.rows_of_fragments.items()}
        for each in replaced:
            for index in np.unique(each.fragments):
                taken[int(index)][each.places[each.fragments == index]] = True
        rests = [Rest(index, np.packbits(taken[index])) for index in sorted(taken)]
        first = 0 if self.before is None else len(self.before.files)
        task = InsertTask(new, self.description.writer, self.rows, self.layout, first)
        files = [
            entry for entries in map_all(self.dataset.engine, task, rests, label="merge: insert") for entry in entries
        ]
        left = sum(int(np.count_nonzero(~rows)) for rows in taken.values())
        if count_rows(files) != left:
            raise RowCountError(f"{left} of the rows to merge are new, and {count_rows(files)} were written")
        return files if self.layout.partitioning is None else in_order(files, self.layout.partitioning)

    def _addition(self, replaced: Mapping[str, Replaced], inserted: list[FileEntry]) -> Addition:
        """Return the files of the output: those there, or what became of them, in their order, and the new ones."""
        there = () if self.before is None else self.before.files
        kept = tuple(entry for entry in there if entry.path not in replaced)
        files: list[FileEntry] = []
        for entry in there:  # what was written in the place of a file is of the run that the file is of
            again = replaced.get(entry.path)
            files += [entry] if again is None else [replace(part, run=entry.run) for part in again.files]
        gone = tuple(entry for entry in there if entry.path in replaced)
        rows = sum(len(each.places) for each in replaced.values())
        run_id = self.description.placement.run_id
        files += [replace(entry, run=run_id) for entry in inserted]
        return Addition(kept, gone, tuple(files), rows_replaced=rows, rows_unchanged=count_rows(there) - rows)


def _is_touched(entry: FileEntry, folders: set[str]) -> bool:
    """Return whether new rows may have keys of a file; without folders, all files may."""
    return not folders or posixpath.dirname(entry.path) in folders


_ROW = hidden_name("row")


def _no_numbers() -> np.ndarray:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Replaced:
    """What a file of the output became.

    Attributes
    ----------
    files : list of FileEntry
        What was written in its place; nothing where none of its rows gave way.
    fragments, places : numpy.ndarray
        Which new rows took the places of its rows.
    """

    files: list[FileEntry] = field(default_factory=list)
    fragments: np.ndarray = field(default_factory=_no_numbers)
    places: np.ndarray = field(default_factory=_no_numbers)


@dataclass(frozen=True)
class ReplaceTask:
    """Writes a file of the output again, with new rows in the places of those that have their keys."""

    new: NewRows
    writer: PartWriter
    folder: PartFolder
    layout: Layout

    def __call__(self, file: PlannedFile) -> Replaced:
        """Merge new rows into one file.

        Raises
        ------
        RowCountError
            It would have other rows than before.
        """
        schema = self.new.schema
        old: pl.DataFrame = nw.to_native(frames.conform(file.read(schema.names), schema)).with_row_index(_ROW)
        matches = [match for bucket in self.new.buckets for match in self._matches(old, bucket)]
        if not matches:
            return Replaced()
        rows = pl.concat(matches)
        merged = pl.concat([old.join(rows, on=_ROW, how="anti"), rows.select(old.columns)]).sort(_ROW).drop(_ROW)
        parts = self.layout.parts(nw.from_native(merged, eager_only=True), file.index, schema)
        files = put_parts(self.writer, parts, self.folder)
        if count_rows(files) != file.entry.rows:
            raise RowCountError(f"{file.entry.path} has {file.entry.rows} rows, and {count_rows(files)} once merged")
        return Replaced(files, rows[FRAGMENT].to_numpy(), rows[PLACE].to_numpy())

    def _matches(self, old: pl.DataFrame, bucket: list[str]) -> list[pl.DataFrame]:
        """Return new rows of a bucket, if there are, with the numbers of the rows whose places they take."""
        keys = list(self.new.keys)
        found = old.select(_ROW, *keys).join(self.new.read_keys(bucket), on=keys, how="inner", nulls_equal=True)
        if not len(found):
            return []
        which = [FRAGMENT, PLACE]
        return [found.select(_ROW, *which).join(self.new.read(bucket), on=which, how="inner")]


@dataclass(frozen=True)
class Rest:
    """The new rows of a fragment that took no place; ``taken`` has a bit for each row of it, packed."""

    index: int
    taken: np.ndarray


@dataclass(frozen=True)
class InsertTask:
    """Writes what is left of the new rows of a fragment, in their order.

    Parameters
    ----------
    first : int
        The number of the files of the first fragment; those that are written in the places of others come before.
    """

    new: NewRows
    writer: PartWriter
    folder: PartFolder
    layout: Layout
    first: int

    def __call__(self, rest: Rest) -> list[FileEntry]:
        """Write what is left of one fragment."""
        self.new.forget_keys()
        rows = self.new.read(self.new.of_fragment(rest.index)).sort(PLACE)
        taken = np.unpackbits(rest.taken, count=len(rows)).astype(bool)
        left = rows.filter(~pl.Series(taken)).select(self.new.schema.names)
        parts = self.layout.parts(nw.from_native(left, eager_only=True), self.first + rest.index, self.new.schema)
        return put_parts(self.writer, parts, self.folder) if len(left) else []


@dataclass(frozen=True)
class PlannedFile:
    """A file of an output: its entry in the manifest, its place there, and how its rows are read."""

    entry: FileEntry
    index: int
    reader: Reader
    fragment: Fragment

    def read(self, columns: Sequence[str]) -> nw.DataFrame:
        """Return its rows, on a CPU."""
        return self.reader.read(self.fragment, columns, "cpu")


def plan_files(
    scheduler: Scheduler, description: Description, before: Manifest, paths: set[str], storage: Storage
) -> list[PlannedFile]:
    """Plan files of an output, those of some paths, in the order of its manifest.

    Raises
    ------
    CommitConflictError
        Another run has replaced the output.
    """
    kind, places = description.format, {entry.path: place for place, entry in enumerate(before.files)}
    chosen = [
        (entry, file)
        for entry, file in zip(before.files, _files(description, before, storage), strict=True)
        if entry.path in paths
    ]
    if not chosen:
        return []
    reading: dict[str, Any] = dict(description.writer.reading)
    schema = {"schema": description.schema} if issubclass(kind.options, TableOptions) else {}
    options = kind.read_options(schema | reading)
    source, fragments = kind.plan([file for _, file in chosen], scheduler, storage, options)
    whole = {path: Fragment(0, 0, ()) for path in (file.path for _, file in chosen)}
    for piece in (piece for fragment in fragments for piece in fragment.pieces):
        whole[piece.path] = replace(whole[piece.path], pieces=(*whole[piece.path].pieces, piece))
    return [PlannedFile(entry, places[entry.path], Reader(source), whole[file.path]) for entry, file in chosen]


def _files(description: Description, before: Manifest, storage: Storage) -> list[InputFile]:
    files = expand(description.path, description.format.suffixes, storage)
    names = [f"/{entry.path}" for entry in before.files]
    if len(files) != len(names) or not all(map(str.endswith, (file.path for file in files), names)):
        raise description.replaced_meanwhile()
    return files
