"""What the formats of columns share: planned from the ends of their files, read by rows, in the columns needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import CorruptFileError, PenstockError, SchemaDriftError
from penstock.core.schemas import canonical
from penstock.io.fragments import Piece
from penstock.io.memory_errors import is_out_of_memory
from penstock.io.sources.files import InputFile, Storage, check_sha256, corrupt, detect
from penstock.io.sources.hive import check_stored

Tail = TypeVar("Tail")


@dataclass(frozen=True)
class Footer:
    """What one file says of itself: its schema, the rows of each group of rows, and which columns hold INT96 times."""

    file: InputFile
    schema: pa.Schema
    row_groups: tuple[int, ...]
    int96: tuple[str, ...] = ()


def check_head(file: InputFile, stream: Any, form: str) -> bytes:
    """Return the first bytes of an open file, which is then at its start again; CorruptFileError where it has none."""
    if not file.size:
        raise corrupt(file.path, f"0 bytes, expected {form}")
    head: bytes = stream.read(16)
    stream.seek(0)
    return head


def refuse_file(
    file: InputFile, head: bytes, form: str, forms: tuple[str, ...], error: BaseException, part: str
) -> CorruptFileError:
    """Return the error for a file that is not of its format, or of which `part` cannot be read.

    `form` is what messages call the format, `forms` is what `detect` says of its files.
    """
    kind = detect(head)
    if kind not in forms:
        return corrupt(file.path, f"not {form} ({file.size} bytes)", head, forms[0])
    return corrupt(file.path, f"cut off or damaged, {file.size} bytes: {part} ({error})", head, kind)


@contextmanager
def reading_footer(storage: Storage, file: InputFile, form: str, forms: tuple[str, ...], part: str) -> Iterator[Any]:
    """Open a file for what it says of itself; the errors are those of `check_head` and `refuse_file`."""
    with storage.open(file.path) as stream:
        head = check_head(file, stream, form)
        try:
            yield stream
        except PenstockError:
            raise
        except frames.ERRORS as error:
            if is_out_of_memory(error):
                raise
            raise refuse_file(file, head, form, forms, error, part) from error


@dataclass(frozen=True)
class ColumnarSource(ABC):
    """Pieces of files of columns. Columns that a piece's file lacks are null; Hive keys are columns.

    A key that a file stores too, and the schema does not leave out, is read from it, and must be what its folder says.

    Parameters
    ----------
    schema : pyarrow.Schema
    storage : Storage
    """

    schema: pa.Schema
    storage: Storage

    @abstractmethod
    def rows(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return columns of `piece`, each of which its file has."""

    def read(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return the rows of `piece`.

        Raises
        ------
        IncompleteInputError
            The file changed since it was planned.
        CorruptFileError
            The rows cannot be decoded, or the file is not the one its manifest lists.
        SchemaDriftError
            A Hive key has another value in the file than in the name of its folder.
        """
        stored = [name for name in columns if name in piece.names]
        try:
            check_hash(self.storage, piece)
            frame = self.rows(piece, stored or list(piece.names[:1]), kind)
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
        named = {
            name: pa.repeat(pa.scalar(text).cast(self.schema.field(name).type), len(frame))
            for name, text in keys.items()
            if name not in piece.names
        }
        if named:
            frame = frame.with_columns(*frames.from_arrow(pa.table(named), frames.kind_of(frame)).iter_columns())
        frame = frames.conform(frame, pa.schema([self.schema.field(name) for name in columns]))
        for name in (name for name in keys if name in piece.names):
            values = frames.to_arrow(frame.select(name), pa.schema([self.schema.field(name)]))
            check_stored(values[name], name, piece)
        return frame

    def _blame(self, piece: Piece, columns: Sequence[str], kind: frames.Kind, error: Exception) -> CorruptFileError:
        """Read column by column to name the one that is damaged."""
        for name in columns:
            try:
                self.rows(piece, [name], kind)
            except frames.ERRORS as cause:
                rows = f"rows {piece.first} to {piece.first + piece.rows}"
                problem = f"column {name!r}, {rows}, cannot be decoded ({cause})"
                return corrupt(piece.path, problem).at(column=name)  # type: ignore[return-value]
        return corrupt(piece.path, f"cannot be decoded ({error})")


@dataclass(frozen=True)
class ArrowSource(ColumnarSource):
    """Pieces that are read as tables of Arrow, of any of the types that the format has for those of the schema."""

    @abstractmethod
    def read_table(self, piece: Piece, columns: Sequence[str]) -> pa.Table:
        """Return columns of `piece`, in the types of the file."""

    def rows(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return columns of `piece` in the types of the schema."""
        table = self.read_table(piece, columns)
        table.validate(full=True)
        if table.num_rows != piece.rows:
            raise corrupt(piece.path, f"has {table.num_rows} rows where its footer says {piece.rows}")
        for name in (name for name in columns if name in self.schema.names):
            values = _cast(table[name], self.schema.field(name).type, name, piece.path)
            table = table.set_column(table.schema.get_field_index(name), name, values)
        return frames.from_arrow(table.cast(canonical(table.schema)), kind)


def _cast(values: pa.ChunkedArray, kind: pa.DataType, name: str, path: str) -> pa.ChunkedArray:
    try:
        return values if values.type == kind else values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaDriftError(
            f"column {name!r} is {values.type} in {path}, and not all of its values are {kind}: {error}",
            hint="Declare a type that holds them; Penstock does not cast with a loss.",
            path=path,
            column=name,
        ) from error


_tails: dict[tuple[object, ...], Any] = {}


def read_once(storage: Storage, piece: Piece, read: Callable[[], Tail]) -> Tail:
    """Return what `read` finds out of a file, done once in a process and version of the file."""
    version = storage.version(piece)
    if version not in _tails:
        _tails[version] = read()
    return _tails[version]


def narrowest(schema: pa.Schema) -> int:
    """Return the place of a column that is read soonest, for what only asks how many rows there are.

    Examples
    --------
    >>> narrowest(pa.schema({"s": pa.string(), "x": pa.int64(), "b": pa.bool_()}))
    2
    """
    return min(range(len(schema)), key=lambda place: _width(schema.field(place).type))


def _width(kind: pa.DataType) -> float:
    try:
        return float(kind.bit_width)
    except ValueError:
        return float("inf")


def overlapping(groups: Sequence[int], piece: Piece) -> tuple[list[int], int]:
    """Return which groups of rows hold those of `piece`, and how many rows of the first one come before them.

    Examples
    --------
    >>> overlapping([10, 10, 10], Piece("a.orc", 15, 10))
    ([1, 2], 5)
    """
    start = skip = 0
    wanted: list[int] = []
    for index, rows in enumerate(groups):
        if start < piece.first + piece.rows and start + rows > piece.first:
            skip = skip if wanted else piece.first - start
            wanted.append(index)
        start += rows
    return wanted, skip


_digests: dict[tuple[object, ...], str] = {}


def verify(storage: Storage, piece: Piece) -> None:
    """Raise IncompleteInputError or CorruptFileError unless a file, for others to read, is the one that was planned."""
    check_hash(storage, piece)
    storage.check_unchanged(piece)


def check_hash(storage: Storage, piece: Piece) -> None:
    """Compare a file with its manifest, if it has one, once in a process and version of the file."""
    if piece.sha256 is None:
        return
    version = storage.version(piece)
    if version not in _digests:
        _digests[version] = storage.sha256(piece.path)
    check_sha256(piece.path, _digests[version], piece.sha256)
