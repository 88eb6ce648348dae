"""Parquet: planned from all footers, read by row groups, in the columns needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq

from penstock import frames
from penstock.core.errors import CorruptFileError, PenstockError
from penstock.io.fragments import Piece
from penstock.io.memory_errors import is_out_of_memory
from penstock.io.sources.files import InputFile, Storage, check_sha256, corrupt, detect
from penstock.io.sources.hive import check_stored


@dataclass(frozen=True)
class Footer:
    """What the end of one file says: its schema, the rows of each row group, and which columns hold INT96 times."""

    file: InputFile
    schema: pa.Schema
    row_groups: tuple[int, ...]
    int96: tuple[str, ...] = ()


def read_footer(storage: Storage, file: InputFile) -> Footer:
    """Return the footer of a file.

    Raises
    ------
    CorruptFileError
        The file is empty, cut off, or not Parquet.
    """
    with storage.open(file.path) as stream:
        if not file.size:
            raise corrupt(file.path, "0 bytes, expected a Parquet file")
        head = stream.read(16)
        stream.seek(0)
        try:
            parquet = _open(stream)
            metadata, schema = parquet.metadata, parquet.schema_arrow
            uncoerced = metadata.schema.to_arrow_schema()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
            raise corrupt(file.path, _why(file, head, error), head, "Parquet") from error
        groups = tuple(metadata.row_group(index).num_rows for index in range(metadata.num_row_groups))
        int96 = tuple(field.name for field, plain in zip(schema, uncoerced, strict=True) if field.type != plain.type)
        return Footer(file, schema, groups, int96)


def _open(stream: Any, *, page_checksum_verification: bool = False) -> pq.ParquetFile:
    """Open a file so that INT96 times are microseconds: in nanoseconds, a year such as 9999 wraps around."""
    return pq.ParquetFile(
        stream, coerce_int96_timestamp_unit="us", page_checksum_verification=page_checksum_verification
    )


def _why(file: InputFile, head: bytes, error: Exception) -> str:
    if detect(head) != "Parquet":
        return f"not a Parquet file ({file.size} bytes)"
    return f"cut off or damaged, {file.size} bytes: footer magic missing or footer unreadable ({error})"


@dataclass(frozen=True)
class ParquetSource:
    """Pieces of Parquet files. Columns that a piece's file lacks are null; Hive keys are columns.

    A key that a file stores too, and the schema does not leave out, is read from it, and must be what its folder says.

    Times stored as INT96, which Hive, Impala and early Spark write, are ``timestamp[us]``, as Spark reads them: years 1
    to 9999, and what is below a microsecond is cut off.

    Parameters
    ----------
    schema : pyarrow.Schema
    storage : Storage
    page_checksum_verification : bool
    int96 : tuple of str
        Columns that some file stores as INT96; only pyarrow reads them in microseconds.
    """

    schema: pa.Schema
    storage: Storage
    page_checksum_verification: bool = False
    int96: tuple[str, ...] = ()

    def read(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return the rows of `piece`.

        Raises
        ------
        IncompleteInputError
            The file changed since it was planned.
        CorruptFileError
            A page cannot be decoded, or the file is not the one its manifest lists.
        SchemaDriftError
            A Hive key has another value in the file than in the name of its folder.
        """
        stored = [name for name in columns if name in piece.names]
        try:
            _check_hash(self.storage, piece)
            frame = self._rows(piece, stored or list(piece.names[:1]), kind)
        except PenstockError:
            raise
        except frames.ERRORS as error:
            if is_out_of_memory(error):
                raise
            raise self._blame(piece, stored, kind, error) from error
        finally:  # checked after reading: whatever came of it, a file that changed meanwhile is the reason to give
            self.storage.check_unchanged(piece)
        return self._with_keys(frame, piece, columns)

    def _with_keys(self, frame: nw.DataFrame, piece: Piece, columns: Sequence[str]) -> nw.DataFrame:
        keys = {name: text for name, text in piece.keys if name in columns}
        literals = [nw.lit(text, nw.String).alias(name) for name, text in keys.items() if name not in piece.names]
        frame = frame.with_columns(*literals) if literals else frame
        frame = frames.conform(frame, pa.schema([self.schema.field(name) for name in columns]))
        for name in (name for name in keys if name in piece.names):
            values = frames.to_arrow(frame.select(name), pa.schema([self.schema.field(name)]))
            check_stored(values[name], name, piece)
        return frame

    def _rows(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        by_pyarrow = self.page_checksum_verification or not set(columns).isdisjoint(self.int96)
        if self.storage.is_local(piece.path) and not by_pyarrow:
            return frames.read_parquet(piece.path, piece.first, piece.rows, columns, kind)
        with self.storage.open(piece.path) as stream:
            file = _open(stream, page_checksum_verification=self.page_checksum_verification)
            return frames.from_arrow(_read_rows(file, piece, columns), kind)

    def _blame(self, piece: Piece, columns: Sequence[str], kind: frames.Kind, error: Exception) -> CorruptFileError:
        """Read column by column to name the one that is damaged."""
        for name in columns:
            try:
                self._rows(piece, [name], kind)
            except frames.ERRORS as cause:
                rows = f"rows {piece.first} to {piece.first + piece.rows}"
                problem = f"column {name!r}, {rows}, cannot be decoded ({cause})"
                return corrupt(piece.path, problem).at(column=name)  # type: ignore[return-value]
        return corrupt(piece.path, f"cannot be decoded ({error})")


def _read_rows(file: pq.ParquetFile, piece: Piece, columns: Sequence[str]) -> pa.Table:
    start = skip = 0
    wanted: list[int] = []
    for index in range(file.metadata.num_row_groups):
        rows = file.metadata.row_group(index).num_rows
        if start < piece.first + piece.rows and start + rows > piece.first:
            skip = skip if wanted else piece.first - start
            wanted.append(index)
        start += rows
    # one by one: pyarrow cannot join the dictionaries of nested columns, which each row group has of its own
    runs = [[index] for index in wanted] or [[]]
    tables = [file.read_row_groups(run, columns=list(columns)) for run in runs]
    return pa.concat_tables(tables).slice(skip, piece.rows)


_digests: dict[tuple[object, ...], str] = {}


def verify(storage: Storage, piece: Piece) -> None:
    """Raise IncompleteInputError or CorruptFileError unless a file, for others to read, is the one that was planned."""
    _check_hash(storage, piece)
    storage.check_unchanged(piece)


def _check_hash(storage: Storage, piece: Piece) -> None:
    """Compare a file with its manifest, if it has one, once in a process and version of the file."""
    if piece.sha256 is None:
        return
    version = storage.version(piece)
    if version not in _digests:
        _digests[version] = storage.sha256(piece.path)
    check_sha256(piece.path, _digests[version], piece.sha256)
