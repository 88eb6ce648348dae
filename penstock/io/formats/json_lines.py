"""JSON lines: one object in a line, parsed once when planned, for row counts, keys and types not declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import pyarrow as pa

from penstock.core.errors import SchemaDriftError
from penstock.core.scheduler import Scheduler
from penstock.core.schemas import unify
from penstock.io.formats.base import Format, TextOptions
from penstock.io.fragments import Fragment
from penstock.io.sinks.json_lines import JsonLinesWriter
from penstock.io.sources import json_objects
from penstock.io.sources.bad_records import check_free
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.inference import Guess, join, listed_types, settle
from penstock.io.sources.json_lines import JsonLinesSource
from penstock.io.sources.scanning import ParseTask, open_files, scan_ranges
from penstock.io.sources.text import Scanned, check_declared


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
