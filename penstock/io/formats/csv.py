"""CSV: parsed once when planned, for row counts and for types that are not declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import unify
from penstock.io.formats.base import Format, TextOptions
from penstock.io.fragments import Fragment
from penstock.io.sinks.csv import CsvWriter
from penstock.io.sources.bad_records import check_free
from penstock.io.sources.csv import CsvSource
from penstock.io.sources.csv_dialect import Dialect, can_hold
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.inference import listed_types, settle
from penstock.io.sources.scanning import ParseTask, open_files, scan_ranges
from penstock.io.sources.text import check_declared, guessed


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
