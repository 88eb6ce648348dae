"""JSON lines, read and written: parsed once when planned, for row counts, keys and types that are not declared."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import DataValueError, SchemaDriftError, SchemaError
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import unify
from penstock.io.formats.base import Format, TextOptions
from penstock.io.fragments import Fragment
from penstock.io.sinks.compression import SUFFIXES, check_text_compression, open_new
from penstock.io.sinks.part_writer import PartWriter, check_types
from penstock.io.sinks.texts import TEXT, as_bytes, batches, concat, is_exact, plain_text
from penstock.io.sources import json_objects
from penstock.io.sources.bad_records import check_free
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.inference import Guess, join, listed_types, settle
from penstock.io.sources.json_objects import can_hold, holds
from penstock.io.sources.json_shape import NOT_ONE, SEVERAL, check_rows, decode, examine, is_joined, shown_value
from penstock.io.sources.quotes import RecordEnds
from penstock.io.sources.ranges import Range, first_bad, read_head
from penstock.io.sources.scanning import ParseTask, open_files, scan_ranges
from penstock.io.sources.text import Scanned, TextSource, check_declared, shorten_text

_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(32)}
_TEXTS = (pa.types.is_string, pa.types.is_date, pa.types.is_timestamp)


@dataclass(frozen=True)
class JsonLinesWriter(PartWriter):
    """Writes an object in a line, with every key, null where there is no value; times are strings.

    Parameters
    ----------
    compression : {"gzip", "zstd"}, optional
    """

    compression: str | None = None

    kind = "json_lines"
    suffix = ".jsonl"

    def __post_init__(self) -> None:
        check_text_compression(self.compression)
        check_types(self.schema, lambda kind: can_hold(kind) and holds(kind, is_exact), "JSON lines")

    @property
    def ending(self) -> str:
        """How the names of the parts end."""
        return self.suffix + SUFFIXES[self.compression]

    def __call__(self, frame: nw.DataFrame, path: str) -> None:
        """Write one part; of no rows an empty line, since a file of no bytes is taken for one that was cut off."""
        with open_new(path, self.compression) as sink:
            for batch in batches(frame, self.schema):
                sink.write(_lines(batch))
            if not len(frame):
                sink.write(b"\n")


def _lines(batch: pa.RecordBatch) -> memoryview:
    parts: list[object] = []
    for name, values in zip(batch.schema.names, batch, strict=True):
        key = json.dumps(name, ensure_ascii=False) + ":"
        parts += ["," + key if parts else "{" + key, pc.fill_null(_value(values, name), "null")]
    return as_bytes(concat(*parts, "}\n"))


def _value(values: pa.Array, name: str) -> pa.Array:
    if pa.types.is_list(values.type):
        return _list(values, name)
    if pa.types.is_floating(values.type) and pc.any(pc.is_inf(values)).as_py():
        raise DataValueError(
            f"column {name!r} has an infinite number, which JSON cannot say",
            hint="Write Parquet or CSV, or leave such rows out.",
            column=name,
        )
    text = plain_text(values, name)
    return concat('"', _escaped(text), '"') if any(test(values.type) for test in _TEXTS) else text


def _escaped(text: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring_regex(text, r'["\\\x00-\x1f]')).as_py():
        return text
    for mark in ("\\", '"'):
        text = pc.replace_substring(text, mark, "\\" + mark)
    for mark, escape in _CONTROLS.items():
        text = pc.replace_substring(text, mark, escape)
    return text


def _list(values: pa.Array, name: str) -> pa.Array:
    items = pc.fill_null(_value(values.flatten(), name), "null").cast(pa.string())
    lengths = pc.fill_null(pc.list_value_length(values), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    lists = pa.ListArray.from_arrays(pa.concat_arrays([pa.array([0], pa.int32()), ends]), items)
    text = concat("[", pc.binary_join(lists, ",").cast(TEXT), "]")
    return pc.if_else(values.is_valid(), text, pa.scalar(None, TEXT))


class JsonLines(Format[TextOptions]):
    """Text with one JSON object in a line, bound by key; see `Engine.read_json_lines`."""

    name = "json_lines"
    aliases = ("jsonl",)
    suffixes = tuple(kind + codec for kind in (".jsonl", ".ndjson", ".json") for codec in ("", ".gz", ".zst"))
    options = TextOptions
    writer = JsonLinesWriter

    def plan(
        self, files: Sequence[InputFile], scheduler: Scheduler, storage: Storage, options: TextOptions
    ) -> tuple[JsonLinesSource, tuple[Fragment, ...]]:
        """Parse all lines once and return the source and its fragments.

        A line holds one whole object, nested no more than 63 deep; a key that it lacks is null. A column without a
        declared type gets the one that holds all its values in all files: bool, int64, float64 (whole and other numbers
        together), string, or a list of one of them; when it has none, the one that the manifests of all files list, or
        string. A string that looks like a date is a string. Values of different kinds in one column are an error,
        nested objects too. Where types are declared, days and times are strings as CSV has them, those with a zone for
        a type with one, those without for a type without. Columns are missing of which a file has no key in any line.
        Ranges of a quarter of a fragment are parsed at once.

        Raises
        ------
        ConfigError, CorruptFileError, BadRowsError, SchemaDriftError
        """
        schema = options.schema
        source = JsonLinesSource(schema or pa.schema([]), storage)
        check_declared(source.schema, json_objects.can_hold, "a column of JSON lines")
        items = open_files(scheduler, source, files, options.fragment_bytes)
        task = ParseTask(source, () if schema is None else None, options.max_bad_records)
        scanned = scan_ranges(scheduler, task, items)
        types = {name: guess.type for name, (guess, _) in _joined(scanned).items()}
        listed = listed_types(files)
        settled = {name: settle(pa.null(), dtype) for name, dtype in listed.items()}
        types = types if schema is not None else {name: settle(kind, listed.get(name)) for name, kind in types.items()}
        keys = options.lead + _keys_of_files(scanned, types) or [(files[0].path, pa.schema(settled))]
        united = unify(keys, missing=options.missing_columns, extra=options.extra_columns)
        check_free(united.names, options.max_bad_records)
        known = pa.schema([field for field in united if not pa.types.is_null(field.type)])
        return source.planned(schema or known, scanned, options.fragment_bytes)


def _joined(scanned: Sequence[Scanned]) -> dict[str, tuple[Guess, str]]:
    types: dict[str, tuple[Guess, str]] = {}
    for item in scanned:
        for name, guess in item.guesses.items():
            path = item.range.file.path
            known, known_path = types.get(name, (guess, path))
            joined = join(known, guess)
            if joined is None:
                raise SchemaDriftError(
                    f"column {name!r} is {known.type} in {known_path} but {guess.type} in {path}",
                    hint="Repair the odd lines, or declare a type that holds all values.",
                    path=path,
                    column=name,
                )
            types[name] = (joined, known_path if joined.type == known.type else path)
    return types


def _keys_of_files(scanned: Sequence[Scanned], types: Mapping[str, pa.DataType]) -> list[tuple[str, pa.Schema]]:
    """Return the columns that each file has; a file without rows has no say."""
    schemas = []
    for file, items in groupby(scanned, lambda item: item.range.file):
        here = list(items)
        names = dict.fromkeys(name for item in here for name in (*item.guesses, *dict(file.keys)))
        if any(item.rows for item in here):
            schemas.append((file.path, pa.schema([(name, types.get(name, pa.null())) for name in names])))
    return schemas


@dataclass(frozen=True)
class JsonLinesSource(TextSource):
    """Pieces of files with one JSON object in a line; see `JsonLines`."""

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
