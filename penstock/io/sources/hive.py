"""Hive keys: columns whose value in every row of a file is part of a folder's name, such as ``year=2024``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import SchemaDriftError
from penstock.io.fragments import Piece
from penstock.io.sinks.partitions import read_name
from penstock.io.sources.files import InputFile


def hive_keys(name: str) -> tuple[tuple[str, str | None], ...]:
    """Return the keys and values that the folders of a path stand for.

    Raises
    ------
    SchemaDriftError
        A key has two values.

    Examples
    --------
    >>> hive_keys("year=2024/city=S%C3%A3o/part.parquet")
    (('year', '2024'), ('city', 'São'))
    """
    keys: dict[str, str | None] = {}
    for key, text in (read_name(part) for part in PurePosixPath(name).parts[:-1] if "=" in part):
        if keys.setdefault(key, text) != text:
            raise SchemaDriftError(
                f"column {key!r} is {keys[key]!r} and {text!r} in the folder names of {name}",
                hint="Rename one of the folders; a key has one value for a file.",
                path=name,
                column=key,
            )
    return tuple(keys.items())


def with_keys(schema: pa.Schema, files: Sequence[InputFile]) -> pa.Schema:
    """Return `schema` with the Hive keys of the files that it lacks.

    Those of an output with a manifest have their type and their place among the columns from it; others come last, and
    are int64 when all values are whole, else string.

    Raises
    ------
    SchemaDriftError
        A folder name does not have the type that `schema` gives the key.

    Examples
    --------
    >>> file = InputFile("a/month=02/p.parquet", 1, 0.0, keys=(("month", "02"),))
    >>> with_keys(pa.schema({"x": pa.int64()}), [file]).field("month").type
    DataType(string)
    """
    values: dict[str, dict[str | None, str]] = {}
    for file in files:
        for key, value in file.keys:
            values.setdefault(key, {}).setdefault(value, file.path)
    fields = _with_listed({field.name: field.type for field in schema}, files)
    for key, texts in values.items():
        fields.setdefault(key, pa.int64() if all(map(_is_int64, texts)) else pa.string())
        for value, path in texts.items():
            _check_key(key, value, fields[key], path)
    return pa.schema(list(fields.items()))


def _with_listed(fields: dict[str, pa.DataType], files: Sequence[InputFile]) -> dict[str, pa.DataType]:
    """Return columns with those that manifests say that folders name, each in its place."""
    listed = {column.name: column for file in files for column in file.key_columns if column.name not in fields}
    for column in sorted(listed.values(), key=lambda column: column.position):
        items = list(fields.items())
        items.insert(column.position, (column.name, column.type))
        fields = dict(items)
    return fields


def _is_int64(text: str | None) -> bool:
    """Return whether nothing is lost in reading `text` as a number: not for ``007``, which may name a thing."""
    try:
        return text is None or (str(int(text)) == text and -(2**63) <= int(text) < 2**63)
    except ValueError:
        return False


def _check_key(key: str, value: str | None, kind: pa.DataType, path: str) -> None:
    try:
        pa.scalar(value).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        problem = f"column {key!r} is {value!r} in the folder name, expected {kind}"
        raise SchemaDriftError(f"{problem}, in {path}", path=path, column=key) from error


def check_stored(values: pa.ChunkedArray, key: str, piece: Piece) -> None:
    """Raise SchemaDriftError unless every stored value of a key is the one that its folder's name says."""
    text = dict(piece.keys)[key]
    expected = pa.scalar(text).cast(values.type)
    same = pc.is_null(values) if text is None else pc.fill_null(pc.equal(values, expected), False)
    row = pc.index(same, False).as_py()
    if row >= 0:
        raise SchemaDriftError(
            f"column {key!r} is {values[row].as_py()!r} in row {piece.first + row} of {piece.path}, but {text!r} in the"
            " folder name",
            hint="Move the file, or declare a schema without the column: then the folder names it.",
            path=piece.path,
            column=key,
        )
