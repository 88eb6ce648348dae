"""What the text formats share: they are parsed once when planned, for types and row counts, and again when read."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import BadRowsError, PenstockError, SchemaDriftError
from penstock.io.fragments import BadRecord, Fragment, Piece, pack, row_bytes
from penstock.io.sinks.part_writer import check_types
from penstock.io.sources.bad_records import blank
from penstock.io.sources.files import InputFile, Storage, check_rows, corrupt
from penstock.io.sources.hive import check_stored, with_keys
from penstock.io.sources.inference import Guess, join_text
from penstock.io.sources.numerals import WHOLE
from penstock.io.sources.quotes import RecordEnds
from penstock.io.sources.ranges import Range, cut, first_bad, first_failure, line_at, read_bytes


@dataclass(frozen=True)
class Scanned:
    """What parsing one range told: its rows, where it ended, a guess for each column it has, and what is no row."""

    range: Range
    end: int
    rows: int
    guesses: Mapping[str, Guess]
    bad: tuple[BadRecord, ...] = ()


@dataclass(frozen=True)
class TextSource(ABC):
    """Pieces of text files, parsed by pyarrow whatever the engine and the device, so that values are the same.

    Columns that a piece's file lacks are null; Hive keys are columns. A key that a file stores too, and the schema does
    not leave out, is read from it, and must be what its folder says.

    Parameters
    ----------
    schema : pyarrow.Schema
        Columns and their types, which later values cannot change.
    storage : Storage
    keys : tuple of str
        The columns of `schema` whose values stand in the folder names only.
    """

    schema: pa.Schema
    storage: Storage
    keys: tuple[str, ...] = ()

    filler: ClassVar[bytes]
    """What a line is filled with that is to be taken for an empty one."""

    repair: ClassVar[str]
    """The hint for a value of another type."""

    form: ClassVar[str]
    """The hint for a record that is not of its form."""

    @abstractmethod
    def read_header(self, file: InputFile) -> tuple[tuple[str, ...], int, RecordEnds | None]:
        """Return the names that a file has for its columns, where its records begin, and what finds their ends.

        Raises
        ------
        CorruptFileError
            The file is empty, or not text.
        """

    @abstractmethod
    def parse(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Return the columns of `types` from text of a file with the columns `names`; ArrowInvalid where it is none."""

    def parse_exactly(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Parse, and refuse the numbers that pyarrow would change."""
        return self.parse(data, names, types)

    @abstractmethod
    def try_scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> tuple[int, Mapping[str, Guess]]:
        """Return the rows of a range, parsed as the schema, and guesses of the types of `columns` if they are given.

        Raises
        ------
        pyarrow.ArrowInvalid
            A record cannot be parsed, or not together with the others.
        """

    def find_ends(self, data: bytes) -> list[int]:
        """Return where the records of a text end, each a line, but for one at its end that has no line end."""
        return [newline.end() for newline in re.finditer(b"\n", data)]

    @abstractmethod
    def count_rows(self, data: bytes, names: Sequence[str]) -> int:
        """Return the number of rows of a text of a file with the columns `names`.

        Raises
        ------
        pyarrow.ArrowInvalid
            A record is bad: it cannot be parsed, whatever the others are.
        """

    @abstractmethod
    def find_fault(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return in few words what a record has instead of its form; None where only a value can be wrong."""

    def locate_bad(self, item: Range, data: bytes) -> tuple[int, int]:
        """Return the bounds of the first record because of which a range cannot be parsed."""
        return first_bad(data, self.record_ends(data), partial(self.count_rows, names=item.names))

    @abstractmethod
    def describe_fault(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return how a record is not of its form, as a message goes on after its place; None as `find_fault`."""

    @abstractmethod
    def read_value(self, record: bytes, names: Sequence[str], column: str) -> tuple[str, str]:
        """Return a value of a record as messages show it, and as it is written."""

    def check_end(self, item: Range, data: bytes) -> None:
        """Raise CorruptFileError when the last record of a file does not end."""
        return

    def open(self, file: InputFile, step: int) -> list[Range]:
        """Return the ranges of a file, of about `step` bytes."""
        names, begin, record_ends = self.read_header(file)
        bounds = cut(self.storage, file, begin, step, record_ends)
        return [Range(file, names, *pair, pair == bounds[-1]) for pair in bounds]

    def declared_types(self, names: Sequence[str]) -> dict[str, pa.DataType]:
        """Return the declared types of a file's columns, of all where it has no names; none where they are inferred."""
        return {column.name: column.type for column in self.schema if not names or column.name in names}

    def record_ends(self, data: bytes) -> list[int]:
        """Return where the records of a text end."""
        ends = self.find_ends(data)
        return ends if ends and ends[-1] == len(data) else [*ends, len(data)]

    def scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> tuple[int, Mapping[str, Guess]]:
        """Do what `try_scan` does, and tell what is wrong.

        Raises
        ------
        BadRowsError, SchemaDriftError, CorruptFileError
            A record cannot be parsed; a value is not of its type; the last record does not end.
        """
        self.check_end(item, data)
        try:
            return self.try_scan(item, data, columns)
        except pa.ArrowInvalid as error:
            raise self.explain(item, data, error) from error

    def reason(self, record: bytes, names: Sequence[str]) -> str:
        """Return why a record is bad, in few words that many records have in common."""
        fault = self.find_fault(record, names)
        if fault is not None:
            return fault
        name = self.find_misfit(record, names)
        return (
            "cannot be parsed" if name is None else f"not a value of {self.schema.field(name).type} (column {name!r})"
        )

    def find_misfit(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return the first column of a record whose value is not of its declared type."""
        types = list(self.declared_types(names).items())
        place = first_failure(len(types), lambda last: self.parse_exactly(record, names, dict(types[: last + 1])))
        return types[place][0] if place < len(types) else None

    def find_drift(self, before: bytes, record: bytes, names: Sequence[str]) -> tuple[str, str] | None:
        """Return the column whose value in a record is not what it should be, and what that is."""
        name = self.find_misfit(record, names)
        return None if name is None else (name, f"{self.schema.field(name).type}, its declared type")

    def explain(self, item: Range, data: bytes, error: pa.ArrowInvalid) -> PenstockError:
        """Return BadRowsError for a range with a record that is none, SchemaDriftError for a value of another type."""
        begin, end = self.locate_bad(item, data)
        path, record = item.file.path, data[begin:end]
        place = f"{path}, line {line_at(self.storage, path, item.begin + begin)}"
        fault = self.describe_fault(record, item.names)
        if fault is not None:
            return BadRowsError(f"{place}{fault}", hint=self.form, path=path)
        drift = self.find_drift(data[:begin], record, item.names)
        if drift is None:
            return BadRowsError(f"{place}: cannot be parsed ({error})", path=path)
        name, expected = drift
        value, written = self.read_value(record, item.names, name)
        return SchemaDriftError(
            f"{place}, column {name!r}: {shorten_text(value)} is not a value of {expected}",
            hint=declaration_hint(written, self.declared_types(()).get(name, pa.null())) or self.repair,
            path=path,
            column=name,
        )

    def read(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return the rows of `piece`.

        Raises
        ------
        IncompleteInputError
            The file changed since it was planned.
        CorruptFileError
            The bytes are not those that were planned, though size and time of change are.
        SchemaDriftError
            A Hive key has another value in the file than in the name of its folder.
        """
        types = {name: self.schema.field(name).type for name in columns}
        keys = dict(piece.keys)
        stored = {name: types[name] for name in columns if name in piece.names and name not in self.keys}
        table = self._rows(piece, stored) if stored else None
        arrays = [
            _repeat(keys.get(name), types[name], piece.rows) if table is None or name not in stored else table[name]
            for name in columns
        ]
        return frames.from_arrow(pa.table(arrays, list(columns)), kind)

    def _rows(self, piece: Piece, types: Mapping[str, pa.DataType]) -> pa.Table:
        data = read_bytes(self.storage, piece, piece.begin, piece.end)
        if piece.bad:
            bounds = [(record.begin - piece.begin, record.end - piece.begin) for record in piece.bad]
            data = blank(data, bounds, self.filler)
        try:
            table = self.parse(data, piece.names, types)
        except pa.ArrowInvalid as error:
            raise corrupt(piece.path, f"cannot be parsed as it was when planned ({error})") from error
        check_rows(piece.path, table.num_rows, piece.rows)
        for key in (key for key, _ in piece.keys if key in types):
            check_stored(table[key], key, piece)
        return table

    def planned(
        self, schema: pa.Schema, scanned: Sequence[Scanned], fragment_bytes: int
    ) -> tuple[Self, tuple[Fragment, ...]]:
        """Return the source with its final schema, to which Hive keys are added, and the fragments."""
        whole = with_keys(schema, [item.range.file for item in scanned])
        keys = tuple(name for name in whole.names if name not in schema.names)
        pieces = [piece for _, items in groupby(scanned, lambda item: item.range.file) for piece in _pieces(items)]
        first = pieces[0]  # alone: files that are added after it leave the fragments of the others as they are
        width = max(row_bytes(whole), (first.end - first.begin) // max(1, first.rows))
        return replace(self, schema=whole, keys=keys), pack(pieces, width, fragment_bytes)


def _repeat(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(value).cast(kind), rows)


def _pieces(scanned: Iterable[Scanned]) -> Iterable[Piece]:
    items, first = list(scanned), 0
    known = tuple(dict.fromkeys(name for item in items for name in item.guesses))
    for item in items:
        file, here = item.range.file, item.range
        yield Piece(
            file.path, first, item.rows, file.size, file.mtime,
            begin=here.begin, end=item.end, names=here.names or known, keys=file.keys, sha256=file.sha256,
            bad=item.bad,
        )  # fmt: skip
        first += item.rows


def guessed(scanned: Iterable[Scanned], columns: Sequence[str]) -> dict[str, Guess]:
    """Return one guess for each column over all ranges, a string where nothing else holds every value."""
    items = list(scanned)
    return {name: join_text(item.guesses[name] for item in items if name in item.guesses) for name in columns}


def shorten_text(text: str, most: int = 80) -> str:
    """Return `text` as it stands in a message, cut after `most` characters."""
    return repr(text if len(text) <= most else text[:most] + "...")


def declaration_hint(text: str, kind: pa.DataType) -> str | None:
    """Return what to declare where `text` is a value of another type, one that is easily taken for `kind`.

    Examples
    --------
    >>> declaration_hint("2020-01-01 12:00Z", pa.timestamp("us"))
    "Declare a type with a zone, such as pa.timestamp('us', 'UTC'), or repair the file."
    >>> declaration_hint("9007199254740993", pa.float64())
    'double would round this whole number: declare int64, uint64, a decimal or string.'
    """
    if pa.types.is_floating(kind) and re.fullmatch(WHOLE, text):
        return f"{kind} would round this whole number: declare int64, uint64, a decimal or string."
    if not pa.types.is_timestamp(kind):
        return None
    try:
        pa.scalar(text).cast(pa.timestamp(kind.unit, "UTC" if kind.tz is None else None))
    except pa.ArrowInvalid:
        return None
    other = f"with a zone, such as pa.timestamp({kind.unit!r}, 'UTC')," if kind.tz is None else "without a zone,"
    return f"Declare a type {other} or repair the file."


check_declared = partial(check_types, verb="is declared as", hint="Declare it as string and parse it in a stage.")
