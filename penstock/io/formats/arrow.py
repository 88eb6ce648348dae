"""Arrow IPC, read and written: planned from the record batches of all files, which the workers look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.io.formats.base import TableOptions
from penstock.io.formats.columnar import Columnar
from penstock.io.fragments import Piece
from penstock.io.sinks.part_writer import ArrowTableWriter
from penstock.io.sources.columnar import ArrowSource, Footer, narrowest, overlapping, read_once, reading_footer
from penstock.io.sources.files import InputFile, Storage

_ROWS = 2**16


@dataclass(frozen=True)
class ArrowWriter(ArrowTableWriter):
    """Writes record batches of 65,536 rows."""

    kind = "arrow"
    suffix = ".arrow"
    form = "Arrow IPC"
    compressions = ("uncompressed", "lz4", "zstd")

    @staticmethod
    def stored_type(kind: pa.DataType) -> pa.DataType:
        """Return the type itself."""
        return kind

    def write(self, table: pa.Table, sink: BinaryIO) -> None:
        """Write a table as a file."""
        options = pa.ipc.IpcWriteOptions(compression=None if self.compression == "uncompressed" else self.compression)
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=_ROWS)


_MAGIC = b"ARROW1\0\0"


@dataclass(frozen=True)
class _Batches:
    """The rows of the record batches of a file, and of a stream also where they begin."""

    schema: pa.Schema
    rows: tuple[int, ...]
    begins: tuple[int, ...] = ()


def read_footer(storage: Storage, file: InputFile) -> Footer:
    """Return the schema of a file and the rows of its record batches; a stream is read once as a whole.

    Raises
    ------
    CorruptFileError
        The file is empty, cut off, or not Arrow IPC.
    """
    forms, part = ("Arrow", "an Arrow stream"), "record batches cannot be counted"
    with reading_footer(storage, file, "an Arrow file", forms, part) as stream:
        batches = _scan(stream, file.size)
        return Footer(file, batches.schema, batches.rows)


def _scan(stream: Any, size: int) -> _Batches:
    is_file = stream.read(len(_MAGIC)) == _MAGIC
    stream.seek(0)
    return _scan_file(stream) if is_file else _scan_stream(stream, size)


def _scan_file(stream: Any) -> _Batches:
    schema = pa.ipc.open_file(stream).schema
    included = [narrowest(schema)] if len(schema) else []
    reader = pa.ipc.open_file(stream, options=pa.ipc.IpcReadOptions(included_fields=included))
    return _Batches(schema, tuple(reader.get_batch(place).num_rows for place in range(reader.num_record_batches)))


def _scan_stream(stream: Any, size: int) -> _Batches:
    reader = pa.ipc.open_stream(stream)
    rows, begins, place = [], [], stream.tell()
    for batch in reader:
        rows.append(batch.num_rows)
        begins.append(place)
        place = stream.tell()
    if stream.tell() == place:
        raise ValueError("it ends without the mark of its end")
    if stream.tell() != size:
        raise ValueError(f"{size - stream.tell()} bytes follow the end of the stream")
    return _Batches(reader.schema, tuple(rows), tuple(begins))


@dataclass(frozen=True)
class ArrowIpcSource(ArrowSource):
    """Pieces of Arrow files and streams; see `Arrow`."""

    def read_table(self, piece: Piece, columns: Sequence[str]) -> pa.Table:
        """Return columns of `piece`, in the types of the file."""
        with self.storage.open(piece.path) as stream:
            batches = read_once(self.storage, piece, lambda: _scan(stream, piece.size))
            wanted, skip = overlapping(batches.rows, piece)
            stream.seek(0)
            read = list(_read_batches(stream, batches, wanted, columns))
        schema = pa.schema([batches.schema.field(name) for name in columns])
        return pa.Table.from_batches(read, schema).slice(skip, piece.rows)


def _read_batches(
    stream: Any, batches: _Batches, wanted: Sequence[int], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    places = [batches.schema.get_field_index(name) for name in columns]
    options = pa.ipc.IpcReadOptions(included_fields=places)
    if not batches.begins:
        reader = pa.ipc.open_file(stream, options=options)
        yield from (reader.get_batch(place).select(list(columns)) for place in wanted)
    elif _has_dictionary(pa.struct(list(batches.schema))):
        # A dictionary stands anywhere before the batches that refer to it.
        for place, batch in enumerate(pa.ipc.open_stream(stream, options=options)):
            if place in wanted:
                yield batch.select(list(columns))
    else:
        for place in wanted:
            stream.seek(batches.begins[place])
            message = pa.ipc.read_message(stream)
            yield pa.ipc.read_record_batch(message, batches.schema).select(list(columns))


def _has_dictionary(kind: pa.DataType) -> bool:
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return pa.types.is_dictionary(kind) or any(map(_has_dictionary, inner))


class Arrow(Columnar[TableOptions]):
    """Record batches in files (Feather, version 2) or streams; see `Engine.read_arrow`."""

    name = "arrow"
    aliases = ("feather",)
    suffixes = (".arrow", ".arrows", ".feather", ".ipc")
    writer = ArrowWriter
    reader = ArrowIpcSource
    read_footer = staticmethod(read_footer)
