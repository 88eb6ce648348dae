"""Partition columns: their values are names of folders, ``day=2024-01-01/``, and not in the files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, CorruptFileError, DataValueError
from penstock.core.names import hidden_name
from penstock.core.schemas import require
from penstock.io.sinks.manifest import Manifest
from penstock.io.sinks.strict_json import Json
from penstock.io.sinks.texts import plain_text

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value of a folder whose rows have null, as Hive, Spark and pyarrow have it."""

_LONGEST = 255
_PLACE = hidden_name("place")
_ESCAPED = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")  # Hive's and Spark's
_SIMPLE = {
    str(kind): kind
    for kind in (
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
        pa.string(), pa.date32(), *map(pa.timestamp, ("s", "ms", "us", "ns")),
    )
}  # fmt: skip
_WITH_ZONE = re.compile(r"timestamp\[(s|ms|us|ns), tz=(.+)\]")


class PartitionColumn(NamedTuple):
    """A column that folders name: its type, and where it stands among all columns."""

    name: str
    type: pa.DataType
    position: int


@dataclass(frozen=True)
class Partitioning:
    """The columns by which the rows of an output lie in folders, the outermost first.

    Examples
    --------
    >>> schema = pa.schema({"day": pa.date32(), "x": pa.int64(), "city": pa.string()})
    >>> partitioning = Partitioning.of(schema, ["day", "city"])
    >>> keys = pa.table({"day": pa.array([19723], pa.int32()).cast(pa.date32()), "city": ["a/b"]})
    >>> partitioning.folders(keys), partitioning.stored(schema).names
    (['day=2024-01-01/city=a%2Fb'], ['x'])
    """

    columns: tuple[PartitionColumn, ...]

    @classmethod
    def of(cls, schema: pa.Schema, names: Sequence[str]) -> Partitioning:
        """Return the partitioning of rows of a schema by some of its columns.

        Raises
        ------
        SchemaError
            A column is not in the schema.
        ConfigError
            A column is named twice or of a type whose values are no names, or no column is left for the files.
        """
        require(schema, names)
        for place, name in enumerate(names):
            kind = schema.field(name).type
            if name in names[:place]:
                raise ConfigError(f"partition_by names column {name!r} twice", column=name)
            if str(kind) not in _SIMPLE and _WITH_ZONE.fullmatch(str(kind)) is None:
                raise ConfigError(
                    f"column {name!r} is {kind}, which partition_by does not take: its values make no names of folders",
                    hint="Partition by integers, text, dates, times or booleans; put others into bins first.",
                    column=name,
                )
        if len(names) == len(schema):
            raise ConfigError("partition_by names all columns, so that none is left for the files")
        positions = {name: schema.get_field_index(name) for name in names}
        return cls(tuple(PartitionColumn(name, schema.field(name).type, positions[name]) for name in names))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def stored(self, schema: pa.Schema) -> pa.Schema:
        """Return what is left of a schema for the files."""
        return pa.schema([field for field in schema if field.name not in self.names])

    def folders(self, keys: pa.Table) -> list[str]:
        """Return the folder of each row of a table of the columns.

        Raises
        ------
        DataValueError
            A text is too long for the name of a folder, or a time is not of the years 1 to 9999.
        """
        levels = [_names(column.name, keys[column.name].cast(column.type)) for column in self.columns]
        return ["/".join(level) for level in zip(*levels, strict=True)]

    def ranks(self, folders: Iterable[str]) -> dict[str, int]:
        """Return folders with their places in the order of their values, null first."""
        distinct = list(dict.fromkeys(folders))
        values = {
            column.name: pa.array([read_name(folder.split("/")[level])[1] for folder in distinct]).cast(column.type)
            for level, column in enumerate(self.columns)
        }
        numbered = frames.from_arrow(pa.table(values)).with_row_index(_PLACE)
        order = numbered.sort(*self.names)[_PLACE].to_list()
        return {distinct[place]: rank for rank, place in enumerate(order)}

    @property
    def null_folder(self) -> str:
        """The folder of rows that have null in all of the columns."""
        return "/".join(f"{escape(name)}={NULL}" for name in self.names)


def describe_columns(schema: pa.Schema, partitioning: Partitioning | None) -> dict[str, Json]:
    """Return what a manifest says of the columns of an output."""
    columns: Json = [{"name": field.name, "type": str(field.type)} for field in schema]
    return {"columns": columns} if partitioning is None else {"columns": columns, "partition_by": partitioning.names}


def listed_columns(manifest: Manifest) -> tuple[tuple[str, str], ...]:
    """Return the columns that a manifest lists, each with the name of its type; none where it lists none."""
    columns: Any = manifest.metadata.get("columns")
    try:
        return tuple((str(column["name"]), str(column["type"])) for column in columns or ())
    except (TypeError, KeyError):
        return ()


def partitioning_of(manifest: Manifest, path: str) -> Partitioning | None:
    """Return how an output is partitioned, None where it is not, or does not say so.

    Raises
    ------
    CorruptFileError
        The manifest names a column that is none, or one of a type that makes no folders.
    """
    names: Any = manifest.metadata.get("partition_by")
    if names is None:
        return None
    try:
        columns: Any = manifest.metadata["columns"]
        places = {column["name"]: (place, column["type"]) for place, column in enumerate(columns)}
        found = [PartitionColumn(name, _decode(places[name][1]), places[name][0]) for name in names]
    except (TypeError, KeyError) as error:
        problem = f"{path}: the manifest says of no column what partition_by, {names!r}, needs"
        raise CorruptFileError(problem, hint="Write the output again.", path=path) from error
    return Partitioning(tuple(found))


def escape(text: str) -> str:
    """Return text as part of the name of a folder, as Hive and Spark spell it.

    Examples
    --------
    >>> escape("a/b=100%"), escape("São Paulo"), escape(NULL)
    ('a%2Fb%3D100%25', 'São Paulo', '%5F_HIVE_DEFAULT_PARTITION__')
    """
    escaped = _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)
    return f"%5F{escaped[1:]}" if text == NULL else escaped


def read_name(folder: str) -> tuple[str, str | None]:
    """Return the column and the value that a folder stands for.

    Examples
    --------
    >>> read_name("city=S%C3%A3o"), read_name(f"city={NULL}"), read_name("city=")
    (('city', 'São'), ('city', None), ('city', ''))
    """
    name, _, value = folder.partition("=")
    return unquote(name), None if value == NULL else unquote(value)


def _names(column: str, values: pa.ChunkedArray) -> list[str]:
    """Return the name of the folder for each value of a column."""
    texts = plain_text(values.combine_chunks(), column).to_pylist()
    names = [f"{escape(column)}={NULL if text is None else escape(text)}" for text in texts]
    too_long = next((text for text, name in zip(texts, names, strict=True) if len(name.encode()) > _LONGEST), None)
    if too_long is not None:
        raise DataValueError(
            f"column {column!r} has a text of {len(too_long)} characters, {too_long[:40]!r}..., which is too"
            f" long for the name of a folder ({_LONGEST} bytes)",
            hint="Partition by something shorter: a prefix, or a hash.",
            column=column,
        )
    return names


def _decode(text: str) -> pa.DataType:
    """Return the type that a manifest spells so; KeyError for one that makes no folders."""
    zoned = _WITH_ZONE.fullmatch(text)
    return _SIMPLE[text] if zoned is None else pa.timestamp(zoned[1], zoned[2])
