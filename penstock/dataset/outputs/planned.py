"""The files of an output that is there, each to be read by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw

from penstock.core.scheduler import Scheduler
from penstock.dataset.outputs.additions import Description
from penstock.io.formats import TableOptions
from penstock.io.fragments import Fragment
from penstock.io.sinks import FileEntry, Manifest
from penstock.io.sources.base import Reader
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.paths import expand


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
