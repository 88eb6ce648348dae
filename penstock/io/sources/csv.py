"""CSV: bound by the names of each file's header, never cast or shifted in silence."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.csv as pacsv

from penstock.core.schemas import check_unique
from penstock.io.sources.csv_dialect import Dialect
from penstock.io.sources.files import InputFile, corrupt
from penstock.io.sources.inference import Guess
from penstock.io.sources.quotes import RecordEnds
from penstock.io.sources.ranges import HEAD_BYTES, Range, read_head, unclosed
from penstock.io.sources.text import TextSource, shorten_text


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

    filler = b"\n"
    repair = "Declare the column as string, add the value to null_values, or repair the file."
    form = "A delimiter in a field needs quotes around the field; max_bad_records sets such records aside."

    def read_header(self, file: InputFile) -> tuple[tuple[str, ...], int, RecordEnds | None]:
        """Return the names of the columns, where the records after the header begin, and what finds their ends.

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
        ends = None if self.dialect.quote is None else self.dialect.record_ends()
        return names, begin + (length if self.header else 0), ends

    def _first_record(self, file: InputFile, head: bytes) -> tuple[list[str], int]:
        blank = len(head) - len(head.lstrip(b"\r\n"))
        ends = self.find_ends(head[blank:])
        if (self.header and blank == len(head)) or (not ends and len(head) >= HEAD_BYTES):
            raise corrupt(file.path, f"no {'header' if self.header else 'record'} in the first {len(head)} bytes")
        end = blank + ends[0] if ends else len(head)
        try:
            return self.dialect.fields(head[blank:end].decode()), end
        except (UnicodeDecodeError, csv.Error) as error:
            raise corrupt(file.path, f"the first record cannot be read ({error})") from error

    def parse(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Return the columns of `types` from text of a file with the columns `names`."""
        return self.dialect.parse(data, names, types)

    def parse_exactly(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Parse, and refuse the numbers that pyarrow would change."""
        return self.dialect.parse_exactly(data, names, types)

    def try_scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> tuple[int, Mapping[str, Guess]]:
        """Parse a range as the schema, or guess the types of `columns`; ArrowInvalid where that cannot be."""
        if columns is None:
            return self.parse_exactly(data, item.names, self.declared_types(item.names)).num_rows, {}
        return self.dialect.guess(data, item.names, [name for name in columns if name in item.names])

    def check_end(self, item: Range, data: bytes) -> None:
        """Raise CorruptFileError when a quote never closes."""
        if item.last and self.dialect.quote is not None:
            ends = self.dialect.record_ends()
            ends.feed(data)
            if ends.open:
                raise unclosed(self.storage, item.file.path, item.begin + ends.opened)

    def find_ends(self, data: bytes) -> list[int]:
        """Return where the records of a text end, but for one at its end that has no line end."""
        ends: list[int] = self.dialect.record_ends().feed(data).tolist()
        return ends

    def count_rows(self, data: bytes, names: Sequence[str]) -> int:
        """Return the number of rows; ArrowInvalid for a wrong number of fields, or a value not of its declared type."""
        rows: int = self.parse_exactly(data, names, self.declared_types(names) or {names[0]: pa.string()}).num_rows
        return rows

    def find_fault(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return that a record has too few or too many fields."""
        return None if self._odd_row(record, names) is None else "wrong number of fields"

    def describe_fault(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return how many fields a record has that has too few or too many, with the record."""
        row = self._odd_row(record, names)
        if row is None:
            return None
        return f": {row.actual_columns} fields, expected {row.expected_columns}: {shorten_text(row.text)}"

    def read_value(self, record: bytes, names: Sequence[str], column: str) -> tuple[str, str]:
        """Return a value of a record."""
        text = self.parse(record, names, {column: pa.string()})[column][0].as_py()
        return text, text

    def _odd_row(self, record: bytes, names: Sequence[str]) -> pacsv.InvalidRow | None:
        """Return what pyarrow says of a record with too few or too many fields, or None."""
        rows: list[pacsv.InvalidRow] = []

        def skip(row: pacsv.InvalidRow) -> str:
            rows.append(row)
            return "skip"

        self.dialect.read(record, names, pacsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())), skip)
        return rows[0] if rows else None
