"""CSV: bound by the names of each file's header, never cast or shifted in silence."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.csv as pacsv

from penstock.errors import BadRowsError, ConfigError, PenstockError, SchemaDriftError
from penstock.fragments import Fragment
from penstock.schemas import check_unique, unify
from penstock.sources.csv_dialect import Dialect, can_hold
from penstock.sources.files import InputFile, Storage, corrupt
from penstock.sources.inference import settle
from penstock.sources.ranges import HEAD_BYTES, Range, TextFile, cut, first_bad, line_at, ranges, read_head, unclosed
from penstock.sources.text import (
    Open,
    Run,
    Scan,
    Scanned,
    TextSource,
    check_types,
    declaration_hint,
    guessed,
    range_bytes,
    shorten_text,
)

SUFFIXES = (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst")


@dataclass(frozen=True)
class CsvSource(TextSource):
    """Pieces of CSV files; see :func:`plan_csv`.

    Parameters
    ----------
    dialect : Dialect
    header : bool
        Whether the first record of each file names its columns.
    names : tuple of str
        The names where there is no header; empty to count them: ``f0``, ``f1``, ...
    """

    dialect: Dialect = field(default_factory=Dialect)
    header: bool = True
    names: tuple[str, ...] = ()

    def open(self, file: InputFile, step: int) -> TextFile:
        """Return the names of the columns and the ranges after the header.

        Raises
        ------
        CorruptFileError
            The file is empty, not text, or has no header.
        SchemaDriftError
            A name stands twice in the header.
        """
        head, begin = read_head(self.storage, file, "a CSV file")
        first, length = self._first_record(file, head)
        counted = tuple(f"f{place}" for place in range(len(first)))
        names = tuple(first) if self.header else self.names or counted
        check_unique(names, file.path)
        begin += length if self.header else 0
        ends = None if self.dialect.quote is None else self.dialect.record_ends()
        return TextFile(file, names, cut(self.storage, file, begin, step, ends))

    def _first_record(self, file: InputFile, head: bytes) -> tuple[list[str], int]:
        blank = len(head) - len(head.lstrip(b"\r\n"))
        ends = self.dialect.record_ends().feed(head[blank:])
        if (self.header and blank == len(head)) or (not len(ends) and len(head) >= HEAD_BYTES):
            raise corrupt(file.path, f"no {'header' if self.header else 'record'} in the first {len(head)} bytes")
        end = blank + int(ends[0]) if len(ends) else len(head)
        try:
            return self.dialect.fields(head[blank:end].decode()), end
        except (UnicodeDecodeError, csv.Error) as error:
            raise corrupt(file.path, f"the first record cannot be read ({error})") from error

    def parse(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Return the columns of `types` from text of a file with the columns `names`."""
        return self.dialect.parse(data, names, types)

    def scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> Scanned:
        """Parse a range as the schema, or guess the types of `columns`.

        Raises
        ------
        BadRowsError
            A row has too few or too many fields.
        SchemaDriftError
            A value is not of its declared type.
        CorruptFileError
            A quote never closes.
        """
        self._check_closed(item, data)
        declared = {kind.name: kind.type for kind in self.schema if kind.name in item.names}
        try:
            if columns is None:
                rows = self.dialect.parse_exactly(data, item.names, declared).num_rows
                return Scanned(item, item.begin + len(data), rows, {})
            here = [name for name in columns if name in item.names]
            rows, guesses = self.dialect.guess(data, item.names, here)
            return Scanned(item, item.begin + len(data), rows, guesses)
        except pa.ArrowInvalid as error:
            raise self._explain(item, data, declared, error) from error

    def _check_closed(self, item: Range, data: bytes) -> None:
        if item.last and self.dialect.quote is not None:
            ends = self.dialect.record_ends()
            ends.feed(data)
            if ends.open:
                raise unclosed(self.storage, item.file.path, item.begin + ends.opened)

    def _explain(
        self, item: Range, data: bytes, types: Mapping[str, pa.DataType], error: pa.ArrowInvalid
    ) -> PenstockError:
        ends = [*self.dialect.record_ends().feed(data).tolist(), len(data)]
        check = partial(self.dialect.parse_exactly, names=item.names, types=types or {item.names[0]: pa.string()})
        begin, end = first_bad(data, ends, check)
        path, record = item.file.path, data[begin:end]
        place = f"{path}, line {line_at(self.storage, path, item.begin + begin)}"
        return (
            self._wrong_count(record, item.names, path, place)
            or self._wrong_value(record, item.names, types, path, place)
            or BadRowsError(f"{place}: cannot be parsed ({error})", path=path)
        )

    def _wrong_count(self, record: bytes, names: Sequence[str], path: str, place: str) -> PenstockError | None:
        seen: list[pacsv.InvalidRow] = []

        def keep(row: pacsv.InvalidRow) -> str:
            seen.append(row)
            return "skip"

        self.dialect.read(record, names, pacsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())), keep)
        if not seen:
            return None
        counts = f"{seen[0].actual_columns} fields, expected {seen[0].expected_columns}"
        return BadRowsError(
            f"{place}: {counts}: {shorten_text(seen[0].text)}",
            hint="A delimiter inside a field needs quotes around the field.",
            path=path,
        )

    def _wrong_value(
        self, record: bytes, names: Sequence[str], types: Mapping[str, pa.DataType], path: str, place: str
    ) -> PenstockError | None:
        for name, kind in types.items():
            try:
                self.dialect.parse_exactly(record, names, {name: kind})
            except pa.ArrowInvalid:
                value = self.dialect.parse(record, names, {name: pa.string()})[name][0].as_py()
                return SchemaDriftError(
                    f"{place}, column {name!r}: {shorten_text(value)} is not a value of {kind}, its declared type",
                    hint=declaration_hint(value, kind)
                    or "Declare the column as string, add the value to null_values, or repair the file.",
                    path=path,
                    column=name,
                )
        return None


def plan_csv(
    files: Sequence[InputFile],
    run: Run,
    storage: Storage,
    *,
    schema: pa.Schema | None = None,
    header: bool = True,
    column_names: Sequence[str] | None = None,
    delimiter: str = ",",
    quote: str | None = '"',
    null_values: Sequence[str] = ("",),
    missing_columns: str = "error",
    extra_columns: str = "warn",
    fragment_bytes: int,
) -> tuple[CsvSource, tuple[Fragment, ...]]:
    r"""Read all headers, then parse all rows once, and return the source and its fragments.

    The text is UTF-8; lines end at ``\n``, ``\r\n`` or a ``\r`` alone, and blank lines are skipped. A column without a
    declared type gets the narrowest of bool, int64, float64, date32, timestamp and string that holds all its values in
    all files, or string when it has none. Numbers with a leading zero or more digits than their type holds are strings.
    ``NA``, ``null`` and ``None`` are strings like others unless they are in `null_values`.

    Parameters
    ----------
    schema : pyarrow.Schema or None
        Columns and types, instead of guessing them; it leads instead of the first file's header. Times with a zone
        are for a type with one, those without for a type without.
    header : bool
        Whether the first record of each file names its columns.
    column_names : sequence of str or None
        Names where there is no header; else those of `schema`, else ``f0``, ``f1``, ...
    missing_columns : {"error", "null"}
        What to do with a file that lacks a column.
    extra_columns : {"warn", "error"}
        What to do with a column that the first file lacks.
    fragment_bytes : int
        Memory that the rows of a fragment take, about; ranges of a quarter of it are parsed at once.

    Raises
    ------
    ConfigError, CorruptFileError, BadRowsError, SchemaDriftError
    """
    if header and column_names is not None:
        raise ConfigError("column_names is for files without a header, but header is True")
    names = tuple(column_names or (() if schema is None else schema.names))
    dialect = Dialect(delimiter, quote, tuple(null_values))
    source = CsvSource(schema or pa.schema([]), storage, dialect=dialect, header=header, names=names)
    check_types(source.schema, can_hold, "CSV")
    opened: list[TextFile] = list(run(Open(source, range_bytes(fragment_bytes)), files))
    columns = _bind(opened, schema, missing_columns, extra_columns)
    scanned: list[Scanned] = list(run(Scan(source, columns if schema is None else None), ranges(opened)))
    if schema is None:
        schema = pa.schema([(name, settle(found.type)) for name, found in guessed(scanned, columns).items()])
    return source.planned(schema, scanned, fragment_bytes)


def _bind(opened: Sequence[TextFile], schema: pa.Schema | None, missing: str, extra: str) -> tuple[str, ...]:
    """Return the columns of the dataset; types are not known yet, so that only names are compared."""
    lead = [] if schema is None else [("the declared schema", schema)]
    headers = []
    for text in opened:
        names = dict.fromkeys((*text.names, *dict(text.file.keys)))
        headers.append((text.file.path, pa.schema([(name, pa.null()) for name in names])))
    found = unify(lead + headers, missing=missing, extra=extra).names
    stored = {name for text in opened for name in text.names}
    return tuple(name for name in found if name in stored)
