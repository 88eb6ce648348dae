"""JSON lines: one object in a line, bound by key; a key that a line lacks is null."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from penstock.errors import BadRowsError, PenstockError, SchemaDriftError, SchemaError
from penstock.fragments import Fragment
from penstock.schemas import unify
from penstock.sources.files import InputFile, Storage
from penstock.sources.inference import EXACT, TEXT, Guess, guess, join, settle
from penstock.sources.ranges import Range, TextFile, cut, first_bad, line_at, ranges, read_head, whole_blocks
from penstock.sources.text import Open, Run, Scan, Scanned, TextSource, check_types, range_bytes, shorten_text

SUFFIXES = tuple(kind + codec for kind in (".jsonl", ".ndjson", ".json") for codec in ("", ".gz", ".zst"))


@dataclass(frozen=True)
class JsonLinesSource(TextSource):
    """Pieces of files with one JSON object in a line; see :func:`plan_json_lines`."""

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
        return _typed(_read(data, types, "ignore"), types)

    def scan(self, item: Range, data: bytes, columns: Sequence[str] | None) -> Scanned:
        """Parse a range as the schema, or guess types when `columns` is given.

        Raises
        ------
        BadRowsError
            A line is not a JSON object.
        SchemaDriftError
            A value is not of its declared type, or of another kind than those before it.
        """
        types = {} if columns is not None else {field.name: field.type for field in self.schema}
        try:
            table, all_keys = self._declared(data, types) if types else (_read(data, None, "infer"), True)
        except pa.ArrowInvalid as error:
            raise self._explain(item, data, types, error) from error
        lines = [line for line in data.split(b"\n") if line.strip()]
        if len(lines) != table.num_rows:
            problem = f"{table.num_rows} objects in {len(lines)} lines after line {self._line(item, 0) - 1}"
            raise BadRowsError(f"{item.file.path}: {problem}, expected one in each", path=item.file.path)
        if types:
            seen = all_keys and all(table[name].null_count < table.num_rows for name in types)
            keys = table.column_names if seen else {key: None for line in lines for key in json.loads(line)}
            guesses = {name: Guess(types.get(name, pa.null())) for name in keys}
        else:
            guesses = {name: self._guess(item, table[name], name, lines) for name in table.column_names}
        return Scanned(item, item.begin + len(data), table.num_rows, guesses)

    def _declared(self, data: bytes, types: Mapping[str, pa.DataType]) -> tuple[pa.Table, bool]:
        """Parse as declared, if possible with the columns that are not, and return whether it was."""
        try:
            return _typed(_read(data, types, "infer"), types), True
        except pa.ArrowInvalid:  # a column that is not declared may hold values of several kinds
            return self.parse(data, (), types), False

    def _guess(self, item: Range, values: pa.ChunkedArray, name: str, lines: Sequence[bytes]) -> Guess:
        path = item.file.path
        if _holds(values.type, pa.types.is_struct):
            raise SchemaError(
                f"column {name!r} of {path} is an object, {values.type}, not a value or a list",
                hint="Give its members names of their own, or declare a schema without it.",
                path=path,
                column=name,
            )
        if _holds(values.type, pa.types.is_timestamp):  # its zone is lost; as text it is what stands there
            return Guess(pa.list_(pa.string())) if pa.types.is_list(values.type) else TEXT
        if pa.types.is_float64(values.type):
            self._check_digits(item, values, name, lines)
        return guess(values)

    def _check_digits(self, item: Range, values: pa.ChunkedArray, name: str, lines: Sequence[bytes]) -> None:
        large = pc.fill_null(pc.greater(pc.abs(values), float(EXACT)), False)
        for row in np.flatnonzero(large.to_numpy()):
            value = json.loads(lines[row])[name]
            if isinstance(value, int) and abs(value) > EXACT:
                raise SchemaDriftError(
                    f"{item.file.path}, column {name!r}: {value} is whole, and exact neither as int64 nor as float64",
                    hint="Declare the column as uint64 or float64, or write it as a string.",
                    path=item.file.path,
                    column=name,
                )

    def _line(self, item: Range, position: int) -> int:
        return line_at(self.storage, item.file.path, item.begin + position)

    def _explain(
        self, item: Range, data: bytes, types: Mapping[str, pa.DataType], error: pa.ArrowInvalid
    ) -> PenstockError:
        ends = [*(np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1).tolist(), len(data)]
        check = partial(self.parse, names=(), types=types) if types else partial(_read, types=None, others="infer")
        begin, end = first_bad(data, ends, check)
        path, record = item.file.path, data[begin:end]
        place = f"{path}, line {self._line(item, begin)}"
        try:
            found = _read(record, None, "infer")
        except pa.ArrowInvalid as cause:
            text = shorten_text(record.decode().strip())
            return BadRowsError(
                f"{place} is not a JSON object ({cause}): {text}", hint="Each line holds one whole object.", path=path
            )
        drift = self._not_as_declared(record, types) if types else _not_as_before(found, data[:begin])
        if drift is None:
            return BadRowsError(f"{place}: cannot be parsed ({error})", path=path)
        name, expected = drift
        value = shorten_text(json.dumps(json.loads(record).get(name)))
        return SchemaDriftError(
            f"{place}, column {name!r}: {value} is not a value of {expected}",
            hint="Repair the line, or declare a type that holds all values.",
            path=path,
            column=name,
        )

    def _not_as_declared(self, record: bytes, types: Mapping[str, pa.DataType]) -> tuple[str, str] | None:
        for name, kind in types.items():
            try:
                self.parse(record, (), {name: kind})
            except pa.ArrowInvalid:
                return name, f"{kind}, its declared type"
        return None


def _not_as_before(record: pa.Table, before: bytes) -> tuple[str, str] | None:
    earlier = _read(before, None, "infer")
    for name in set(record.column_names) & set(earlier.column_names):
        if join(guess(earlier[name]), guess(record[name])) is None:
            return name, f"{earlier[name].type}, the type of the lines before it"
    return None


def _holds(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    return test(kind) or (pa.types.is_list(kind) and _holds(kind.value_type, test))


def _read(data: bytes, types: Mapping[str, pa.DataType] | None, others: str) -> pa.Table:
    """Parse with pyarrow; `others` is what becomes of columns that are not in `types`: "ignore" or "infer"."""
    schema = None
    if types is not None:  # days are read as timestamps, there is no other way
        days = {name: pa.timestamp("s") if pa.types.is_date(kind) else kind for name, kind in types.items()}
        schema = pa.schema(list(days.items()))
    if not data or data.isspace():
        return (schema or pa.schema([])).empty_table()
    parsing = pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others)

    def read(stream: pa.BufferReader, block: int) -> pa.Table:
        return pajson.read_json(stream, pajson.ReadOptions(block_size=block), parsing)

    # a type that is guessed block by block is not always the one that all values together give
    return whole_blocks(read, data, block=2**20 if others == "ignore" else len(data))


def _typed(table: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    for name, kind in types.items():
        if pa.types.is_date(kind):
            days = table[name].cast(kind)
            if not days.cast(pa.timestamp("s")).equals(table[name]):
                raise pa.ArrowInvalid(f"column {name!r} has times of day")
            table = table.set_column(table.column_names.index(name), name, days)
    return table


def plan_json_lines(
    files: Sequence[InputFile],
    run: Run,
    storage: Storage,
    *,
    schema: pa.Schema | None = None,
    missing_columns: str = "error",
    extra_columns: str = "warn",
    fragment_bytes: int,
) -> tuple[JsonLinesSource, tuple[Fragment, ...]]:
    """Parse all lines once and return the source and its fragments.

    A column without a declared type gets the one that holds all its values in all files: bool, int64, float64 (whole
    and other numbers together), string, or a list of one of them; string when it has none. A string that looks like a
    date is a string. Values of different kinds in one column are an error, nested objects too.

    Parameters
    ----------
    schema : pyarrow.Schema or None
        Columns and types, instead of guessing them; it leads instead of the first file's keys.
    missing_columns : {"error", "null"}
        What to do with a column of which a file has no key in any line; in single lines a key may be absent.
    extra_columns : {"warn", "error"}
        What to do with a column that the first file lacks.
    fragment_bytes : int
        Memory that the rows of a fragment take, about; ranges of a quarter of it are parsed at once.

    Raises
    ------
    ConfigError, CorruptFileError, BadRowsError, SchemaDriftError
    """
    source = JsonLinesSource(schema or pa.schema([]), storage)
    check_types(source.schema, lambda kind: not _holds(kind, pa.types.is_struct), "a column of JSON lines")
    opened: list[TextFile] = list(run(Open(source, range_bytes(fragment_bytes)), files))
    scanned: list[Scanned] = list(run(Scan(source, () if schema is None else None), ranges(opened)))
    types = {name: settle(found.type) for name, (found, _) in _joined(scanned).items()}
    lead = [] if schema is None else [("the declared schema", schema)]
    united = unify(lead + _keys_of_files(scanned, types), missing=missing_columns, extra=extra_columns)
    known = pa.schema([field for field in united if not pa.types.is_null(field.type)])
    return source.planned(schema or known, scanned, fragment_bytes)


def _joined(scanned: Sequence[Scanned]) -> dict[str, tuple[Guess, str]]:
    types: dict[str, tuple[Guess, str]] = {}
    for item in scanned:
        for name, found in item.guesses.items():
            path = item.range.file.path
            known, known_path = types.get(name, (found, path))
            joined = join(known, found)
            if joined is None:
                raise SchemaDriftError(
                    f"column {name!r} is {known.type} in {known_path} but {found.type} in {path}",
                    hint="Repair the odd lines, or declare a type that holds all values.",
                    path=path,
                    column=name,
                )
            types[name] = (joined, known_path if joined.type == known.type else path)
    return types


def _keys_of_files(scanned: Sequence[Scanned], types: Mapping[str, pa.DataType]) -> list[tuple[str, pa.Schema]]:
    """Return the columns that each file has; a file without rows has no say."""
    found = []
    for file, items in groupby(scanned, lambda item: item.range.file):
        here = list(items)
        names = dict.fromkeys(name for item in here for name in (*item.guesses, *dict(file.keys)))
        if any(item.rows for item in here):
            found.append((file.path, pa.schema([(name, types.get(name, pa.null())) for name in names])))
    return found or [(scanned[0].range.file.path, pa.schema([]))]
