"""JSON lines: one object in a line, bound by key; a key that a line lacks is null."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.core.errors import SchemaDriftError, SchemaError
from penstock.io.sources import json_objects
from penstock.io.sources.files import InputFile
from penstock.io.sources.inference import Guess
from penstock.io.sources.json_shape import NOT_ONE, SEVERAL, check_rows, decode, examine, is_joined, shown_value
from penstock.io.sources.quotes import RecordEnds
from penstock.io.sources.ranges import Range, first_bad, read_head
from penstock.io.sources.text import TextSource, shorten_text


@dataclass(frozen=True)
class JsonLinesSource(TextSource):
    """Pieces of files with one JSON object in a line; see `penstock.io.formats.json_lines`."""

    filler = b" "
    repair = "Repair the line, or declare a type that holds all values."
    form = "Each line holds one whole object; max_bad_records sets others aside."

    def read_header(self, file: InputFile) -> tuple[tuple[str, ...], int, RecordEnds | None]:
        """Return where the lines begin; names are known only once they are parsed."""
        return (), read_head(self.storage, file, "a file of JSON lines")[1], None

    def parse(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Return the columns of `types`; ArrowInvalid when a value is not of its type."""
        return json_objects.parse(data, types)

    def parse_exactly(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Parse, and refuse a whole number that a floating type does not hold exactly."""
        return json_objects.parse_exactly(data, types)

    def try_scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> tuple[int, Mapping[str, Guess]]:
        """Parse a range as the schema, or guess the types of all columns when `columns` is not None.

        Raises
        ------
        pyarrow.ArrowInvalid
            A line is not one JSON object; a value is not of its type, or of another kind than those before it.
        SchemaError, SchemaDriftError
            A column of inferred type is an object, or has a number that no type holds.
        """
        types, lines = self.declared_types(()), _check_shape(data)
        table, complete = _declared(data, types) if types else (json_objects.infer(data), True)
        check_rows(table, lines)
        if types:
            return lines, {name: Guess(types.get(name, pa.null())) for name in _keys(table, types, complete, data)}
        return lines, {name: _guess(item.file.path, table[name], name, data) for name in table.column_names}

    def count_rows(self, data: bytes, names: Sequence[str]) -> int:
        """Return the number of rows; ArrowInvalid for a line that is no object, or a value not of its declared type."""
        types, lines = self.declared_types(()), _check_shape(data)
        check_rows(json_objects.parse_exactly(data, types) if types else json_objects.check_syntax(data), lines)
        return lines

    def find_fault(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return what a line is that is not one object."""
        return _fault(record, json_objects.check_syntax)[0]

    def locate_bad(self, item: Range, data: bytes) -> tuple[int, int]:
        """Return the bounds of the first line because of which a range cannot be parsed."""
        types, fault = self.declared_types(()), examine(data)[1]
        if fault is not None:
            return fault.begin, fault.end

        def check(text: bytes) -> None:
            check_rows(json_objects.parse_exactly(text, types) if types else json_objects.infer(text), examine(text)[0])

        return first_bad(data, self.record_ends(data), check)

    def describe_fault(self, record: bytes, names: Sequence[str]) -> str | None:
        """Return what a line is that is not one object, with the line."""
        fault, cause = _fault(record, json_objects.infer)
        if fault is None:
            return None
        return f" is {fault}{cause and f' ({cause})'}: {shorten_text(record.decode().strip())}"

    def find_drift(self, before: bytes, record: bytes, names: Sequence[str]) -> tuple[str, str] | None:
        """Return the column whose value is not of its declared type, or of another kind than in the lines before."""
        return super().find_drift(before, record, names) if self.schema.names else json_objects.change(before, record)

    def read_value(self, record: bytes, names: Sequence[str], column: str) -> tuple[str, str]:
        """Return a value of a line, as JSON and without its quotes."""
        text = shown_value(record, column)
        return text, text.strip('"')


def _fault(record: bytes, parse: Callable[[bytes], pa.Table]) -> tuple[str | None, str]:
    """Return what a line is that is not one object, and what its parser says of it."""
    fault = examine(record)[1]
    if fault is not None:
        return fault.reason, ""
    if is_joined(record):
        return SEVERAL, ""
    try:
        check_rows(parse(record), 1)
    except pa.ArrowInvalid as error:
        return NOT_ONE, str(error)
    return None, ""


def _check_shape(data: bytes) -> int:
    """Return the number of lines that are not blank; ArrowInvalid, as of a parser, for one that none should see."""
    lines, fault = examine(data)
    if fault is not None:
        raise pa.ArrowInvalid(fault.reason)
    return lines


def _declared(data: bytes, types: Mapping[str, pa.DataType]) -> tuple[pa.Table, bool]:
    """Parse as declared, if possible with the columns that are not, and return whether it was."""
    try:
        return json_objects.parse_exactly(data, types, others="infer"), True
    except pa.ArrowInvalid:  # a column that is not declared may hold values of several kinds
        return json_objects.parse_exactly(data, types), False


def _keys(table: pa.Table, types: Mapping[str, pa.DataType], complete: bool, data: bytes) -> list[str]:
    """Return the keys that the lines have; a declared column that is all null may be none of them."""
    if complete and all(table[name].null_count < table.num_rows for name in types):
        return list(table.column_names)
    return list(dict.fromkeys(key for row in decode(data) for key in row))


def _guess(path: str, values: pa.ChunkedArray, name: str, data: bytes) -> Guess:
    if json_objects.holds(values.type, pa.types.is_struct):
        raise SchemaError(
            f"column {name!r} of {path} is an object, {values.type}, not a value or a list",
            hint="Give its members names of their own, or declare a schema without it.",
            path=path,
            column=name,
        )
    lossy = json_objects.lossy_number(values, name, data)
    if lossy is not None:
        raise SchemaDriftError(
            f"{path}, column {name!r}: {shorten_text(str(lossy))} is whole, and exact neither as int64 nor as float64",
            hint="Declare the column as uint64 or float64, or write it as a string.",
            path=path,
            column=name,
        )
    return json_objects.guess_plain(values)
