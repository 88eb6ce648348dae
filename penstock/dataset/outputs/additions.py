"""What a write keeps of the output that is there, and whether it may add to it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.core.errors import CommitConflictError, ConfigError, SchemaDriftError, did_you_mean
from penstock.dataset.outputs.placement import Placement
from penstock.io.formats import Format
from penstock.io.sinks import DATASET, FileEntry, Json, Manifest
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sinks.partitions import describe_columns


@dataclass(frozen=True)
class Description:
    """What an output is, so that other rows can be added to it: format, columns, folders, spelling.

    Parameters
    ----------
    path : str
        As the user names it.
    schema : pyarrow.Schema
        Of the rows.
    placement : Placement
    format : Format
    writer : PartWriter
    """

    path: str
    schema: pa.Schema
    placement: Placement
    format: Format[Any]
    writer: PartWriter

    def metadata(self) -> dict[str, Json]:
        """Return what the manifest says of it."""
        said = describe_columns(self.schema, self.placement.partitioning(self.schema))
        return said | ({"reading": self.writer.reading} if self.writer.reading else {})

    def check_extends(self, manifest: Manifest) -> None:
        """Raise unless rows of this description may go beside those of a manifest.

        Raises
        ------
        ConfigError
            The output is a model, or of another format, partitioning or spelling.
        SchemaDriftError
            It has other columns.
        """
        if manifest.format != DATASET:
            raise ConfigError(f"{self.path} holds no dataset, but {manifest.format}", path=self.path)
        kinds = {entry.kind for entry in manifest.files} - {self.writer.kind}
        if kinds:
            raise self._refuse("format", sorted(kinds)[0], self.writer.kind)
        if "columns" not in manifest.metadata:
            raise ConfigError(
                f"{self.path} was written by {manifest.library}, which does not say what its columns are",
                hint='Write it once with mode="overwrite".',
                path=self.path,
            )
        _check_columns(self.path, manifest.metadata["columns"], self.schema)
        said: Mapping[str, Any] = manifest.metadata
        there = tuple(said.get("partition_by") or ())
        if there != tuple(self.placement.partition_by):
            raise self._refuse("partition_by", there, tuple(self.placement.partition_by))
        spelled = dict(said.get("reading") or {})
        for name in sorted(spelled.keys() | self.writer.reading.keys()):
            if spelled.get(name) != self.writer.reading.get(name):
                raise self._refuse(name, spelled.get(name), self.writer.reading.get(name))

    def replaced_meanwhile(self) -> CommitConflictError:
        """Return the error for an output that another run replaced during a merge."""
        problem = f"{self.path} was replaced while rows were merged into it"
        return CommitConflictError(problem, hint="Only one run at a time can merge; run again.", path=self.path)

    def _refuse(self, what: str, there: Any, here: Any) -> ConfigError:
        return ConfigError(
            f"{what} of the output {self.path} is {there!r}, and that of the rows to add {here!r}",
            hint='Write them as the output is, or write it whole with mode="overwrite".',
            path=self.path,
        )


def _check_columns(path: str, there: Any, schema: pa.Schema) -> None:
    kinds = {column["name"]: column["type"] for column in there}
    for field in schema:
        if field.name not in kinds:
            problem = f"column {field.name!r} is not in the output {path}.{did_you_mean(field.name, kinds)}"
            raise _drift(problem, path, field.name)
        if kinds[field.name] != str(field.type):
            problem = f"column {field.name!r} is {field.type}, and {kinds[field.name]} in the output {path}"
            raise _drift(problem, path, field.name)
    for name in kinds:
        if name not in schema.names:
            raise _drift(f"column {name!r} of the output {path} is not in the rows to add", path, name)
    if list(kinds) != schema.names:
        name = next(name for name, other in zip(kinds, schema.names, strict=True) if name != other)
        raise _drift(f"the columns are not in the order of the output {path}, from {name!r} on", path, name)


def _drift(problem: str, path: str, column: str) -> SchemaDriftError:
    return SchemaDriftError(
        problem,
        hint="Select, rename or cast the columns so that they are those of the output.",
        path=path,
        column=column,
    )


@dataclass(frozen=True)
class Addition:
    """What becomes of the output that is there.

    Parameters
    ----------
    kept, replaced : tuple of FileEntry
        Its files that stay, and those that do not; together all there are, in their order.
    files : tuple of FileEntry
        Those of the output to come, in the order of its rows.
    rows_replaced, rows_unchanged : int
        Rows that give way, and that stay.
    """

    kept: tuple[FileEntry, ...] = ()
    replaced: tuple[FileEntry, ...] = ()
    files: tuple[FileEntry, ...] = ()
    rows_replaced: int = 0
    rows_unchanged: int = 0

    @classmethod
    def of(cls, manifest: Manifest | None, placement: Placement, new: Sequence[FileEntry]) -> Addition:
        """Return what an append or an overwriting of partitions, of new files, does to an output."""
        there = () if manifest is None else manifest.files
        run_id, folders = placement.run_id, {posixpath.dirname(entry.path) for entry in new}
        if placement.mode == "append":
            replaced = tuple(entry for entry in there if run_id is not None and entry.run == run_id)
        else:
            replaced = tuple(entry for entry in there if posixpath.dirname(entry.path) in folders)
        gone = {entry.path for entry in replaced}
        kept = tuple(entry for entry in there if entry.path not in gone)
        return cls(kept, replaced, (*kept, *new), count_rows(replaced), count_rows(kept))


def count_rows(files: Sequence[FileEntry]) -> int:
    """Return the rows of files."""
    return sum(entry.rows or 0 for entry in files)
