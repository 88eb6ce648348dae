"""Iceberg: planned from the metadata and the manifests of a table, through pyiceberg."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.core.errors import check_one_of
from penstock.core.scheduler import Scheduler
from penstock.io.formats.base import ReadOptions, check_options
from penstock.io.formats.table_format import TableFormat, fragments_of, one_path
from penstock.io.fragments import Fragment
from penstock.io.sources.files import Storage
from penstock.io.tables.committer import TableWrite
from penstock.io.tables.files import TableStorage
from penstock.io.tables.iceberg_commit import IcebergCommitter
from penstock.io.tables.iceberg_scan import IcebergScan, load_table
from penstock.io.tables.source import TableSource


@dataclass(frozen=True, kw_only=True)
class IcebergOptions(ReadOptions):
    """What `Engine.read_iceberg` takes."""

    catalog: Any = None
    snapshot_id: int | None = None
    timestamp: datetime.datetime | str | None = None


class Iceberg(TableFormat[IcebergOptions]):
    """A table of Iceberg; see `Engine.read_iceberg`."""

    name: ClassVar[str] = "iceberg"
    options: ClassVar[type[ReadOptions]] = IcebergOptions

    def committer(self, write: TableWrite, options: Mapping[str, Any]) -> IcebergCommitter:
        """Return what commits parts as a snapshot of an Iceberg table."""
        check_options(options, ["catalog", "compression"], "writing iceberg")
        compression = options.get("compression", "zstd")
        check_one_of("compression", compression, ("zstd", "snappy", "gzip", "none"))
        return IcebergCommitter(write, options.get("catalog"), compression)

    def open(
        self,
        paths: Any,
        scheduler: Scheduler,
        storage: Storage,
        options: IcebergOptions,
        *,
        allow_unmanifested: bool = False,
    ) -> tuple[TableSource, tuple[Fragment, ...]]:
        """Read the manifests and return the source and its fragments; files of deletes are read on the workers.

        Raises
        ------
        ConfigError, MissingInputError, InputError, SchemaError
        """
        table = load_table(one_path(paths), options.catalog, storage.options)
        scan = IcebergScan.of(table, options.snapshot_id, options.timestamp)
        files = scan.files(scheduler, TableStorage(storage.options))
        return fragments_of(scan.where, scan.fields, scan.columns(), files, storage, options.fragment_bytes)
