"""Parts in Avro, which Polars encodes; what it has no logical type for are numbers that the header gives a meaning."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.io.sinks.arrow_table import ArrowTableWriter, stored_inside
from penstock.io.sources.avro_blocks import read_header

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
