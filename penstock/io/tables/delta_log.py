"""Delta tables: their files, rows, partition values, deletion vectors and schema, from the log alone."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from penstock.core.errors import (
    ConfigError,
    CorruptFileError,
    InputError,
    MissingInputError,
    PenstockError,
    SchemaError,
)
from penstock.core.extras import importing
from penstock.core.locations import is_url
from penstock.core.redaction import redact
from penstock.core.scheduler import Scheduler, map_all
from penstock.io.sources.columnar import Footer
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.parquet import read_footer
from penstock.io.tables.files import TableColumn, TableFile
from penstock.io.tables.object_store import object_store_options
from penstock.io.tables.timestamps import parse_timestamp

_PHYSICAL_NAME = b"delta.columnMapping.physicalName"
_FEATURES = {
    "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint",
    "vacuumProtocolCheck", "variantType", "variantType-preview",
}  # fmt: skip


@dataclass(frozen=True)
class DeltaLog:
    """A version of a Delta table.

    Parameters
    ----------
    path : str
        Where the table lies: a path from the root or a URL, without a slash at the end.
    table : deltalake.DeltaTable
    """

    path: str
    table: Any

    @classmethod
    def open(cls, path: str, options: Mapping[str, Any], version: int | None = None, timestamp: Any = None) -> DeltaLog:
        """Return a version of a table, the newest unless one is asked for.

        Raises
        ------
        ConfigError
            Both a version and a time are given, or the version is no number that one has.
        MissingInputError
            There is no table, or it had no such version.
        InputError
            The log cannot be read, or needs what deltalake does not know.
        MissingExtraError
            deltalake is not installed.
        """
        if version is not None and timestamp is not None:
            raise ConfigError("version and timestamp are both given", hint="Give the one or the other.", path=path)
        if version is not None and (type(version) is not int or not 0 <= version < 2**63):
            raise ConfigError(f"version is {version!r:.50}, expected a number of the log: 0, 1, ...", path=path)
        with importing("deltalake", "delta"):
            import deltalake
            from deltalake.exceptions import TableNotFoundError
        path = table_path(path)
        try:
            table = deltalake.DeltaTable(path, version=version, storage_options=object_store_options(path, options))
            log = cls(path, table)
            if timestamp is not None:
                log._load_as_of(timestamp)
        except TableNotFoundError as error:
            raise MissingInputError(f"no Delta table lies in {path}", hint="Name its folder.", path=path) from error
        except PenstockError:
            raise
        except (deltalake.exceptions.DeltaError, OSError, ValueError) as error:
            raise _unreadable(path, error, version, timestamp) from error
        log._check_features()
        return log

    def _load_as_of(self, timestamp: Any) -> None:
        """Load the version that was the newest at a time."""
        moment = parse_timestamp(timestamp)
        self.table.load_as_version(moment)
        committed = self.table.history(1)[0].get("timestamp")
        if committed is not None and committed > moment.timestamp() * 1000:  # the first is loaded for a time before it
            first = datetime.datetime.fromtimestamp(committed / 1000, datetime.UTC).isoformat()
            raise MissingInputError(
                f"the table in {self.path} had no version at {moment.isoformat()}: the oldest is of {first}",
                hint="Ask for a later time, or for a version.",
                path=self.path,
            )

    def _check_features(self) -> None:
        """Raise InputError for a table that only readers with features that are not known here can read."""
        types = _types(json.loads(self.table.schema().to_json()))
        variant = next((name for name, kind in types if kind == "variant"), None)
        if variant is not None:
            raise SchemaError(
                f"column {variant!r} of the table in {self.path} is a variant, which cannot be read",
                hint="Cast it to text where it is written.",
                path=self.path,
                column=variant,
            )
        unknown = sorted(set(self.table.protocol().reader_features or ()) - _FEATURES)
        if unknown:
            raise InputError(
                f"the table in {self.path} needs readers with the feature {', '.join(unknown)}",
                hint="Read it with its own tool, or drop the feature there.",
                path=self.path,
            )

    @property
    def fields(self) -> pa.Schema:
        """The columns, with what the log says of each."""
        return pa.schema(self.table.schema().to_arrow())

    @property
    def version(self) -> int:
        """Its number."""
        return int(self.table.version())

    @property
    def maps_columns(self) -> bool:
        """Whether columns may have other names in the files."""
        return bool(self.table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none")

    @property
    def has_deletion_vectors(self) -> bool:
        """Whether files may have rows that are deleted."""
        return "deletionVectors" in (self.table.protocol().reader_features or ())

    def actions(self) -> list[dict[str, Any]]:
        """Return what the log says of each file, as deltalake has it."""
        with _translating(self.path, "the list of its files"):
            actions: list[dict[str, Any]] = pa.table(self.table.get_add_actions()).to_pylist()
        return actions

    def columns(self) -> tuple[TableColumn, ...]:
        """Return how each column is stored, by the table's column mapping."""
        if not self.maps_columns:
            return tuple(map(TableColumn.of, self.fields))
        return tuple(TableColumn.of(field, name_key=_PHYSICAL_NAME) for field in self.fields)

    def files(self, scheduler: Scheduler, storage: Storage) -> list[TableFile]:
        """Return the files, those that were added first come first; a footer is read where the log has no row count.

        Raises
        ------
        InputError
            A deletion vector is damaged, or of a file that is not in the table.
        """
        deleted = self._deleted()
        files = [self._file(action, deleted) for action in self.actions()]
        if deleted:
            problem = f"the table in {self.path} has a deletion vector of {next(iter(deleted))}, which it has not"
            raise InputError(problem, hint="Repair its log.", path=self.path)
        uncounted = [InputFile(file.path, file.size, file.mtime) for file in files if file.rows < 0]
        footers = map_all(scheduler, partial(_read_listed, storage), uncounted, label="footers") if uncounted else ()
        counts = {footer.file.path: sum(footer.row_groups) for footer in footers}
        counted = [file if file.rows >= 0 else replace(file, rows=counts[file.path]) for file in files]
        return sorted(counted, key=lambda file: (file.mtime, file.path))

    def _file(self, action: Mapping[str, Any], deleted: dict[str, np.ndarray]) -> TableFile:
        rows = action["num_records"]
        return TableFile(
            path=_locate(self.path, action["path"]),
            size=action["size_bytes"],
            rows=-1 if rows is None else rows,
            mtime=action["modification_time"] / 1000,
            keys=tuple((action.get("partition") or {}).items()),
            deleted=deleted.pop(_locate(self._uri, action["path"]), np.empty(0, np.int64)),
        )

    @property
    def _uri(self) -> str:
        """Where the table lies as deltalake says it, without the escapes of a URL."""
        return unquote(str(self.table.table_uri)).rstrip("/")

    def _deleted(self) -> dict[str, np.ndarray]:
        """Return the numbers of the deleted rows of each file that has some, by its URI without escapes."""
        if not self.has_deletion_vectors:
            return {}
        with _translating(self.path, "a deletion vector"):
            vectors = pa.RecordBatchReader.from_stream(self.table.deletion_vectors())
            return {unquote(path): np.flatnonzero(~live) for batch in vectors for path, live in _rows(batch)}


def table_path(path: str) -> str:
    """Return where a table lies, a path from the root or a URL, without a slash at the end."""
    return (path if is_url(path) else os.path.abspath(path)).rstrip("/")


@contextmanager
def _translating(path: str, part: str) -> Iterator[None]:
    """Raise CorruptFileError in place of errors of deltalake, by which it reads what a log says."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, pa.ArrowException, OSError, ValueError) as error:
        problem = f"{part} of the Delta table in {path} cannot be read: {redact(str(error).strip().splitlines()[0])}"
        raise CorruptFileError(problem, hint="Repair its log, or read a version before.", path=path) from error


def _read_listed(storage: Storage, file: InputFile) -> Footer:
    storage.check_unchanged(file)
    return read_footer(storage, file)


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[str, np.ndarray]]:
    for path, live in zip(batch["filepath"], batch["selection_vector"], strict=True):
        yield path.as_py(), live.values.to_numpy(zero_copy_only=False)


def _types(kind: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each type in the schema of a log, with the column that it is in."""
    yield name, kind
    for field in kind.get("fields", ()) if isinstance(kind, dict) else ():
        yield from _types(field["type"], name or field["name"])
    for inner in ("elementType", "keyType", "valueType"):
        if isinstance(kind, dict) and inner in kind:
            yield from _types(kind[inner], name)


def _locate(root: str, path: str) -> str:
    """Return where a file lies that the log names, relative to the table, or as a URL.

    Examples
    --------
    >>> _locate("/data/t", "day=2024-01-01/city=a%2520b/part-0.parquet")
    '/data/t/day=2024-01-01/city=a%20b/part-0.parquet'
    """
    path = unquote(path)
    if path.startswith("file:"):
        return path.removeprefix("file:").removeprefix("//")
    return path if is_url(path) or path.startswith("/") else f"{root}/{path}"


def _unreadable(path: str, error: Exception, version: int | None, timestamp: Any) -> InputError:
    said = redact(str(error).strip().splitlines()[0])
    if version is not None:
        return MissingInputError(
            f"version {version} of the table in {path} cannot be read: {said}",
            hint="Ask for one that its log still has: deltalake.DeltaTable(path).history() lists them.",
            path=path,
        )
    at = "" if timestamp is None else f" as of {timestamp}"
    hint = "Look whether the store answers, and whether storage_options are right."
    return InputError(f"the log of the table in {path} cannot be read{at}: {said}", hint=hint, path=path)
