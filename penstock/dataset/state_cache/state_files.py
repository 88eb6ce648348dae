"""A state as the bytes of one file: JSON, and its Arrow tables behind it, under a hash of both."""

from __future__ import annotations

import hashlib
import io
import json
import struct
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from penstock.core.errors import ArtifactIntegrityError

_MAGIC = b"PENSTOCK-STATE-2\n"
_HASH = hashlib.sha256().digest_size
_LENGTH = struct.Struct("<Q")


def encode(value: Any, key: str) -> bytes:
    """Return the bytes of plain numbers, texts, lists, mappings, and Arrow tables, for one key.

    Raises
    ------
    TypeError
        There is something else in it.

    Examples
    --------
    >>> decode(encode({"nulls": [1, float("inf")], "table": pa.table({"x": ["a"]})}, "ab12"), "ab12")["nulls"]
    [1, inf]
    """
    tables: list[pa.Table] = []
    document = json.dumps(_plain(value, tables)).encode()
    parts = [document, *(_table_bytes(table) for table in tables)]
    body = b"".join(_LENGTH.pack(len(part)) + part for part in parts)
    return _head(body, key) + body


def decode(data: bytes, key: str) -> Any:
    """Return the value that `encode` made the bytes of, with lists for tuples.

    Raises
    ------
    ArtifactIntegrityError
        They are cut off, were changed, or are none of `encode` for this key.
    """
    head, body = data[: len(_MAGIC) + _HASH], data[len(_MAGIC) + _HASH :]
    if head != _head(body, key):
        raise ArtifactIntegrityError("it is not the state that was stored under this name, or was cut off")
    try:
        document, *tables = _parts(body)
        return _value(json.loads(document), [pa.ipc.open_stream(table).read_all() for table in tables])
    except (struct.error, pa.ArrowException, ValueError, TypeError, LookupError, RecursionError) as error:
        raise ArtifactIntegrityError(f"it is no state, whatever its hash says: {error}") from error


def _head(body: bytes, key: str) -> bytes:
    return _MAGIC + hashlib.sha256(key.encode() + b"\n" + body).digest()


def _parts(body: bytes) -> list[bytes]:
    parts, place = [], 0
    while place < len(body):
        (length,) = _LENGTH.unpack_from(body, place)
        parts.append(body[place + _LENGTH.size : place + _LENGTH.size + length])
        place += _LENGTH.size + length
    return parts


def as_lists(value: Any) -> Any:
    """Return a state with lists for tuples, as `decode` gives it, so that states merge whether or not they were kept.

    Examples
    --------
    >>> as_lists({"bounds": (0, (1, 2))})
    {'bounds': [0, [1, 2]]}
    """
    if isinstance(value, Mapping):
        return {key: as_lists(each) for key, each in value.items()}
    return [as_lists(each) for each in value] if isinstance(value, list | tuple) else value


def _plain(value: Any, tables: list[pa.Table]) -> Any:
    """Return a value as JSON, which marks mappings and tables; the tables are put into a list."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, pa.Table):
        tables.append(value)
        return {"table": len(tables) - 1}
    if isinstance(value, Mapping):
        return {"pairs": [[_plain(key, tables), _plain(each, tables)] for key, each in value.items()]}
    if isinstance(value, list | tuple):
        return [_plain(each, tables) for each in value]
    raise TypeError(f"a state has {value!r:.100}, which is no plain value")


def _value(document: Any, tables: list[pa.Table]) -> Any:
    if isinstance(document, list):
        return [_value(each, tables) for each in document]
    if not isinstance(document, dict):
        return document
    if "table" in document:
        return tables[document["table"]]
    return {_value(key, tables): _value(each, tables) for key, each in document["pairs"]}


def _table_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    return sink.getvalue()
