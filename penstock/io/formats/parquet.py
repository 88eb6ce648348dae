"""Parquet: planned from all footers, which the workers read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import pyarrow as pa

from penstock.core.errors import SchemaDriftError
from penstock.core.names import without_index
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import canonical, shorten, unify, widen
from penstock.io.formats.base import Format, ReadOptions, TableOptions
from penstock.io.fragments import Fragment, Piece
from penstock.io.sinks.parquet import ParquetWriter
from penstock.io.sinks.part_writer import PartWriter
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.hive import with_keys
from penstock.io.sources.parquet import Footer, ParquetSource, read_footer


@dataclass(frozen=True, kw_only=True)
class ParquetOptions(TableOptions):
    """What `Engine.read_parquet` takes."""

    page_checksum_verification: bool = False


class Parquet(Format[ParquetOptions]):
    """Columns in row groups, planned from their footers; see `Engine.read_parquet`."""

    name: ClassVar[str] = "parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".parq", ".pq")
    options: ClassVar[type[ReadOptions]] = ParquetOptions
    writer: ClassVar[type[PartWriter] | None] = ParquetWriter

    def plan(
        self, files: Sequence[InputFile], scheduler: Scheduler, storage: Storage, options: ParquetOptions
    ) -> tuple[ParquetSource, tuple[Fragment, ...]]:
        """Read all footers and return the source and its fragments.

        Raises
        ------
        CorruptFileError, SchemaDriftError
        """
        footers = list(scheduler.map(partial(read_footer, storage), files, label="footers"))
        schema = _schema(footers, options)
        pieces = [piece for footer in footers for piece in _pieces(footer, schema)]
        schema = with_keys(schema, files)
        int96 = tuple(dict.fromkeys(name for footer in footers for name in footer.int96))
        source = ParquetSource(schema, storage, options.page_checksum_verification, int96)
        return source, self.pack(pieces, schema, options)


def _schema(footers: Sequence[Footer], options: ParquetOptions) -> pa.Schema:
    """Return the declared schema, or that of all files together; they have to agree with it."""
    schema = options.schema
    index = _index(footers, () if schema is None else schema.names)
    files = [(footer.file.path, _with_null_keys(footer, schema, index)) for footer in footers]
    united = unify(options.lead + files, missing=options.missing_columns, extra=options.extra_columns)
    if schema is not None:
        _check_declared(schema, files)
        return schema
    stored = {name for footer in footers for name in footer.schema.names}
    return pa.schema([field for field in united if field.name in stored])


def _index(footers: Sequence[Footer], declared: Sequence[str]) -> set[str]:
    """Return the columns that are the index of a frame of pandas, and not declared, with one warning."""
    names = list(dict.fromkeys(name for footer in footers for name in footer.schema.names))
    where = shorten([footer.file.path for footer in footers], 1)
    return set(names) - set(without_index(names, where, declared))


def _with_null_keys(footer: Footer, schema: pa.Schema | None, index: set[str]) -> pa.Schema:
    """Return the columns of a file, and those that its folders name in its place, unless a schema leaves them out."""
    named = [key for key, _ in footer.file.keys if schema is None or key in schema.names]
    stored = [field for field in footer.schema if field.name not in index]
    return pa.schema([*stored, *((key, pa.null()) for key in named if key not in footer.schema.names)])


def _check_declared(schema: pa.Schema, files: Sequence[tuple[str, pa.Schema]]) -> None:
    """Raise SchemaDriftError for a file with a type that the declared one does not hold without loss."""
    for path, columns in files:
        for field in canonical(columns):
            wanted = schema.field(field.name).type if field.name in schema.names else field.type
            if widen(wanted, field.type) != wanted:
                raise SchemaDriftError(
                    f"column {field.name!r} is {field.type} in {path}, and the declared {wanted} may not hold it",
                    hint="Declare a type that holds both; Penstock does not cast silently.",
                    path=path,
                    column=field.name,
                )


def _pieces(footer: Footer, schema: pa.Schema) -> list[Piece]:
    file, first, pieces = footer.file, 0, []
    names = tuple(name for name in footer.schema.names if name in schema.names) or tuple(footer.schema.names[:1])
    for rows in footer.row_groups or (0,):
        piece = Piece(file.path, first, rows, file.size, file.mtime, names=names, keys=file.keys, sha256=file.sha256)
        pieces.append(piece)
        first += rows
    return pieces
