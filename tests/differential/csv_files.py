"""Ways to write a table as CSV: delimiters, quotes, line ends, marks, compression; quoted as it has to be, or more."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from arrow_values import exact
from hypothesis import strategies as st
from text_values import spell

MARK = "\ufeff"


@dataclass(frozen=True)
class CsvWriter:
    delimiter: str
    quote: str
    quoting: str
    header_end: str
    record_end: str
    mark: bool
    header: bool
    ended: bool
    blank_lines: bool
    null: str
    style: int
    compressed: bool

    @property
    def name(self) -> str:
        return "a.csv.gz" if self.compressed else "a.csv"

    def texts(self, table: pa.Table) -> dict[str, list[str]]:
        """Return what is written for each value."""
        return {
            name: [self.null if item is None else spell(column.type, item, self.style) for item in exact(column)]
            for name, column in zip(table.column_names, table.columns, strict=True)
        }

    def write(self, table: pa.Table, bad: Sequence[int] = ()) -> str:
        """Return the text of a file; before the records at the places `bad` stands one with a field too many."""
        header = self._record(table.column_names) + self.header_end if self.header else ""
        records = [self._record(row) for row in zip(*self.texts(table).values(), strict=True)]
        for place in sorted(bad, reverse=True):
            records.insert(place, self.delimiter.join("x" * (table.num_columns + 1)))
        end = self.record_end * 2 if self.blank_lines else self.record_end
        text = header + end.join(records) + (self.record_end if self.ended and records else "")
        return MARK + text if self.mark or text.startswith(MARK) else text

    def as_read(self, table: pa.Table) -> pa.Table:
        """Return a table in which texts that are written like null are null."""
        columns = [
            pa.array([None if item == self.null else item for item in column.to_pylist()], column.type)
            if pa.types.is_string(column.type)
            else column
            for column in table.columns
        ]
        return pa.table(columns, table.column_names)

    def encode(self, text: str) -> bytes:
        return gzip.compress(text.encode(), mtime=0) if self.compressed else text.encode()

    @property
    def quotes(self) -> bool:
        return self.quoting != "none"

    def can_write(self, table: pa.Table) -> bool:
        """Return whether a table needs no quotes, or there are any."""
        fields = [*table.column_names, *(text for texts in self.texts(table).values() for text in texts)]
        special = any(each in field for field in fields for each in (self.delimiter, "\r", "\n"))
        blank = table.num_columns == 1 and "" in fields
        return self.quotes or not (special or blank)

    def _record(self, fields: Sequence[str]) -> str:
        alone = len(fields) == 1
        return self.delimiter.join(self._field(field, alone) for field in fields)

    def _field(self, field: str, alone: bool) -> str:
        special = (self.delimiter, "\r", "\n") if self.quoting == "loose" else (self.delimiter, "\r", "\n", self.quote)
        if not self.quotes:
            return field
        needed = field.startswith(self.quote) or any(each in field for each in special) or (alone and not field)
        if needed or self.quoting == "all" or (self.quoting == "texts" and field != self.null):
            return self.quote + field.replace(self.quote, self.quote * 2) + self.quote
        return field

    def options(self, names: Sequence[str]) -> dict[str, Any]:
        """Return what a reader has to be told."""
        here = {} if self.header else {"header": False, "column_names": list(names)}
        return {
            "delimiter": self.delimiter,
            "quote": self.quote if self.quotes else None,
            "null_values": [self.null],
            **here,
        }


WRITERS = st.builds(
    CsvWriter,
    delimiter=st.sampled_from([",", ",", ";", "\t", "|"]),
    quote=st.sampled_from(['"', '"', "'"]),
    quoting=st.sampled_from(["minimal", "loose", "texts", "all", "none"]),
    header_end=st.sampled_from(["\n", "\r\n", "\r"]),
    record_end=st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    mark=st.booleans(),
    header=st.sampled_from([True, True, False]),
    ended=st.booleans(),
    blank_lines=st.sampled_from([False, False, True]),
    null=st.sampled_from(["", "", "NULL", "\\N"]),
    style=st.integers(0, 1),
    compressed=st.sampled_from([False, False, False, True]),
)
