"""JSON lines: one object in a line, bound by key; a key that a line lacks is null."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from penstock.core.errors import BadRowsError, PenstockError, SchemaDriftError, SchemaError
from penstock.io.sources import json_objects
from penstock.io.sources.files import InputFile
from penstock.io.sources.inference import Guess
from penstock.io.sources.json_shape import NOT_ONE, SEVERAL, check_rows, decode, examine, is_joined, shown_value
from penstock.io.sources.ranges import Range, TextFile, cut, first_bad, line_at, read_head
from penstock.io.sources.text import Scanned, TextSource, declaration_hint, shorten_text


@dataclass(frozen=True)
class JsonLinesSource(TextSource):
    """Pieces of files with one JSON object in a line; see `penstock.io.formats.json_lines`."""

    filler: ClassVar[bytes] = b" "

    def open(self, file: InputFile, step: int) -> TextFile:
        """Return the ranges; names are known only once the lines are parsed.

        Raises
        ------
        CorruptFileError
            The file is empty or not text.
        """
        _, begin = read_head(self.storage, file, "a file of JSON lines")
        return TextFile(file, (), cut(self.storage, file, begin, step, None))

    def parse(self, data: bytes, names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        """Return the columns of `types`; ArrowInvalid when a value is not of its type."""
        return json_objects.parse(data, types)

    @property
    def _types(self) -> dict[str, pa.DataType]:
        """The declared types; none where they are inferred."""
        return {column.name: column.type for column in self.schema}

    def try_scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> Scanned:
        """Parse a range as the schema, or guess the types of all columns when `columns` is not None.

        Raises
        ------
        pyarrow.ArrowInvalid
            A line is not one JSON object; a value is not of its type, or of another kind than those before it.
        SchemaError, SchemaDriftError
            A column of inferred type is an object, or has a number that no type holds.
        """
        types, lines = self._types, _check_shape(data)
        table, complete = _declared(data, types) if types else (json_objects.infer(data), True)
        check_rows(table, lines)
        if types:
            guesses = {name: Guess(types.get(name, pa.null())) for name in _keys(table, types, complete, data)}
        else:
            guesses = {name: _guess(item.file.path, table[name], name, data) for name in table.column_names}
        return Scanned(item, item.begin + len(data), table.num_rows, guesses)

    def check_end(self, item: Range, data: bytes) -> None:
        """Do nothing: the last line ends with its file."""

    def record_ends(self, data: bytes) -> list[int]:
        """Return where the lines of a text end."""
        ends = [newline.end() for newline in re.finditer(b"\n", data)]
        return ends if ends and ends[-1] == len(data) else [*ends, len(data)]

    def count_rows(self, data: bytes, names: Sequence[str]) -> int:
        """Return the number of rows; ArrowInvalid for a line that is no object, or a value not of its declared type."""
        types, lines = self._types, _check_shape(data)
        table = json_objects.parse_exactly(data, types) if types else json_objects.check_syntax(data)
        check_rows(table, lines)
        return lines

    def reason(self, record: bytes, names: Sequence[str]) -> str:
        """Return why a line is bad."""
        fault = examine(record)[1]
        if fault is not None:
            return fault.reason
        if is_joined(record):
            return SEVERAL
        try:
            check_rows(json_objects.check_syntax(record), 1)
        except pa.ArrowInvalid:
            return NOT_ONE
        name = json_objects.misfit(record, self._types)
        return "cannot be parsed" if name is None else f"not a value of {self._types[name]} (column {name!r})"

    def explain(self, item: Range, data: bytes, error: pa.ArrowInvalid) -> PenstockError:
        """Return BadRowsError for a line that is not one JSON object, SchemaDriftError for a value of another type."""
        fault = examine(data)[1]
        if fault is not None:
            return self._bad_line(item, data, *fault)
        types = self._types

        def check(text: bytes) -> None:
            check_rows(json_objects.parse_exactly(text, types) if types else json_objects.infer(text), examine(text)[0])

        begin, end = first_bad(data, self.record_ends(data), check)
        path, record = item.file.path, data[begin:end]
        if is_joined(record):
            return self._bad_line(item, data, begin, end, SEVERAL)
        try:
            check_rows(json_objects.infer(record), 1)
        except pa.ArrowInvalid as cause:
            return self._bad_line(item, data, begin, end, f"{NOT_ONE} ({cause})")
        place = f"{path}, line {line_at(self.storage, path, item.begin + begin)}"
        changed = self._changed(data[:begin], record)
        if changed is None:
            return BadRowsError(f"{place}: cannot be parsed ({error})", path=path)
        name, expected = changed
        value = shown_value(record, name)
        return SchemaDriftError(
            f"{place}, column {name!r}: {shorten_text(value)} is not a value of {expected}",
            hint=declaration_hint(value.strip('"'), types.get(name, pa.null()))
            or "Repair the line, or declare a type that holds all values.",
            path=path,
            column=name,
        )

    def _bad_line(self, item: Range, data: bytes, begin: int, end: int, reason: str) -> BadRowsError:
        path, line = item.file.path, line_at(self.storage, item.file.path, item.begin + begin)
        text = shorten_text(data[begin:end].decode().strip())
        return BadRowsError(
            f"{path}, line {line} is {reason}: {text}",
            hint="Each line holds one whole object; max_bad_records sets others aside.",
            path=path,
        )

    def _changed(self, before: bytes, record: bytes) -> tuple[str, str] | None:
        """Return the column whose value in `record` is not what it should be, and what that is."""
        if not self._types:
            return json_objects.change(before, record)
        name = json_objects.misfit(record, self._types)
        return None if name is None else (name, f"{self._types[name]}, its declared type")


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
