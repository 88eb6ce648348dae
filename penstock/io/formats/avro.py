"""Avro, read and written: planned from the heads of the blocks of all files, which the workers look at."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.schemas import canonical
from penstock.io.formats.base import TableOptions
from penstock.io.formats.columnar import Columnar
from penstock.io.fragments import Piece
from penstock.io.sinks.part_writer import ArrowTableWriter, stored_inside
from penstock.io.sources.avro_blocks import Blocks, as_file, read_header, scan_blocks
from penstock.io.sources.columnar import ArrowSource, Footer, overlapping, read_once, reading_footer
from penstock.io.sources.files import InputFile, Storage

_ROWS = 2**16
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = (
    pa.types.is_boolean, pa.types.is_int32, pa.types.is_int64, pa.types.is_float32, pa.types.is_float64,
    pa.types.is_string, pa.types.is_binary, pa.types.is_date32, pa.types.is_decimal128,
)  # fmt: skip
_WIDER = {
    pa.int8(): pa.int32(), pa.int16(): pa.int32(), pa.uint8(): pa.int32(), pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(), pa.float16(): pa.float32(), pa.timestamp("s"): pa.timestamp("ms"),
}  # fmt: skip
_WRITES_LISTS = int(pl.__version__.partition(".")[0]) >= 2
"""Before 2.0 Polars writes what follows an empty list in its place."""
_UNITS = {"ms": "millis", "us": "micros", "ns": "nanos"}


def stored_type(kind: pa.DataType) -> pa.DataType | None:
    """Return as what Avro stores a type: whole numbers of 32 and 64 bits, times with a zone in UTC.

    Inside of lists and structs it has no times with a zone, none of a day, and none in nanoseconds.

    Examples
    --------
    >>> stored_type(pa.int8()), stored_type(pa.uint64())
    (DataType(int32), None)
    """
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ms" if kind.unit == "s" else kind.unit, kind.tz and "UTC")
    if kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us")):
        return pa.time64("ns")
    return None if pa.types.is_map(kind) or _loses_lists(kind) else stored_inside(kind, _stored)


def _loses_lists(kind: pa.DataType) -> bool:
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return not _WRITES_LISTS and (pa.types.is_list(kind) or any(map(_loses_lists, inner)))


def _stored(kind: pa.DataType) -> pa.DataType | None:
    naive = kind in (pa.timestamp("ms"), pa.timestamp("us"))
    return kind if naive or any(test(kind) for test in _PLAIN) else _WIDER.get(kind)


def _logical(kind: pa.DataType) -> str | None:
    """Return the logical type of a column that is written as whole numbers."""
    if pa.types.is_timestamp(kind):
        return f"{'' if kind.tz else 'local-'}timestamp-{_UNITS[kind.unit]}"
    return "time-micros" if pa.types.is_time(kind) else None


@dataclass(frozen=True)
class AvroWriter(ArrowTableWriter):
    """Writes blocks of 65,536 rows; each column is a union of null and its type."""

    compression: str = "deflate"

    kind = "avro"
    suffix = ".avro"
    form = "Avro"
    compressions = ("deflate", "snappy", "uncompressed")
    stored_type = staticmethod(stored_type)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.schema.names:
            if _NAME.fullmatch(name) is None:
                raise ConfigError(
                    f"column {name!r} has a name that Avro does not allow",
                    hint="Names are of letters, digits and _, and do not begin with a digit: rename the column.",
                    column=name,
                )

    def write(self, table: pa.Table, sink: BinaryIO) -> None:
        """Write a table of stored types."""
        logical = {field.name: name for field in table.schema if (name := _logical(field.type)) is not None}
        plain = pa.table([_numbers(table[name]) for name in table.column_names], table.column_names)
        for place in range(0, max(1, table.num_rows), _ROWS):
            encoded = io.BytesIO()
            pl.from_arrow(plain.slice(place, _ROWS)).write_avro(encoded, self.compression, name="row")  # type: ignore[arg-type,union-attr]
            encoded.seek(0)
            header = read_header(encoded)
            if not place:
                sink.write(header.encode(_with_logical(header.schema, logical), header.codec))
            sink.write(encoded.read())


def _numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times as the whole numbers that Avro has for them."""
    if pa.types.is_time(values.type):
        values = values.cast(pa.time64("us"))
    return values.cast(pa.int64()) if _logical(values.type) is not None else values


def _with_logical(schema: Any, logical: dict[str, str]) -> Any:
    fields = [
        {**field, "type": ["null", {"type": "long", "logicalType": logical[field["name"]]}]}
        if field["name"] in logical
        else field
        for field in schema["fields"]
    ]
    return {**schema, "fields": fields}


def read_footer(storage: Storage, file: InputFile) -> Footer:
    """Return the schema of a file and the rows of its blocks.

    Raises
    ------
    CorruptFileError
        The file is empty, cut off inside of a block, or not Avro.
    SchemaError
        A column is of a type that is not read.
    MissingExtraError
        fastavro is not installed.
    """
    with reading_footer(storage, file, "an Avro file", ("Avro",), "blocks cannot be counted") as stream:
        blocks = scan_blocks(stream, file.size)
        return Footer(file, _decode(blocks, b"", None, file.path).schema, blocks.rows)


def _decode(blocks: Blocks, data: bytes, columns: Sequence[str] | None, path: str) -> pa.Table:
    schema, conversions = decodable(blocks.header.schema, path)
    frame = pl.read_avro(
        io.BytesIO(as_file(blocks.header, schema, data)), columns=None if columns is None else [*columns]
    )
    table = frame.to_arrow()
    for name in (name for name in table.column_names if name in conversions):
        table = table.set_column(table.schema.get_field_index(name), name, conversions[name](table[name]))
    return table.cast(canonical(table.schema))


@dataclass(frozen=True)
class AvroSource(ArrowSource):
    """Pieces of Avro files; see `Avro`."""

    def read_table(self, piece: Piece, columns: Sequence[str]) -> pa.Table:
        """Return columns of `piece`, in the types of the file."""
        with self.storage.open(piece.path) as stream:
            blocks = read_once(self.storage, piece, lambda: scan_blocks(stream, piece.size))
            wanted, skip = overlapping(blocks.rows, piece)
            begin, end = (blocks.bounds[wanted[0]], blocks.bounds[wanted[-1] + 1]) if wanted else (0, 0)
            stream.seek(begin)
            data: bytes = stream.read(end - begin)
        return _decode(blocks, data, columns, piece.path).slice(skip, piece.rows).select(list(columns))


Convert = Callable[[pa.ChunkedArray], pa.ChunkedArray]

_PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_NANOSECONDS = {"timestamp-nanos": pa.timestamp("ns", "UTC"), "local-timestamp-nanos": pa.timestamp("ns")}
_DIGITS = 38


class _RefusedError(Exception):
    """What a type is that is not read."""


def decodable(schema: Any, path: str) -> tuple[Any, dict[str, Convert]]:
    """Return a schema that Polars decodes the rows of another with, and what is to be done to some columns after that.

    Values of an enum are decoded as their numbers, and times in nanoseconds as integers; a name that was defined before
    is replaced by what it stands for.

    Raises
    ------
    SchemaError
        The rows are no records, or a column is of a type that is not read: a map, a duration, a union of other types
        than null and one more.
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "record":
        raise SchemaError(f"the rows of {path} are no records, but {schema!r:.60}", path=path)
    types = _Types(schema.get("namespace", ""))
    fields, conversions = [], {}
    for field in schema["fields"]:
        name = field["name"]
        try:
            fields.append({"name": name, "type": types.column(field["type"])})
        except _RefusedError as error:
            raise SchemaError(
                f"column {name!r} of {path} is {error}, which is not read from Avro",
                hint="Read the file with fastavro, and pass a table to engine.from_arrow.",
                path=path,
                column=name,
            ) from None
        if types.convert is not None:
            conversions[name] = types.convert
    return {"type": "record", "name": "row", "fields": fields}, conversions


class _Types:
    """Makes types decodable; knows those that have a name, and what the last column is to be converted by."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._named: dict[str, Any] = {}
        self._open: list[str] = []
        self.convert: Convert | None = None

    def column(self, kind: Any) -> Any:
        """Return as what a column is decoded, and set `convert`."""
        self.convert = None
        return self._type(kind, top=True)

    def _type(self, kind: Any, *, top: bool = False) -> Any:
        if isinstance(kind, list):
            return self._union(kind, top)
        if isinstance(kind, str):
            return kind if kind in _PRIMITIVE else self._reference(kind, top)
        if not isinstance(kind["type"], str):  # a type in braces of its own
            return self._type(kind["type"], top=top)
        if "name" in kind:
            namespace = kind.get("namespace", self._namespace)
            self._named[kind["name"]] = self._named[f"{namespace}.{kind['name']}"] = kind
        return self._named_or_nested(kind, top)

    def _named_or_nested(self, kind: Mapping[str, Any], top: bool) -> Any:
        form, logical = kind["type"], kind.get("logicalType")
        if form == "enum" and top:
            self.convert = partial(_symbols, symbols=tuple(kind["symbols"]))
            return "int"
        if logical in _NANOSECONDS and top:
            self.convert = partial(pc.cast, target_type=_NANOSECONDS[logical])
            return "long"
        if form in ("enum", "map") or logical in ("duration", *_NANOSECONDS):
            raise _RefusedError(f"{logical or form}{'' if top else ' inside of another type'}")
        if logical == "decimal" and kind["precision"] > _DIGITS:
            raise _RefusedError(f"a decimal of {kind['precision']} digits")
        if form == "record":
            return self._record(kind)
        return {**kind, "items": self._type(kind["items"])} if form == "array" else dict(kind)

    def _record(self, kind: Mapping[str, Any]) -> Any:
        if kind["name"] in self._open:
            raise _RefusedError(f"a record {kind['name']!r} that holds itself")
        self._open.append(kind["name"])
        fields = [{"name": field["name"], "type": self._type(field["type"])} for field in kind["fields"]]
        self._open.pop()
        return {"type": "record", "name": kind["name"], "fields": fields}

    def _union(self, kinds: list[Any], top: bool) -> Any:
        if len(kinds) != 2 or "null" not in kinds:
            raise _RefusedError(f"a union of {len(kinds)} type(s) ({kinds!r:.60})")
        return [each if each == "null" else self._type(each, top=top) for each in kinds]

    def _reference(self, name: str, top: bool) -> Any:
        if name in self._open:
            raise _RefusedError(f"a record {name!r} that holds itself")
        if name not in self._named:
            raise _RefusedError(f"{name!r}, a name without a definition")
        return self._type(self._named[name], top=top)


def _symbols(values: pa.ChunkedArray, symbols: tuple[str, ...]) -> pa.ChunkedArray:
    codes = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    texts = pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), pa.array(symbols, pa.string()))
    return pa.chunked_array([texts.cast(pa.string())])


class Avro(Columnar[TableOptions]):
    """Rows in blocks, planned from their heads; see `Engine.read_avro`."""

    name = "avro"
    suffixes = (".avro",)
    writer = AvroWriter
    reader = AvroSource
    read_footer = staticmethod(read_footer)
    stored_type = staticmethod(stored_type)
