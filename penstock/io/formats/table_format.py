"""What formats of tables that keep a log have in common: the log says which files there are, no path does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.errors import ConfigError
from penstock.core.names import check_names
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import canonical, check_type
from penstock.io.formats.base import Format, Options
from penstock.io.fragments import Fragment, row_bytes
from penstock.io.sources.files import InputFile, Storage
from penstock.io.tables.committer import TableCommitter, TableWrite
from penstock.io.tables.delta_log import DeltaLog
from penstock.io.tables.files import TablePiece, TableStorage
from penstock.io.tables.iceberg_scan import IcebergScan
from penstock.io.tables.source import TableSource


class TableFormat(Format[Options]):
    """A table of files that a log lists; the path of a read is the table's."""

    suffixes = ()

    @abstractmethod
    def committer(self, write: TableWrite, options: Mapping[str, Any]) -> TableCommitter:
        """Return what commits the parts of a write to the log of a table.

        Raises
        ------
        ConfigError
            The table cannot hold a type of the schema, or has no option of a name; says the nearest one.
        """

    @abstractmethod
    def version(self, table: Any, storage: Storage, options: Options) -> DeltaLog | IcebergScan:
        """Return the version of a table that the options ask for, the newest by default.

        Raises
        ------
        ConfigError, MissingInputError, InputError
        """

    def open(
        self, paths: Any, scheduler: Scheduler, storage: Storage, options: Options, *, allow_unmanifested: bool = False
    ) -> tuple[TableSource, tuple[Fragment, ...]]:
        """Return what reads the files of a version of the table, and the fragments, of about `fragment_bytes`.

        Raises
        ------
        SchemaError
            A column has a type that cannot be read, or a name that Penstock keeps for itself.
        """
        version, table_storage = self.version(_one_path(paths), storage, options), TableStorage(storage.options)
        files = version.files(scheduler, table_storage)
        schema = canonical(version.fields)
        check_names(schema.names, version.path, path=version.path)
        for field in schema:
            check_type(field.name, field.type, version.path)
        most = max(1, options.fragment_bytes // row_bytes(schema))
        pieces = [piece for file in files for piece in file.pieces(most)] or [TablePiece(version.path, 0, 0)]
        return TableSource(schema, table_storage, version.columns()), self.pack(pieces, schema, options)

    def plan(
        self, files: Sequence[InputFile], scheduler: Scheduler, storage: Storage, options: Options
    ) -> tuple[TableSource, tuple[Fragment, ...]]:
        """Raise ConfigError: files alone do not say what is in a table."""
        raise ConfigError(f"{self.name} is planned from its log, not from files", hint="Name the folder of the table.")


def _one_path(paths: Any) -> Any:
    """Return the one table that a read names; ConfigError for several."""
    if isinstance(paths, list | tuple) and len(paths) != 1:
        raise ConfigError(f"{len(paths)} tables are named, expected one", hint="Read each, and join the datasets.")
    return paths[0] if isinstance(paths, list | tuple) else paths
