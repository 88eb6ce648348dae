"""Data named on a command line: the format found by its names, and text read in known types."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.core.locations import is_url, read_location
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.io.formats import FORMATS, Format, TextOptions, find_format
from penstock.io.sources.globs import match_local

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp")


def read(
    engine: Engine,
    data: Sequence[str],
    *,
    format: str | None = None,
    types: pa.Schema | None = None,
    allow_unmanifested: bool = False,
    max_bad_records: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Dataset:
    """Return a dataset of files.

    Parameters
    ----------
    engine : Engine
    data : sequence of str
        Files, globs, directories or URLs, all of one format.
    format : {"parquet", "csv", "jsonl", "files"} or the name of another format, optional
        Found by the suffixes unless given; ``files`` are whole ones, of any kind, and images unless it is given.
    types : pyarrow.Schema, optional
        For text files: the types of the columns that they have of these; the others are inferred. Without it all are.
    allow_unmanifested : bool
        Read directories that do not say that they are whole.
    max_bad_records : int
        How many records of text files may be set aside because they cannot be parsed; see `Engine.read_csv`.
    options : mapping, optional
        More options of the reader; a ``schema`` among them is that of all columns, and `types` are not asked for.

    Raises
    ------
    ConfigError
        The format is not known, or cannot be told; it is no text, and `max_bad_records` is not 0.
    InputError
        As the engine's readers say.
    """
    paths, kind = list(data), find_format(format_of(data) if format is None else format)
    given: dict[str, Any] = {} if kind.whole_files else {"allow_unmanifested": allow_unmanifested}
    if issubclass(kind.options, TextOptions):
        given["max_bad_records"] = max_bad_records
        given |= _delimiter(kind, paths)
    elif max_bad_records != 0 and any(_names(path) for path in paths):
        raise ConfigError(
            f"max_bad_records is {max_bad_records!r}, but {kind.name} has no records to parse",
            hint="Leave max_bad_records out: it is for csv and jsonl.",
        )
    given |= options or {}
    dataset = engine.read(kind.name, paths, **given)
    if not issubclass(kind.options, TextOptions) or "schema" in given:
        return dataset
    wanted = _retyped(dataset.schema, types)
    return dataset if wanted == dataset.schema else engine.read(kind.name, paths, schema=wanted, **given)


def format_of(data: Sequence[str]) -> str:
    """Return the one format of the files that `data` names, by their suffixes.

    Raises
    ------
    ConfigError
        The files have no known suffix, or those of several formats.

    Examples
    --------
    >>> format_of(["clicks/*.parquet"]), format_of(["day-1.csv.gz", "day-2.csv"])
    ('parquet', 'csv')
    """
    names = [name for path in data for name in _names(path)]
    found = sorted({kind for name in names if (kind := _kind(name)) is not None})
    if not names:
        return "parquet"  # nothing is there, which the reader says best
    if len(found) != 1:
        problem = (
            f"has files of several formats ({', '.join(found)})" if found else "has no suffix that tells its format"
        )
        raise ConfigError(
            f"{', '.join(data)} {problem}", hint=f"Pass --format {'|'.join(map(_spoken, FORMATS.values()))}."
        )
    return found[0]


def _names(path: str) -> list[str]:
    """Return the names to tell a format by: of the files that are there, or else what stands in the path itself."""
    path = read_location(path)
    if is_url(path) or _kind(path) is not None:
        return [path]
    matches = [path] if os.path.exists(path) else match_local(path)
    return [name for match in matches for name in (_files(match) if os.path.isdir(match) else [match])]


def _files(folder: str) -> list[str]:
    return [name for _, _, names in os.walk(folder) for name in names if not name.startswith((".", "_"))]


def _kind(name: str) -> str | None:
    suffixes = {_spoken(kind): IMAGES if kind.whole_files else kind.suffixes for kind in FORMATS.values()}
    return next((kind for kind, endings in suffixes.items() if name.lower().endswith(endings)), None)


def _spoken(kind: Format[Any]) -> str:
    """Return the shortest name of a format."""
    return min((kind.name, *kind.aliases), key=len)


def _delimiter(kind: Format[Any], paths: list[str]) -> dict[str, str]:
    """Return the delimiter of text whose names say that it is a tab."""
    tabs = ".tsv" in kind.suffixes and all(".tsv" in name for path in paths for name in _names(path))
    return {"delimiter": "\t"} if tabs else {}


def _retyped(found: pa.Schema, types: pa.Schema | None) -> pa.Schema:
    known = {} if types is None else {field.name: field.type for field in types}
    return pa.schema([(field.name, known.get(field.name, field.type)) for field in found])
