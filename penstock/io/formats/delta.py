"""Delta Lake: planned from the log of the table, through deltalake."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.core.errors import check_one_of
from penstock.core.locations import read_location
from penstock.core.scheduler import Scheduler
from penstock.io.formats.base import ReadOptions, check_options
from penstock.io.formats.table_format import TableFormat, fragments_of, one_path
from penstock.io.fragments import Fragment
from penstock.io.sources.files import Storage
from penstock.io.tables.committer import TableWrite
from penstock.io.tables.delta_commit import DeltaCommitter
from penstock.io.tables.delta_log import DeltaLog
from penstock.io.tables.files import TableStorage
from penstock.io.tables.source import TableSource


@dataclass(frozen=True, kw_only=True)
class DeltaOptions(ReadOptions):
    """What `Engine.read_delta` takes."""

    version: int | None = None
    timestamp: datetime.datetime | str | None = None


class Delta(TableFormat[DeltaOptions]):
    """A table of Delta Lake; see `Engine.read_delta`."""

    name: ClassVar[str] = "delta"
    options: ClassVar[type[ReadOptions]] = DeltaOptions

    def committer(self, write: TableWrite, options: Mapping[str, Any]) -> DeltaCommitter:
        """Return what commits parts to the log of a Delta table."""
        check_options(options, ["schema_mode", "compression"], "writing delta")
        schema_mode, compression = options.get("schema_mode"), options.get("compression", "zstd")
        if schema_mode is not None:
            check_one_of("schema_mode", schema_mode, ("merge",))
        check_one_of("compression", compression, ("zstd", "snappy", "gzip", "none"))
        return DeltaCommitter(write, schema_mode, compression)

    def open(
        self,
        paths: Any,
        scheduler: Scheduler,
        storage: Storage,
        options: DeltaOptions,
        *,
        allow_unmanifested: bool = False,
    ) -> tuple[TableSource, tuple[Fragment, ...]]:
        """Read the log and return the source and its fragments; footers are read of files without a row count.

        Raises
        ------
        ConfigError, MissingInputError, InputError, SchemaError
        """
        path = read_location(one_path(paths))
        log = DeltaLog.open(path, storage.options, options.version, options.timestamp)
        files = log.files(scheduler, TableStorage(storage.options))
        return fragments_of(log.path, log.fields, log.columns(), files, storage, options.fragment_bytes)
