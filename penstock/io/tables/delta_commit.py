"""Writing a Delta table: parts lie in its folder, and one transaction of its log names them."""

from __future__ import annotations

import json
import posixpath
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.core.errors import (
    CommitConflictError,
    ConfigError,
    DataValueError,
    MissingInputError,
    OutputError,
    OutputExistsError,
    SchemaDriftError,
)
from penstock.core.redaction import redact
from penstock.core.schemas import canonical
from penstock.io.sinks.files import FileEntry
from penstock.io.sinks.parquet import ParquetWriter
from penstock.io.sources.files import Storage
from penstock.io.tables.committer import TableCommitter, TableFolder, TableWrite, stored_schema
from penstock.io.tables.delta_log import DeltaLog, table_path
from penstock.io.tables.object_store import object_store_options

_HELD = (
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary(),
    pa.date32(),
)  # fmt: skip
_KINDS = {kind: kind for kind in _HELD} | {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


class DeltaCommitter(TableCommitter):
    """Commits to the log of a Delta table.

    Parameters
    ----------
    write : TableWrite
    schema_mode : {None, "merge"}
    compression : str
    """

    def __init__(self, write: TableWrite, schema_mode: str | None, compression: str) -> None:
        super().__init__(write, compression)
        self._schema_mode = schema_mode
        self.path = table_path(write.target)
        self.schema = stored_schema(write.schema, _KINDS, "a Delta table")
        self.folder = TableFolder(self.path, write.run, write.storage_options)
        self._log: DeltaLog | None = None
        self._merges = False

    def prepare(self) -> bool:
        """See `TableCommitter.prepare`."""
        self._log = self._open()
        if self._log is None:
            return True
        if self._write.mode == "error":
            hint = 'Pass mode="append" or mode="overwrite", or choose another target.'
            raise OutputExistsError(f"{self.path} exists and holds a Delta table", hint=hint, path=self.path)
        self._merges = self._write.mode == "merge"
        self._check_extends(self._log)
        if self._write.mode != "overwrite":
            self.rows_unchanged = sum(action["num_records"] or 0 for action in self._log.actions())
        return not self._is_in(self._log)

    def writer(self, stored: pa.Schema) -> ParquetWriter:
        """See `TableCommitter.writer`."""
        return ParquetWriter(stored, compression=self._compression)

    def commit(self, files: Sequence[FileEntry]) -> None:
        """See `TableCommitter.commit`; DataValueError for a key that is twice among the rows."""
        if self._write.keys:
            refuse_repeated(self.folder, [entry for entry in files if entry.rows], self._write.keys)
        super().commit(files)

    def names(self) -> set[str]:
        """See `TableCommitter.names`: the newest version has a file, or an entry of the log says that it went."""
        log = self._open()
        paths = [action["path"] for action in log.actions()] if log else []
        for entry in self.folder.read_all("_delta_log", ".json"):
            for line in filter(None, entry.splitlines()):
                paths += [
                    said["path"] for said in json.loads(line).values() if isinstance(said, dict) and "path" in said
                ]
        return {posixpath.basename(unquote(path)) for path in paths}

    def _attempt(self, files: Sequence[FileEntry]) -> bool:
        from deltalake.exceptions import CommitFailedError, DeltaError

        try:
            if self._log is None:
                self._create(files)
            elif self._merges:
                self._merge(self._log, files)
            else:
                self._add(self._log, files)
        except (CommitFailedError, DeltaError, OSError) as error:
            return self._rebase(files, error)
        return True

    def _rebase(self, files: Sequence[FileEntry], error: Exception) -> bool:
        """Go on from the version that is there now; return whether this run's rows are in it."""
        before, now = self._log, self._open()
        if now is None or (before is not None and before.version == now.version):
            said = redact(str(error).strip().splitlines()[0])
            raise OutputError(f"cannot write the log of {self.path}: {said}", path=self.path) from error
        if files and {entry.path for entry in files} <= {unquote(action["path"]) for action in now.actions()}:
            return True  # it was committed, and the answer was lost
        if self._write.mode not in ("append", "overwrite_partitions") or (self._write.mode != "append" and not before):
            raise self._conflict() from error
        partition_by = self.partition_by
        self._check_extends(now)
        is_moved = before is not None and self._replaced(now, files) != self._replaced(before, files)
        if is_moved or self.partition_by != partition_by:
            raise self._conflict() from error
        self._log, self._takes_parts = now, not self._is_in(now)
        return not self._takes_parts

    def _conflict(self) -> CommitConflictError:
        message = f"another run has changed the table in {self.path} meanwhile"
        return CommitConflictError(message, hint="Run it again.", path=self.path, run_id=self._write.run)

    def _create(self, files: Sequence[FileEntry]) -> None:
        from deltalake.transaction import create_table_with_add_actions

        create_table_with_add_actions(
            self.path,
            _delta_schema(self.schema),
            [self._added(entry) for entry in files],
            mode="error",
            partition_by=list(self.partition_by),
            storage_options=object_store_options(self.path, self._write.storage_options),
            commit_properties=self._properties(),
        )

    def _add(self, log: DeltaLog, files: Sequence[FileEntry]) -> None:
        overwrites = self._write.mode == "overwrite"
        log = log if overwrites else self._add_columns(log)
        removed = self._replaced(log, files)
        log.table.create_write_transaction(
            [*map(self._added, files), *(_removed(action, self._spelled(action)) for action in removed)],
            "overwrite" if overwrites else "append",
            _delta_schema(self.schema if overwrites else log.fields),
            list(self.partition_by),
            commit_properties=self._properties(),
        )
        self.rows_replaced = sum(action["num_records"] or 0 for action in removed)
        self.rows_unchanged -= self.rows_replaced

    def _merge(self, log: DeltaLog, files: Sequence[FileEntry]) -> None:
        names = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in self._write.keys]
        merger = log.table.merge(
            read_staged(self.folder, files, self.schema),
            " AND ".join(f"(t.{name} IS NOT DISTINCT FROM s.{name})" for name in names),
            source_alias="s",
            target_alias="t",
            merge_schema=self._schema_mode == "merge",
            commit_properties=self._properties(),
        )
        self._takes_parts = False
        done = merger.when_matched_update_all().when_not_matched_insert_all().execute()
        self.rows_replaced = done["num_target_rows_updated"]
        self.rows_unchanged -= self.rows_replaced

    def _open(self) -> DeltaLog | None:
        try:
            return DeltaLog.open(self._write.target, self._write.storage_options)
        except MissingInputError:
            return None

    def _check_extends(self, log: DeltaLog) -> None:
        """Raise unless the rows have the partitions, the columns and the types of the table."""
        there = tuple(log.table.metadata().partition_columns)
        if self._write.partition_by not in ((), there):
            raise ConfigError(
                f"the table in {self.path} is partitioned by {there!r}, and the rows by {self._write.partition_by!r}",
                hint="Leave partition_by out, or choose another target.",
                path=self.path,
            )
        self.partition_by = () if self._merges else there
        if log.maps_columns:
            problem = f"the table in {self.path} maps its columns to other names in its files"
            raise ConfigError(problem, hint="Write it with its own tool.", path=self.path)
        if self._write.mode != "overwrite":
            self._check_columns({field.name: field.type for field in canonical(log.fields)})

    def _check_columns(self, columns: dict[str, pa.DataType]) -> None:
        for field in self.schema:
            if columns.get(field.name, field.type) != field.type:
                problem = f"column {field.name!r} is {field.type}, and {columns[field.name]} in the table {self.path}"
                raise self._drift(problem, field.name)
            if field.name not in columns and self._schema_mode is None:
                raise self._drift(f"column {field.name!r} is not in the table {self.path}", field.name)
        absent = next((name for name in columns if name not in self.schema.names), None)
        if absent is not None and (self._schema_mode is None or self._merges):
            raise self._drift(f"column {absent!r} of the table {self.path} is not in the rows", absent)

    def _drift(self, problem: str, column: str) -> SchemaDriftError:
        hint = 'Select, rename or cast the columns, or pass schema_mode="merge" to add those that the table lacks.'
        return SchemaDriftError(problem, hint=hint, path=self.path, column=column)

    def _add_columns(self, log: DeltaLog) -> DeltaLog:
        """Return a version of the table that has the columns of the rows; they are added by a transaction before."""
        new = [field for field in self.schema if field.name not in log.fields.names]
        if not new:
            return log
        log.table.alter.add_columns(list(_delta_schema(pa.schema(new)).fields))
        self._log = DeltaLog.open(self._write.target, self._write.storage_options)
        return self._log

    @property
    def _app_id(self) -> str | None:
        return f"penstock:{self._write.run_id}" if self._write.mode == "append" and self._write.run_id else None

    def _is_in(self, log: DeltaLog) -> bool:
        """Return whether an append of this run is in the table."""
        return self._app_id is not None and log.table.transaction_version(self._app_id) is not None

    def _properties(self) -> Any:
        from deltalake import CommitProperties, Transaction

        said = {"penstock.run": self._write.run_id or self._write.run}
        transactions = None if self._app_id is None else [Transaction(self._app_id, 1)]
        return CommitProperties(custom_metadata=said, max_commit_retries=0, app_transactions=transactions)

    def _added(self, entry: FileEntry) -> Any:
        from deltalake.transaction import AddAction

        values = self._values(posixpath.dirname(entry.path))
        return AddAction(entry.path, entry.bytes, values, _now(), True, json.dumps({"numRecords": entry.rows}))

    def _values(self, folder: str) -> dict[str, str | None]:
        """Return the values of a partition, by its folder, as the log spells them."""
        return {name: self._spell(name, value) for name, value in self._partition(folder).items()}

    def _spell(self, name: str, value: pa.Scalar) -> str | None:
        if value.as_py() == "":
            raise DataValueError(
                f"column {name!r} has an empty text, which is null in a partition of a Delta table",
                hint="Make it null, or another text; or partition by another column.",
                column=name,
            )
        if not value.is_valid:
            return None
        if pa.types.is_timestamp(value.type):
            return str(value.cast(pa.timestamp("us")).as_py().strftime("%Y-%m-%d %H:%M:%S.%f"))
        return str(value.as_py()).lower() if pa.types.is_boolean(value.type) else str(value.as_py())

    def _spelled(self, action: dict[str, Any]) -> dict[str, str | None]:
        values = (action.get("partition") or {}).items()
        return {name: self._spell(name, pa.scalar(value, self.schema.field(name).type)) for name, value in values}

    def _replaced(self, log: DeltaLog, files: Sequence[FileEntry]) -> list[dict[str, Any]]:
        """Return the add actions of the partitions that rows of this run are in."""
        if self._write.mode != "overwrite_partitions":
            return []
        partitions = [self._values(folder) for folder in {posixpath.dirname(entry.path) for entry in files}]
        replaced = [action for action in log.actions() if self._spelled(action) in partitions]
        if replaced and log.has_deletion_vectors:
            problem = f"the table in {self.path} has deletion vectors, which overwrite_partitions does not replace"
            raise ConfigError(problem, hint="Delete the partitions first, and append.", path=self.path)
        return replaced


def _removed(action: dict[str, Any], values: dict[str, str | None]) -> Any:
    from deltalake.transaction import RemoveAction

    return RemoveAction(unquote(action["path"]), True, _now(), action["size_bytes"], values)


def _delta_schema(schema: pa.Schema) -> Any:
    from deltalake import Schema

    return Schema.from_arrow(schema)


def _now() -> int:
    return int(time.time() * 1000)


def read_staged(folder: TableFolder, files: Sequence[FileEntry], schema: pa.Schema) -> pa.RecordBatchReader:
    """Return the rows of parts, one part after another."""

    def batches() -> Iterator[pa.RecordBatch]:
        for table in _tables(folder, files, schema.names):
            yield from table.cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def refuse_repeated(folder: TableFolder, files: Sequence[FileEntry], keys: Sequence[str]) -> None:
    """Raise DataValueError for a key that several of the rows in parts have."""
    tables = [pl.DataFrame(table) for table in _tables(folder, files, keys)]
    rows = pl.concat(tables) if tables else pl.DataFrame()
    repeated = rows.filter(rows.is_duplicated()) if len(rows) else rows
    if len(repeated):
        shown = ", ".join(f"{name}={value!r}" for name, value in repeated.row(0, named=True).items())
        raise DataValueError(
            f"the key {shown} is twice among the rows to merge", hint="Thin the rows out first.", column=keys[0]
        )


def _tables(folder: TableFolder, files: Sequence[FileEntry], columns: Sequence[str]) -> Iterator[pa.Table]:
    storage, parts = Storage(folder.options), folder.parts
    for entry in files:
        with storage.open(parts.locate(entry.path)) as stream:
            yield pq.ParquetFile(stream).read(columns=list(columns))
