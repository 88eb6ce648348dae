"""ORC, read and written: planned from all footers, which the workers read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa
from pyarrow import orc

from penstock.core.errors import DataValueError
from penstock.io.formats.base import TableOptions
from penstock.io.formats.columnar import Columnar
from penstock.io.fragments import Piece
from penstock.io.sinks.part_writer import ArrowTableWriter, stored_inside
from penstock.io.sources.columnar import ArrowSource, Footer, narrowest, overlapping, read_once, reading_footer
from penstock.io.sources.files import InputFile, Storage

_WIDER = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.float16(): pa.float32(),
}  # fmt: skip
_PLAIN = (
    pa.types.is_boolean, pa.types.is_signed_integer, pa.types.is_float32, pa.types.is_float64, pa.types.is_string,
    pa.types.is_binary, pa.types.is_date32, pa.types.is_decimal128,
)  # fmt: skip


def stored_type(kind: pa.DataType) -> pa.DataType | None:
    """Return as what ORC stores a type: times are in nanoseconds, those with a zone in UTC; numbers have a sign.

    Examples
    --------
    >>> stored_type(pa.timestamp("us", "Europe/Berlin")), stored_type(pa.uint64())
    (TimestampType(timestamp[ns, tz=UTC]), None)
    """
    return stored_inside(kind, _stored)


def _stored(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ns", kind.tz and "UTC")
    return kind if any(test(kind) for test in _PLAIN) else _WIDER.get(kind)


def _check_times(values: pa.Array, name: str) -> None:
    """Raise DataValueError for a time before 1970 with a fraction of a second: readers in Java fail on pyarrow's."""
    kind = values.type
    if pa.types.is_nested(kind):
        inner = values.flatten() if pa.types.is_struct(kind) else [values.values]
        for each in inner:
            _check_times(each, name)
    elif pa.types.is_timestamp(kind):
        numbers = values.drop_null().view(pa.int64()).to_numpy()
        if ((numbers < 0) & (numbers % 10**9 != 0)).any():
            raise DataValueError(
                f"column {name!r} has a time before 1970 with a fraction of a second, which readers in Java fail on"
                " as pyarrow writes it",
                hint="Write Parquet, or round such times to seconds.",
                column=name,
            )


@dataclass(frozen=True)
class OrcWriter(ArrowTableWriter):
    """Writes ORC."""

    kind = "orc"
    suffix = ".orc"
    form = "ORC"
    compressions = ("uncompressed", "zlib", "snappy", "lz4", "zstd")
    stored_type = staticmethod(stored_type)

    def write(self, table: pa.Table, sink: BinaryIO) -> None:
        """Write a table in stripes of 64 MiB."""
        for name in table.column_names:
            for chunk in table[name].chunks:
                _check_times(chunk, name)
        orc.write_table(table, sink, compression=self.compression)


def read_footer(storage: Storage, file: InputFile) -> Footer:
    """Return the footer of a file.

    Raises
    ------
    CorruptFileError
        The file is empty, cut off, or not ORC.
    """
    with reading_footer(storage, file, "an ORC file", ("ORC",), "footer unreadable") as stream:
        opened = orc.ORCFile(stream)
        return Footer(file, opened.schema, _stripes(opened))


def _stripes(file: orc.ORCFile) -> tuple[int, ...]:
    """Return the rows of each stripe; pyarrow does not say how many, but one narrow column does."""
    if file.nstripes == 1:
        return (file.nrows,)
    narrow = narrowest(file.schema)
    counts = tuple(file.read_stripe(place, columns=[narrow]).num_rows for place in range(file.nstripes))
    if sum(counts) != file.nrows:
        raise ValueError(f"stripes have {sum(counts)} rows, the footer says {file.nrows}")
    return counts


@dataclass(frozen=True)
class OrcSource(ArrowSource):
    """Pieces of ORC files; see `Orc`."""

    def read_table(self, piece: Piece, columns: Sequence[str]) -> pa.Table:
        """Return columns of `piece`, in the types of the file."""
        with self.storage.open(piece.path) as stream:
            file = orc.ORCFile(stream)
            stripes, skip = overlapping(read_once(self.storage, piece, lambda: _stripes(file)), piece)
            places = [file.schema.get_field_index(name) for name in columns]  # a name with a dot would be a path
            batches = [file.read_stripe(stripe, columns=places) for stripe in stripes]
            schema = pa.schema([file.schema.field(place) for place in sorted(places)])
        table = pa.Table.from_batches(batches) if batches else schema.empty_table()
        return table.slice(skip, piece.rows).select(list(columns))


class Orc(Columnar[TableOptions]):
    """Columns in stripes, planned from their footers; see `Engine.read_orc`."""

    name = "orc"
    suffixes = (".orc",)
    writer = OrcWriter
    reader = OrcSource
    read_footer = staticmethod(read_footer)
    stored_type = staticmethod(stored_type)
