"""Iceberg: planned from the metadata and the manifests of a table, through pyiceberg."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.io.formats.base import ReadOptions, check_options
from penstock.io.formats.table_format import TableFormat
from penstock.io.sources.files import Storage
from penstock.io.tables.committer import TableWrite
from penstock.io.tables.iceberg_commit import IcebergCommitter
from penstock.io.tables.iceberg_scan import IcebergScan, load_table


@dataclass(frozen=True, kw_only=True)
class IcebergOptions(ReadOptions):
    """What `Engine.read_iceberg` takes."""

    catalog: Any = None
    snapshot_id: int | None = None
    timestamp: datetime.datetime | str | None = None


class Iceberg(TableFormat[IcebergOptions]):
    """A table of Iceberg; see `Engine.read_iceberg`."""

    name = "iceberg"
    options = IcebergOptions

    def committer(self, write: TableWrite, options: Mapping[str, Any]) -> IcebergCommitter:
        """Return what commits parts as a snapshot of an Iceberg table."""
        check_options(options, ["catalog", "compression"], "writing iceberg")
        return IcebergCommitter(write, options.get("catalog"), options.get("compression", "zstd"))

    def version(self, table: Any, storage: Storage, options: IcebergOptions) -> IcebergScan:
        """Return a snapshot, by its manifests; files of deletes are read on the workers."""
        loaded = load_table(table, options.catalog, storage.options)
        return IcebergScan.of(loaded, options.snapshot_id, options.timestamp)
