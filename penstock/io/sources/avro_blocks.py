"""The container of Avro: a header with the schema, then blocks of rows, each followed by the mark of the file."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.extras import importing

_HEADER: dict[str, Any] = {
    "type": "record",
    "name": "org.apache.avro.file.Header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
    ],
}
_MAGIC, _SYNC_BYTES = b"Obj\x01", 16
_PLAIN = ("null", "deflate", "snappy")
"""Codecs that Polars reads itself."""


@dataclass(frozen=True)
class Header:
    """What the start of a file says."""

    schema: Any
    codec: str
    sync: bytes

    def encode(self, schema: Any, codec: str) -> bytes:
        """Return the header of a file with another schema or codec, and the same mark after its blocks."""
        meta = {"avro.codec": codec.encode(), "avro.schema": json.dumps(schema).encode()}
        sink = io.BytesIO()
        _fastavro().schemaless_writer(sink, _HEADER, {"magic": _MAGIC, "meta": meta, "sync": self.sync})
        return sink.getvalue()


@dataclass(frozen=True)
class Blocks:
    """The rows of the blocks of a file, and the bytes at which they begin, and the last one ends."""

    header: Header
    rows: tuple[int, ...]
    bounds: tuple[int, ...]


def _fastavro() -> Any:
    with importing("fastavro", "avro"):
        import fastavro
    return fastavro


def read_header(stream: Any) -> Header:
    """Return the header of a file, which is then at its first block.

    Raises
    ------
    EOFError, KeyError, ValueError
        It has none.
    """
    header: Mapping[str, Any] = _fastavro().schemaless_reader(stream, _HEADER, None)
    meta = header["meta"]
    if header["magic"] != _MAGIC:
        raise ValueError(f"it starts with {header['magic']!r}")
    return Header(json.loads(meta["avro.schema"]), meta.get("avro.codec", b"null").decode(), header["sync"])


def scan_blocks(stream: Any, size: int) -> Blocks:
    """Return where the blocks of a file are, without a look at their rows.

    Raises
    ------
    EOFError, KeyError, ValueError
        It is cut off inside of a block, or not in the form of Avro.
    """
    header = read_header(stream)
    rows, bounds = [], [stream.tell()]
    while bounds[-1] < size:
        count, length = (int(_fastavro().schemaless_reader(stream, "long", None)) for _ in range(2))
        end = stream.tell() + length
        if count < 0 or length < 0 or end + _SYNC_BYTES > size:
            raise ValueError(f"the block at byte {bounds[-1]} is not whole")
        stream.seek(end)
        if stream.read(_SYNC_BYTES) != header.sync:
            raise ValueError(f"the block that ends at byte {end} is not followed by the mark of the file")
        rows.append(count)
        bounds.append(end + _SYNC_BYTES)
    return Blocks(header, tuple(rows), tuple(bounds))


def as_file(header: Header, schema: Any, blocks: bytes) -> bytes:
    """Return blocks as a file that Polars reads, with a schema that is encoded in the same way.

    Codecs that Polars does not have are undone.
    """
    if not blocks:  # Polars takes a file without a block for a broken one
        return header.encode(schema, "null") + b"\0\0" + header.sync
    if header.codec in _PLAIN:
        return header.encode(schema, header.codec) + blocks
    source = io.BytesIO(header.encode(header.schema, header.codec) + blocks)
    parts = [header.encode(schema, "null")]
    for block in _fastavro().block_reader(source):
        data = block.bytes_.getvalue()
        parts += [_long(block.num_records), _long(len(data)), data, header.sync]
    return b"".join(parts)


def _long(value: int) -> bytes:
    sink = io.BytesIO()
    _fastavro().schemaless_writer(sink, "long", value)
    return sink.getvalue()
