"""Formats of columns: planned from the ends of all files, which the workers read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Generic

import pyarrow as pa

from penstock.core.errors import SchemaDriftError
from penstock.core.names import without_index
from penstock.core.scheduler import Scheduler, map_all
from penstock.core.schemas import canonical, canonical_type, shorten, unify, widen
from penstock.io.formats.base import Format, Options, TableOptions
from penstock.io.fragments import Fragment, Piece
from penstock.io.sources.columnar import ColumnarSource, Footer
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.hive import with_keys

_FEW_FILES = 8


class Columnar(Format[Options], Generic[Options]):
    """A format whose files say at their ends which columns and rows they have."""

    reader: ClassVar[type[ColumnarSource]]

    @staticmethod
    @abstractmethod
    def read_footer(storage: Storage, file: InputFile) -> Footer:
        """Return what a file says of itself; run by the workers.

        Raises
        ------
        CorruptFileError
            The file is empty, cut off, or not of the format.
        """

    def source(
        self, schema: pa.Schema, storage: Storage, footers: Sequence[Footer], options: Options
    ) -> ColumnarSource:
        """Return what reads pieces of the files: a `reader`."""
        return self.reader(schema, storage)

    @staticmethod
    def mean_lengths(storage: Storage, file: InputFile) -> Mapping[str, float]:
        """Return the mean bytes of a value by column, where a readable file says so."""
        return {}

    @staticmethod
    def stored_type(kind: pa.DataType) -> pa.DataType | None:
        """Return as what the format stores a type, from which it is read again without loss; None where it cannot."""
        return kind

    def plan(
        self, files: Sequence[InputFile], scheduler: Scheduler, storage: Storage, options: Options
    ) -> tuple[ColumnarSource, tuple[Fragment, ...]]:
        """Read all footers and return the source and its fragments.

        Raises
        ------
        CorruptFileError, SchemaDriftError
        """
        assert isinstance(options, TableOptions)
        footers = list(_map_files(partial(self.read_footer, storage), files, scheduler, storage))
        schema = self._schema(footers, options)
        pieces = [piece for footer in footers for piece in _pieces(footer, schema)]
        schema = with_keys(schema, files)
        # Of the first file alone: files that are added after it leave the fragments of the others as they are.
        lengths = self.mean_lengths(storage, files[0])
        return self.source(schema, storage, footers, options), self.pack(pieces, schema, options, lengths)

    def _schema(self, footers: Sequence[Footer], options: TableOptions) -> pa.Schema:
        """Return the declared schema, or that of all files together; they have to agree with it."""
        schema = options.schema
        index = _index(footers, () if schema is None else schema.names)
        files = [(footer.file.path, self._columns(footer, schema, index)) for footer in footers]
        united = unify(options.lead + files, missing=options.missing_columns, extra=options.extra_columns)
        if schema is not None:
            _check_declared(schema, files)
            return schema
        stored = {name for footer in footers for name in footer.schema.names}
        return pa.schema([field for field in united if field.name in stored])

    def _columns(self, footer: Footer, schema: pa.Schema | None, index: set[str]) -> pa.Schema:
        """Return the columns of a file, and those that its folders name in its place, unless a schema leaves them out.

        A column that is stored as its declared type would be has that type.
        """
        named = [key for key, _ in footer.file.keys if schema is None or key in schema.names]
        stored = [(field.name, field.type) for field in footer.schema if field.name not in index]
        types = {} if schema is None else {field.name: field.type for field in schema}
        kinds = {name: types.get(name, kind) for name, kind in stored}
        columns = [
            (name, kinds[name] if self.stored_type(kinds[name]) == canonical_type(kind) else kind)
            for name, kind in stored
        ]
        return pa.schema([*columns, *((key, pa.null()) for key in named if key not in footer.schema.names)])


def _map_files(
    read: Callable[[InputFile], Footer], files: Sequence[InputFile], scheduler: Scheduler, storage: Storage
) -> Iterable[Footer]:
    """Read footers: here those of few files on a disk, which take milliseconds, less than a job on a cluster does."""
    are_near = (
        not scheduler.in_process and len(files) <= _FEW_FILES and all(storage.is_local(file.path) for file in files)
    )
    return map(read, files) if are_near else map_all(scheduler, read, files, label="footers")


def _index(footers: Sequence[Footer], declared: Sequence[str]) -> set[str]:
    """Return the columns that are the index of a frame of pandas, and not declared, with one warning."""
    names = list(dict.fromkeys(name for footer in footers for name in footer.schema.names))
    where = shorten([footer.file.path for footer in footers], 1)
    return set(names) - set(without_index(names, where, declared))


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
