"""CSV, read and written: parsed once when planned, for row counts and for types that are not declared."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from penstock.core.errors import ConfigError, DataValueError
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import check_unique, unify
from penstock.io.formats.base import Format, TextOptions
from penstock.io.fragments import Fragment
from penstock.io.sinks.compression import SUFFIXES, check_text_compression, open_new
from penstock.io.sinks.part_writer import PartWriter, check_types
from penstock.io.sinks.strict_json import Json
from penstock.io.sinks.texts import TEXT, as_bytes, batches, concat, is_exact, plain_text
from penstock.io.sources.bad_records import check_free
from penstock.io.sources.csv_dialect import Dialect, can_hold
from penstock.io.sources.files import InputFile, Storage, corrupt
from penstock.io.sources.inference import Guess, listed_types, settle
from penstock.io.sources.quotes import RecordEnds
from penstock.io.sources.ranges import HEAD_BYTES, Range, read_head, unclosed
from penstock.io.sources.scanning import ParseTask, open_files, scan_ranges
from penstock.io.sources.text import TextSource, check_declared, guessed, shorten_text


@dataclass(frozen=True, kw_only=True)
class CsvOptions(TextOptions):
    """What `Engine.read_csv` takes."""

    header: bool = True
    column_names: Sequence[str] | None = None
    delimiter: str = ","
    quote: str | None = '"'
    null_values: Sequence[str] = ("",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.header and self.column_names is not None:
            raise ConfigError("column_names is for files without a header, but header is True")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns where there is no header; none to count them."""
        return tuple(self.column_names or (() if self.schema is None else self.schema.names))

    @property
    def dialect(self) -> Dialect:
        """How the text is written."""
        return Dialect(self.delimiter, self.quote, tuple(self.null_values))


@dataclass(frozen=True)
class CsvWriter(PartWriter):
    r"""Writes a header and a record in a line; fields that need it are in double quotes, and lines end at ``\n``.

    Parameters
    ----------
    delimiter : str
        One ASCII character.
    null_value : str
        What is written for null; no text may be spelled so. With the empty one, an empty string is refused, since it
        would be read as null: pass ``null_value="\\N"`` here, and ``null_values=["\\N"]`` to `Engine.read_csv`.
    compression : {"gzip", "zstd"}, optional
    """

    delimiter: str = ","
    null_value: str = ""
    compression: str | None = None

    kind = "csv"
    suffix = ".csv"

    def __post_init__(self) -> None:
        Dialect(self.delimiter)
        check_text_compression(self.compression)
        if re.search(self._special, self.null_value) or "\0" in self.null_value:
            raise ConfigError(f"null_value is {self.null_value!r}, expected a text that needs no quotes")
        check_types(self.schema, lambda kind: is_exact(kind) and can_hold(kind), "CSV")

    @property
    def ending(self) -> str:
        """How the names of the parts end."""
        return self.suffix + SUFFIXES[self.compression]

    @property
    def reading(self) -> dict[str, Json]:
        """The options of `Engine.read_csv` that read what was written."""
        return {"delimiter": self.delimiter, "null_values": [self.null_value]}

    @property
    def _special(self) -> str:
        return f'["\r\n\ufeff{re.escape(self.delimiter)}]'

    def __call__(self, frame: nw.DataFrame, path: str) -> None:
        """Write one part."""
        names = self._quoted(pa.array(self.schema.names, TEXT), alone=False).to_pylist()
        with open_new(path, self.compression) as sink:
            sink.write((self.delimiter.join(names) + "\n").encode())
            for batch in batches(frame, self.schema):
                sink.write(self._records(batch))

    def _records(self, batch: pa.RecordBatch) -> memoryview:
        alone = batch.num_columns == 1
        fields = [self._field(values, name, alone) for name, values in zip(batch.schema.names, batch, strict=True)]
        return as_bytes(concat(pc.binary_join_element_wise(*fields, pa.scalar(self.delimiter, TEXT)), "\n"))

    def _field(self, values: pa.Array, name: str, alone: bool) -> pa.Array:
        text = plain_text(values, name)
        self._check(text, name, pa.types.is_string(values.type))
        # of one column, a line that is empty would be no record
        null = '""' if alone and not self.null_value else self.null_value
        return pc.fill_null(self._quoted(text, alone) if pa.types.is_string(values.type) else text, null)

    def _check(self, text: pa.Array, name: str, is_string: bool) -> None:
        if pc.any(pc.equal(text, self.null_value)).as_py():
            raise DataValueError(
                f"column {name!r} has the text {self.null_value!r}, which would be read as null",
                hint=r'Pass another null_value, "\\N" say, and read with null_values=["\\N"].',
                column=name,
                predicate=nw.col(name) == self.null_value if is_string else None,
            )
        if is_string and pc.any(pc.match_substring(text, "\0")).as_py():
            raise DataValueError(
                f"column {name!r} has a NUL character, which CSV cannot hold",
                hint="Write Parquet.",
                column=name,
                predicate=nw.col(name).str.contains("\0", literal=True),
            )

    def _quoted(self, text: pa.Array, alone: bool) -> pa.Array:
        needed = pc.match_substring_regex(text, self._special)
        needed = pc.or_(needed, pc.equal(text, "")) if alone else needed
        if not pc.any(needed).as_py():
            return text
        return pc.if_else(needed, concat('"', pc.replace_substring(text, '"', '""'), '"'), text)


class Csv(Format[CsvOptions]):
    """Text with a record in a line, bound by the names of each file's header; see `Engine.read_csv`."""

    name = "csv"
    suffixes = (".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst")
    options = CsvOptions
    writer = CsvWriter

    def plan(
        self, files: Sequence[InputFile], scheduler: Scheduler, storage: Storage, options: CsvOptions
    ) -> tuple[CsvSource, tuple[Fragment, ...]]:
        r"""Read all headers, then parse all rows once, and return the source and its fragments.

        The text is UTF-8; lines end at ``\n``, ``\r\n`` or a ``\r`` alone, and blank lines are skipped. A column
        without a declared type gets the narrowest of bool, int64, float64, date32, timestamp and string that holds all
        its values in all files; when it has none, the one that the manifests of all files list, or string. Numbers with
        a leading zero or more digits than their type holds are strings. ``NA``, ``null`` and ``None`` are strings like
        others unless they are in `null_values`. Times with a zone are for a declared type with one, those without for a
        type without. Ranges of a quarter of a fragment are parsed at once.

        Raises
        ------
        ConfigError, CorruptFileError, BadRowsError, SchemaDriftError
        """
        schema = options.schema
        source = CsvSource(
            schema or pa.schema([]), storage, dialect=options.dialect, header=options.header, names=options.names
        )
        check_declared(source.schema, can_hold, "CSV")
        items = open_files(scheduler, source, files, options.fragment_bytes)
        columns = _bind({item.file: item.names for item in items}, options)
        check_free(columns, options.max_bad_records)
        task = ParseTask(source, columns if schema is None else None, options.max_bad_records)
        scanned = scan_ranges(scheduler, task, items)
        if schema is None:
            listed, guesses = listed_types(files), guessed(scanned, columns)
            schema = pa.schema([(name, settle(guess.type, listed.get(name))) for name, guess in guesses.items()])
        return source.planned(schema, scanned, options.fragment_bytes)


def _bind(headers: Mapping[InputFile, tuple[str, ...]], options: CsvOptions) -> tuple[str, ...]:
    """Return the columns of the dataset; types are not known yet, so that only names are compared."""
    schemas = [
        (file.path, pa.schema(dict.fromkeys((*names, *dict(file.keys)), pa.null()))) for file, names in headers.items()
    ]
    columns = unify(options.lead + schemas, missing=options.missing_columns, extra=options.extra_columns).names
    stored = {name for names in headers.values() for name in names}
    return tuple(name for name in columns if name in stored)


@dataclass(frozen=True)
class CsvSource(TextSource):
    """Pieces of CSV files; see `Csv`.

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
        return self.dialect.record_ends().feed(data).tolist()

    def count_rows(self, data: bytes, names: Sequence[str]) -> int:
        """Return the number of rows; ArrowInvalid for a wrong number of fields, or a value not of its declared type."""
        return self.parse_exactly(data, names, self.declared_types(names) or {names[0]: pa.string()}).num_rows

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
