"""Delta Lake: planned from the log of the table, through deltalake."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.errors import check_one_of
from penstock.core.locations import read_location
from penstock.io.formats.base import ReadOptions, check_options
from penstock.io.formats.table_format import TableFormat
from penstock.io.sources.files import Storage
from penstock.io.tables.committer import TableWrite
from penstock.io.tables.delta_commit import DeltaCommitter
from penstock.io.tables.delta_log import DeltaLog


@dataclass(frozen=True, kw_only=True)
class DeltaOptions(ReadOptions):
    """What `Engine.read_delta` takes."""

    version: int | None = None
    timestamp: datetime.datetime | str | None = None


class Delta(TableFormat[DeltaOptions]):
    """A table of Delta Lake; see `Engine.read_delta`."""

    name = "delta"
    options = DeltaOptions

    def committer(self, write: TableWrite, options: Mapping[str, Any]) -> DeltaCommitter:
        """Return what commits parts to the log of a Delta table."""
        check_options(options, ["schema_mode", "compression"], "writing delta")
        schema_mode = options.get("schema_mode")
        if schema_mode is not None:
            check_one_of("schema_mode", schema_mode, ("merge",))
        return DeltaCommitter(write, schema_mode, options.get("compression", "zstd"))

    def version(self, table: Any, storage: Storage, options: DeltaOptions) -> DeltaLog:
        """Return a version, by its log; footers are read of files without a row count."""
        return DeltaLog.open(read_location(table), storage.options, options.version, options.timestamp)
