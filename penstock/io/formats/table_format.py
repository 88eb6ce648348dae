"""What formats of tables that keep a log have in common: the log says which files there are, no path does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.core.names import check_names
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import canonical, canonical_type, check_type
from penstock.frames import matrices
from penstock.io.formats.base import Format, Options
from penstock.io.fragments import Fragment, Piece, row_bytes
from penstock.io.sources.columnar import Footer
from penstock.io.sources.files import InputFile, Storage, corrupt
from penstock.io.sources.parquet import ParquetSource, read_footer
from penstock.io.tables.committer import TableCommitter, TableWrite
from penstock.io.tables.delta_log import DeltaLog
from penstock.io.tables.files import TableColumn, TablePiece, TableStorage
from penstock.io.tables.iceberg_scan import IcebergScan


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


_MOST_FOOTERS = 4096
_footers: dict[tuple[object, ...], Footer] = {}


@dataclass(frozen=True)
class TableSource:
    """Pieces of the files of a table.

    Columns have the types of the table, whatever a file has, and are null where it was written before they were added.

    Parameters
    ----------
    schema : pyarrow.Schema
    storage : Storage
    columns : tuple of TableColumn
        How each column of the schema is stored.
    """

    schema: pa.Schema
    storage: Storage
    columns: tuple[TableColumn, ...]

    def read(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return the rows of `piece`.

        Raises
        ------
        IncompleteInputError
            The file is not there, or not the one that the log lists.
        CorruptFileError
            A page cannot be decoded, or the file has not the rows or the columns that the log says.
        SchemaDriftError
            Fields are changed inside a map.
        """
        schema = pa.schema([self.schema.field(name) for name in columns])
        if not piece.rows:
            return frames.from_arrow(schema.empty_table(), kind)
        assert isinstance(piece, TablePiece)
        self.storage.check_unchanged(piece)
        constants = {name: value for name, value in piece.keys if name in columns}
        wanted = [each for each in self.columns if each.name in columns and each.name not in constants]
        footer = self._footer(piece, wanted)
        fields = {each: field for each in wanted if (field := each.find(footer.schema)) is not None}
        constants |= {each.name: each.default for each in wanted if each not in fields}
        frame = self._stored(piece, footer, fields, kind) if fields else None
        return frames.conform(_with_constants(frame, constants, schema, piece.rows, kind), schema)

    def _footer(self, piece: TablePiece, wanted: Sequence[TableColumn]) -> Footer:
        """Return what the file says of itself, which is read once in a process."""
        version = self.storage.version(piece)
        footer = _footers.get(version)
        if footer is None:
            footer = read_footer(self.storage, InputFile(piece.path, piece.size, piece.mtime))
            if len(_footers) >= _MOST_FOOTERS:
                _footers.clear()
            _footers[version] = footer
        if (rows := sum(footer.row_groups)) != piece.stored:
            raise corrupt(piece.path, f"has {rows} rows, and {piece.stored} in the log of its table")
        unnamed = next((each for each in wanted if each.number is not None and not each.names), None)
        if unnamed is not None and unnamed.lacks_numbers(footer.schema):
            problem = "its columns have no field ids, and the table has no name mapping (schema.name-mapping.default)"
            raise corrupt(piece.path, problem).at(column=unnamed.name)
        return footer

    def _stored(
        self, piece: TablePiece, footer: Footer, fields: Mapping[TableColumn, pa.Field], kind: frames.Kind
    ) -> nw.DataFrame:
        first, end, mask = piece.stored_range()
        stored = pa.schema([(field.name, canonical_type(field.type)) for field in fields.values()])
        plain = Piece(piece.path, first, end - first, piece.size, piece.mtime, names=tuple(stored.names))
        frame = ParquetSource(stored, self.storage, int96=footer.int96).read(plain, stored.names, kind)
        frame = frame if mask.all() else frame.filter(matrices.column(frame, "live", mask))
        frame = frame.rename({field.name: each.name for each, field in fields.items()})
        moved = {each: field.type for each, field in fields.items() if not each.stored_as(field.type)}
        return _arranged(frame, moved, piece.path) if moved else frame


def _arranged(frame: nw.DataFrame, moved: Mapping[TableColumn, pa.DataType], path: str) -> nw.DataFrame:
    """Return a frame with the fields of nested columns where the table has them; they are moved on the host."""
    stored = pa.schema([(each.name, canonical_type(kind)) for each, kind in moved.items()])
    table = frames.to_arrow(frame.select(stored.names), stored).combine_chunks()
    columns = {each.name: each.arrange(_one_array(table[each.name]), kind, path) for each, kind in moved.items()}
    return frame.with_columns(*frames.from_arrow(pa.table(columns), frames.kind_of(frame)).iter_columns())


def _one_array(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)


def _with_constants(
    frame: nw.DataFrame | None, constants: Mapping[str, Any], schema: pa.Schema, rows: int, kind: frames.Kind
) -> nw.DataFrame:
    if not constants:
        assert frame is not None
        return frame
    values = {name: pa.repeat(pa.scalar(value, schema.field(name).type), rows) for name, value in constants.items()}
    added = frames.from_arrow(pa.table(values), kind)
    return added if frame is None else frame.with_columns(*added.iter_columns())
