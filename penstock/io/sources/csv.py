"""CSV: bound by the names of each file's header, never cast or shifted in silence."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import pyarrow as pa
import pyarrow.csv as pacsv

from penstock.core.errors import BadRowsError, PenstockError, SchemaDriftError
from penstock.core.schemas import check_unique
from penstock.io.sources.csv_dialect import Dialect
from penstock.io.sources.files import InputFile, corrupt
from penstock.io.sources.ranges import (
    HEAD_BYTES,
    Range,
    TextFile,
    cut,
    first_bad,
    first_misfit,
    line_at,
    read_head,
    unclosed,
)
from penstock.io.sources.text import Scanned, TextSource, declaration_hint, shorten_text


@dataclass(frozen=True)
class CsvSource(TextSource):
    """Pieces of CSV files; see `penstock.io.formats.csv`.

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

    filler: ClassVar[bytes] = b"\n"

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

    def _types(self, names: Sequence[str]) -> dict[str, pa.DataType]:
        """Return the declared types of a file's columns; none are where they are inferred."""
        return {column.name: column.type for column in self.schema if column.name in names}

    def try_scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> Scanned:
        """Parse a range as the schema, or guess the types of `columns`; ArrowInvalid where that cannot be."""
        if columns is None:
            rows = self.dialect.parse_exactly(data, item.names, self._types(item.names)).num_rows
            return Scanned(item, item.begin + len(data), rows, {})
        here = [name for name in columns if name in item.names]
        rows, guesses = self.dialect.guess(data, item.names, here)
        return Scanned(item, item.begin + len(data), rows, guesses)

    def check_end(self, item: Range, data: bytes) -> None:
        """Raise CorruptFileError when a quote never closes."""
        if item.last and self.dialect.quote is not None:
            ends = self.dialect.record_ends()
            ends.feed(data)
            if ends.open:
                raise unclosed(self.storage, item.file.path, item.begin + ends.opened)

    def record_ends(self, data: bytes) -> list[int]:
        """Return where the records of a text end."""
        ends: list[int] = self.dialect.record_ends().feed(data).tolist()
        return ends if ends and ends[-1] == len(data) else [*ends, len(data)]

    def count_rows(self, data: bytes, names: Sequence[str]) -> int:
        """Return the number of rows; ArrowInvalid for a wrong number of fields, or a value not of its declared type."""
        types = self._types(names) or {names[0]: pa.string()}
        rows: int = self.dialect.parse_exactly(data, names, types).num_rows
        return rows

    def reason(self, record: bytes, names: Sequence[str]) -> str:
        """Return why a record is bad."""
        if self._odd_row(record, names) is not None:
            return "wrong number of fields"
        name = self._odd_column(record, names)
        return (
            "cannot be parsed" if name is None else f"not a value of {self.schema.field(name).type} (column {name!r})"
        )

    def explain(self, item: Range, data: bytes, error: pa.ArrowInvalid) -> PenstockError:
        """Return BadRowsError for too few or too many fields, SchemaDriftError for a value not of its declared type."""
        begin, end = first_bad(data, self.record_ends(data), partial(self.count_rows, names=item.names))
        path, record = item.file.path, data[begin:end]
        place = f"{path}, line {line_at(self.storage, path, item.begin + begin)}"
        row = self._odd_row(record, item.names)
        if row is not None:
            return BadRowsError(
                f"{place}: {row.actual_columns} fields, expected {row.expected_columns}: {shorten_text(row.text)}",
                hint="A delimiter in a field needs quotes around the field; max_bad_records sets such records aside.",
                path=path,
            )
        name = self._odd_column(record, item.names)
        if name is None:
            return BadRowsError(f"{place}: cannot be parsed ({error})", path=path)
        value = self.dialect.parse(record, item.names, {name: pa.string()})[name][0].as_py()
        kind = self.schema.field(name).type
        return SchemaDriftError(
            f"{place}, column {name!r}: {shorten_text(value)} is not a value of {kind}, its declared type",
            hint=declaration_hint(value, kind)
            or "Declare the column as string, add the value to null_values, or repair the file.",
            path=path,
            column=name,
        )

    def _odd_row(self, record: bytes, names: Sequence[str]) -> pacsv.InvalidRow | None:
        """Return what pyarrow says of a record with too few or too many fields, or None."""
        seen: list[pacsv.InvalidRow] = []

        def keep(row: pacsv.InvalidRow) -> str:
            seen.append(row)
            return "skip"

        self.dialect.read(record, names, pacsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())), keep)
        return seen[0] if seen else None

    def _odd_column(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return the first column of a record whose value is not of its declared type."""
        return first_misfit(self._types(names), partial(self.dialect.parse_exactly, record, names))
