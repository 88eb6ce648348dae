"""Iceberg tables: their files, rows, partition values, deletes and schema, from metadata and manifests alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.core.errors import ConfigError, InputError, MissingInputError
from penstock.core.extras import importing
from penstock.core.locations import is_url, read_location
from penstock.core.redaction import redact
from penstock.core.scheduler import Scheduler, map_all
from penstock.io.sources.files import Storage
from penstock.io.tables.files import TableColumn, TableFile, with_defaults
from penstock.io.tables.object_store import file_io_properties
from penstock.io.tables.timestamps import parse_timestamp


def load_table(table: Any, catalog: Any, options: Mapping[str, Any]) -> Any:
    """Return the pyiceberg table that is meant.

    Parameters
    ----------
    table : pyiceberg Table, path, URL or identifier
        An identifier such as ``"sales.orders"`` where there is a catalog; else a metadata file, or the folder of a
        table that names its newest one in ``metadata/version-hint.text``.
    catalog : pyiceberg Catalog, str or mapping, optional
        Itself, its name in pyiceberg's configuration, or its properties.
    options : mapping
        fsspec's, of the store.

    Raises
    ------
    ConfigError, MissingInputError, InputError, MissingExtraError
    """
    with importing("pyiceberg", "iceberg"):
        import pyiceberg.table
        from pyiceberg import exceptions
    if isinstance(table, pyiceberg.table.Table):
        return table
    shown = table if isinstance(table, str) else repr(table)
    try:
        if catalog is not None:
            return load_catalog(catalog, options).load_table(table)
        return _static_table(read_location(table, "table"), options)
    except (exceptions.NoSuchTableError, exceptions.NoSuchNamespaceError) as error:
        raise MissingInputError(f"no Iceberg table is called {shown}: {_why(error)}", path=shown) from error
    except FileNotFoundError as error:
        raise MissingInputError(
            f"no Iceberg table lies in {shown}: {_why(error)}",
            hint="Name its metadata file, metadata/*.metadata.json; or its catalog: a catalog alone knows the newest.",
            path=shown,
        ) from error
    except (OSError, ValueError, exceptions.RESTError) as error:
        if isinstance(error, InputError | ConfigError):
            raise
        raise InputError(f"the Iceberg table {shown} cannot be loaded: {_why(error)}", path=shown) from error


def load_catalog(catalog: Any, options: Mapping[str, Any]) -> Any:
    """Return a catalog of pyiceberg: itself, by its name in the configuration, or of its properties."""
    from pyiceberg import catalog as catalogs

    if isinstance(catalog, catalogs.Catalog):
        return catalog
    properties = file_io_properties("", options)
    if isinstance(catalog, str):
        return catalogs.load_catalog(catalog, **properties)
    if isinstance(catalog, Mapping):
        return catalogs.load_catalog(**{**properties, **catalog})
    raise ConfigError(
        f"catalog is {type(catalog).__name__}, expected a catalog of pyiceberg, its name or its properties"
    )


def _static_table(path: str, options: Mapping[str, Any]) -> Any:
    from pyiceberg.table import StaticTable

    path = (path if is_url(path) else os.path.abspath(path)).rstrip("/")
    return StaticTable.from_metadata(path, file_io_properties(path, options))


@dataclass(frozen=True)
class IcebergScan:
    """A snapshot of an Iceberg table.

    Parameters
    ----------
    path : str
        Its location, or name, for messages.
    table : pyiceberg.table.Table
    scan : pyiceberg.table.DataScan
    """

    path: str
    table: Any
    scan: Any

    @classmethod
    def of(cls, table: Any, snapshot_id: int | None = None, timestamp: Any = None) -> IcebergScan:
        """Return a snapshot of a table, the newest unless one is asked for.

        Raises
        ------
        ConfigError
            Both a snapshot and a time are given.
        MissingInputError
            The table has no such snapshot.
        """
        where = read_iceberg_location(table.location())
        if snapshot_id is not None and timestamp is not None:
            raise ConfigError("snapshot_id and timestamp are both given", hint="Give the one or the other.", path=where)
        if timestamp is not None:
            snapshot_id = _snapshot_at(table, timestamp, where)
        if snapshot_id is not None and table.snapshot_by_id(snapshot_id) is None:
            known = ", ".join(str(each.snapshot_id) for each in table.snapshots()[-5:]) or "none"
            raise MissingInputError(
                f"the table in {where} has no snapshot {snapshot_id}", hint=f"The last it has: {known}.", path=where
            )
        return cls(where, table, table.scan(snapshot_id=snapshot_id))

    @property
    def fields(self) -> pa.Schema:
        """The columns of the snapshot, with their numbers."""
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        return schema_to_pyarrow(self.scan.projection())

    def columns(self) -> tuple[TableColumn, ...]:
        """Return how each column is stored: by number, or by the name mapping where a file has no numbers."""
        mapping = self.table.name_mapping()
        names = dict(_names(mapping.root)) if mapping is not None else {}
        columns = tuple(TableColumn.of(field, names=names) for field in self.fields)
        return with_defaults(columns, dict(_defaults(self.scan.projection().as_struct())))

    def files(self, scheduler: Scheduler, storage: Storage) -> list[TableFile]:
        """Return the files by path, without the rows that position delete files and deletion vectors name.

        Raises
        ------
        InputError
            The table has equality deletes, or files that are not Parquet.
        """
        tasks = self._plan()
        deletes = {file.file_path: file for task in tasks for file in task.delete_files}
        formats = {path: file.file_format.value for path, file in deletes.items()}
        reading = partial(read_deletes, storage)
        read = map_all(scheduler, reading, list(formats.items()), label="deletes") if deletes else ()
        deleted = dict(zip(deletes, read, strict=True))
        files = [self._file(task, deleted) for task in tasks]
        return sorted(files, key=lambda file: file.path)

    def _plan(self) -> list[Any]:
        try:
            tasks = list(self.scan.plan_files())
        except (ValueError, NotImplementedError) as error:
            if "equality deletes" not in str(error):
                raise
            raise InputError(
                f"the table in {self.path} has equality delete files, which name rows by their values",
                hint="Compact it with the tool that wrote them (Spark's or Flink's rewrite_data_files).",
                path=self.path,
            ) from error
        except FileNotFoundError as error:
            raise MissingInputError(
                f"a manifest of the table in {self.path} is gone: {_why(error)}",
                hint="Its snapshot was expired: read a newer one.",
                path=self.path,
            ) from error
        for task in tasks:
            if task.file.file_format.value != "PARQUET":
                problem = f"{task.file.file_path} is {task.file.file_format.value}, in the table in {self.path}"
                raise InputError(problem, hint="Only Parquet is read: rewrite the table.", path=self.path)
        return tasks

    def _file(self, task: Any, deleted: Mapping[str, Mapping[str, np.ndarray]]) -> TableFile:
        path = task.file.file_path
        rows = [deleted[file.file_path].get(path) for file in task.delete_files]
        return TableFile(
            path=read_iceberg_location(path),
            size=task.file.file_size_in_bytes,
            rows=task.file.record_count,
            keys=tuple(self._keys(task.file)),
            deleted=np.unique(np.concatenate([each for each in rows if each is not None] or [np.empty(0, np.int64)])),
        )

    def _keys(self, file: Any) -> Iterable[tuple[str, Any]]:
        """Yield the columns by which the table is partitioned as they are, with their values in a file."""
        schema, spec = self.scan.projection().as_struct(), self.table.specs()[file.spec_id]
        names = {field.field_id: field.name for field in schema.fields}
        for place, field in enumerate(spec.fields):
            if str(field.transform) == "identity" and field.source_id in names:
                name = names[field.source_id]
                yield name, _value(file.partition[place], self.fields.field(name).type)


def read_iceberg_location(location: str) -> str:
    """Return a location that Iceberg's metadata names as one that fsspec opens; nothing in it is escaped.

    Examples
    --------
    >>> read_iceberg_location("file:///t/data/city=a%2Fb/0.parquet"), read_iceberg_location("s3://b/t")
    ('/t/data/city=a%2Fb/0.parquet', 's3://b/t')
    """
    if not location.startswith("file:"):
        return location
    return "/" + location.removeprefix("file:").lstrip("/")


def read_deletes(storage: Storage, file: tuple[str, str]) -> dict[str, np.ndarray]:
    """Return the numbers of the rows that a file of deletes names, by the file that they are in.

    Parameters
    ----------
    storage : Storage
    file : (str, str)
        Its path and its format, ``PARQUET`` or ``PUFFIN``.

    Raises
    ------
    InputError
        The format is another.
    """
    location, form = file
    path = read_iceberg_location(location)
    with storage.open(path) as stream:
        if form == "PARQUET":
            table = pq.ParquetFile(stream).read(columns=["file_path", "pos"])
            paths = {each: table.filter(pc.equal(table["file_path"], each)) for each in pc.unique(table["file_path"])}
            return {each.as_py(): rows["pos"].to_numpy() for each, rows in paths.items()}
        if form == "PUFFIN":
            return _read_puffin(stream.read())
    raise InputError(f"{path} is a delete file of {form}, expected Parquet or Puffin", path=path)


def _read_puffin(content: bytes) -> dict[str, np.ndarray]:
    with importing("pyiceberg", "iceberg"):
        from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
        from pyiceberg.table.puffin import PuffinFile
    vectors = deletion_vectors_from_puffin_file(PuffinFile(content))
    return {each.referenced_data_file: each.to_vector().to_numpy().astype(np.int64) for each in vectors}


def _snapshot_at(table: Any, timestamp: Any, where: str) -> int:
    moment = parse_timestamp(timestamp)
    snapshot = table.snapshot_as_of_timestamp(int(moment.timestamp() * 1000))
    if snapshot is None:
        problem = f"the table in {where} had no snapshot at {moment.isoformat()}"
        raise MissingInputError(problem, hint="Ask for a later time, or for a snapshot_id.", path=where)
    return snapshot.snapshot_id


def _value(value: Any, kind: pa.DataType) -> Any:
    """Return the value of a partition, which days and times have as numbers since 1970."""
    if isinstance(value, int) and pa.types.is_temporal(kind):
        return pa.scalar(value, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind).as_py()
    return value


def _names(fields: Iterable[Any]) -> Iterable[tuple[int, tuple[str, ...]]]:
    for field in fields:
        if field.field_id is not None:
            yield field.field_id, tuple(field.names)
        yield from _names(field.fields)


def _defaults(struct: Any) -> Iterable[tuple[int, Any]]:
    for field in struct.fields:
        if field.initial_default is not None:
            yield field.field_id, field.initial_default
        inner = getattr(field.field_type, "element_type", field.field_type)
        if hasattr(inner, "fields"):
            yield from _defaults(inner)


def _why(error: Exception) -> str:
    return redact(str(error).strip().splitlines()[0]) if str(error).strip() else type(error).__name__
