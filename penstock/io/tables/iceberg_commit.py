"""Writing an Iceberg table: parts lie in its folder, and one snapshot names them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq

from penstock import frames
from penstock.core.errors import CommitConflictError, ConfigError, OutputExistsError, SchemaDriftError
from penstock.core.extras import importing
from penstock.core.schemas import canonical
from penstock.io.sinks.files import FileEntry
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sources.files import Storage
from penstock.io.tables.committer import TableCommitter, TableFolder, TableWrite, stored_schema
from penstock.io.tables.iceberg_scan import load_catalog, read_iceberg_location

_HELD = (pa.bool_(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32())
_WIDER = {pa.int8(): pa.int32(), pa.int16(): pa.int32(), pa.uint8(): pa.int32(), pa.uint16(): pa.int32()}
_KINDS = {kind: kind for kind in (*_HELD, pa.time64("us"))} | _WIDER | {pa.uint32(): pa.int64()}
_RUN, _RETRIES = "penstock.run", "commit.retry.num-retries"


@dataclass(frozen=True)
class IcebergWriter(PartWriter):
    """Writes Parquet whose columns have the numbers that the metadata of the schema says."""

    compression: str = "zstd"

    kind = "parquet"
    suffix = ".parquet"

    def __call__(self, frame: nw.DataFrame, path: str) -> None:
        """Write one part."""
        table = frames.to_arrow(frame, canonical(self.schema)).cast(self.schema)
        with open(path, "xb") as sink:
            pq.write_table(table, sink, compression=self.compression)


class IcebergCommitter(TableCommitter):
    """Commits snapshots of an Iceberg table in a catalog.

    Parameters
    ----------
    write : TableWrite
    catalog : pyiceberg Catalog, str or mapping
    compression : str
    """

    def __init__(self, write: TableWrite, catalog: Any, compression: str) -> None:
        super().__init__(write, compression)
        if catalog is None:
            raise ConfigError(
                "an Iceberg table is written through a catalog",
                hint='Pass catalog=: its name, or {"type": "sql", ...}.',
            )
        if write.mode == "merge":
            raise ConfigError(
                'mode="merge" does not suit an Iceberg table', hint="Merge into a Delta table, or Parquet."
            )
        with importing("pyiceberg", "iceberg"):
            self._catalog = load_catalog(catalog, write.storage_options)
        self.schema = stored_schema(write.schema, _KINDS, "an Iceberg table")
        self._new: Any = None

    def prepare(self) -> bool:
        """See `TableCommitter.prepare`."""
        if not self._load():
            self._create()
        elif self._write.mode != "overwrite":
            self.rows_unchanged = sum(task.file.record_count for task in self._table.scan().plan_files())
        self.path = read_iceberg_location(self._metadata.location)
        self.folder = TableFolder(f"{self.path}/data", self._write.run, self._write.storage_options)
        return not self._is_in()

    def writer(self, stored: pa.Schema) -> IcebergWriter:
        """See `TableCommitter.writer`."""
        return IcebergWriter(pa.schema([self._fields.field(name) for name in stored.names]), self._compression)

    def names(self) -> set[str]:
        """See `TableCommitter.names`: those that the manifests of any snapshot list."""
        table = self._open()
        if table is None:
            return set()
        manifests = {each.manifest_path: each for shot in table.snapshots() for each in shot.manifests(table.io)}
        entries = (each.fetch_manifest_entry(table.io, discard_deleted=False) for each in manifests.values())
        return {posixpath.basename(entry.data_file.file_path) for listed in entries for entry in listed}

    def _attempt(self, files: Sequence[FileEntry]) -> bool:
        from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError

        try:
            self._commit_once(files)
        except (CommitFailedException, TableAlreadyExistsError) as error:
            if self._write.mode != "append" or self._new is not None or not self._load():
                raise self._conflict() from error
            self._takes_parts = not self._is_in()
            return not self._takes_parts
        return True

    def _create(self) -> None:
        """Begin a transaction that makes the table: nobody sees it until the rows are in it."""
        transaction = self._catalog.create_table_transaction(self._write.target, self.schema)
        if self.partition_by:
            with transaction.update_spec() as spec:
                for name in self.partition_by:
                    spec.add_identity(name)
        self._new, self._metadata = transaction, transaction.table_metadata

    def _open(self) -> Any:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self._catalog.load_table(self._write.target)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def _load(self) -> bool:
        """Look at the table that is there; False where there is none."""
        self._table = self._open()
        if self._table is None:
            return False
        if self._write.mode == "error":
            hint = 'Pass mode="append" or mode="overwrite", or choose another name.'
            raise OutputExistsError(f"the Iceberg table {self._write.target} exists", hint=hint)
        self._metadata = self._table.metadata
        self._metadata.properties[_RETRIES] = "0"  # of the copy in memory: what to do about a conflict is decided here
        self._check_extends()
        return True

    def _check_extends(self) -> None:
        """Raise unless the rows have the columns, the types and the partitions of the table."""
        there = self._fields
        for field in self.schema:
            known = canonical(there).field(field.name).type if field.name in there.names else None
            if known != field.type:
                problem = "is not in" if known is None else f"is {field.type}, and {known} in"
                raise self._drift(f"column {field.name!r} {problem} the Iceberg table {self._write.target}", field.name)
        for field in there:
            if field.name not in self.schema.names:
                problem = f"column {field.name!r} of the Iceberg table {self._write.target} is not in the rows"
                raise self._drift(problem, field.name)
            if not field.nullable:
                problem = f"column {field.name!r} of the Iceberg table {self._write.target} takes no null"
                raise self._drift(problem, field.name)
        spec = self._metadata.spec()
        odd = next((str(each.transform) for each in spec.fields if str(each.transform) != "identity"), None)
        names = tuple(self._metadata.schema().find_column_name(each.source_id) for each in spec.fields)
        if odd is not None or self._write.partition_by not in ((), names):
            shown = odd or repr(names)
            raise ConfigError(
                f"the Iceberg table {self._write.target} is partitioned by {shown}, the rows by"
                f" {self._write.partition_by!r}",
                hint="Leave partition_by out; pyiceberg writes into partitions that are no columns as they are.",
            )
        self.partition_by = names

    def _drift(self, problem: str, column: str) -> SchemaDriftError:
        return SchemaDriftError(problem, hint="Select, rename or cast the columns.", column=column)

    @property
    def _fields(self) -> pa.Schema:
        """The columns of the table, with their numbers."""
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        return schema_to_pyarrow(self._metadata.schema())

    def _is_in(self) -> bool:
        """Return whether an append of this run is in the table."""
        if self._write.mode != "append" or self._write.run_id is None or self._new is not None:
            return False
        return any(self._write.run_id == _properties(each).get(_RUN) for each in self._table.snapshots())

    def _conflict(self) -> CommitConflictError:
        message = f"another run has changed the Iceberg table {self._write.target} meanwhile"
        return CommitConflictError(message, hint="Run it again.", run_id=self._write.run)

    def _commit_once(self, files: Sequence[FileEntry]) -> None:
        transaction = self._new if self._new is not None else self._table.transaction()
        said = {_RUN: self._write.run_id or self._write.run}
        added = [self._data_file(entry) for entry in files]
        replaced = self._replaced(added)
        update = transaction.update_snapshot(said)
        with update.overwrite() if replaced else update.fast_append() as snapshot:
            for file in replaced:
                snapshot.delete_data_file(file)
            for file in added:
                snapshot.append_data_file(file)
        transaction.commit_transaction()
        if self._write.mode == "overwrite_partitions":
            self.rows_replaced = sum(file.record_count for file in replaced)
            self.rows_unchanged -= self.rows_replaced

    def _replaced(self, added: Iterable[Any]) -> list[Any]:
        """Return the files of the table that give way."""
        if self._write.mode not in ("overwrite", "overwrite_partitions") or self._new is not None:
            return []
        there = [task.file for task in self._table.scan().plan_files()]
        if self._write.mode == "overwrite":
            return there
        partitions = {file.partition for file in added}
        old = next((file for file in there if file.spec_id != self._metadata.default_spec_id), None)
        if old is not None:
            problem = f"the Iceberg table {self._write.target} was partitioned otherwise: {old.file_path} is of then"
            raise ConfigError(problem, hint='Write it whole with mode="overwrite".')
        return [file for file in there if file.partition in partitions]

    def _data_file(self, entry: FileEntry) -> Any:
        """Return what a manifest says of a part, with the statistics of its footer."""
        from pyiceberg.io import pyarrow as statistics
        from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
        from pyiceberg.typedef import Record

        schema = self._metadata.schema()
        with Storage(self._write.storage_options).open(self.folder.parts.locate(entry.path)) as stream:
            counted = statistics.data_file_statistics_from_parquet_metadata(
                parquet_metadata=pq.read_metadata(stream),
                stats_columns=statistics.compute_statistics_plan(schema, self._metadata.properties),
                parquet_column_mapping=statistics.parquet_path_to_id_mapping(schema),
            )
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"{self._metadata.location}/data/{entry.path}",
            file_format=FileFormat.PARQUET,
            partition=Record(*self._values(posixpath.dirname(entry.path))),
            file_size_in_bytes=entry.bytes,
            sort_order_id=None,
            spec_id=self._metadata.default_spec_id,
            equality_ids=None,
            key_metadata=None,
            **counted.to_serialized_dict(),
        )

    def _values(self, folder: str) -> list[Any]:
        """Return the values of a partition, by its folder: days and times as numbers since 1970."""
        values = []
        for value in self._partition(folder).values():
            if pa.types.is_temporal(value.type):
                value = value.cast(pa.int32() if value.type.bit_width == 32 else pa.int64())
            values.append(value.as_py())
        return values


def _properties(snapshot: Any) -> Mapping[str, str]:
    return {} if snapshot.summary is None else snapshot.summary.additional_properties
