"""Arrow schemas as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from penstock.core.errors import ArtifactError, UnsupportedStepError
from penstock.io.sinks import Json

_SIMPLE: Mapping[str, pa.DataType] = {
    str(kind): kind
    for kind in (
        pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32(), pa.date64(),
        *(pa.time32(unit) for unit in ("s", "ms")), *(pa.time64(unit) for unit in ("us", "ns")),
        *(make(unit) for make in (pa.timestamp, pa.duration) for unit in ("s", "ms", "us", "ns")),
    )
}  # fmt: skip
_DECIMALS: Mapping[int, Callable[[int, int], pa.DataType]] = {
    32: pa.decimal32, 64: pa.decimal64, 128: pa.decimal128, 256: pa.decimal256,
}  # fmt: skip


def encode_schema(schema: pa.Schema) -> Json:
    """Return a schema as JSON; UnsupportedStepError for a type that is not stored.

    Examples
    --------
    >>> encode_schema(pa.schema({"x": pa.float64(), "v": pa.list_(pa.string())}))
    [{'name': 'x', 'type': 'double'}, {'name': 'v', 'type': {'list': 'string'}}]
    """
    return [{"name": field.name, "type": _encode(field.type, field.name)} for field in schema]


def decode_schema(document: Any, path: str) -> pa.Schema:
    """Return the schema in a parsed document; ArtifactError when there is none."""
    try:
        return pa.schema([(_text(column["name"]), _decode(column["type"])) for column in document])
    except (TypeError, KeyError, ValueError, IndexError, pa.ArrowException) as error:
        raise ArtifactError(f"{path} is no schema: {type(error).__name__}: {error}", path=path) from error


def _encode(kind: pa.DataType, column: str) -> Json:
    if str(kind) in _SIMPLE:
        return str(kind)
    if pa.types.is_timestamp(kind):
        return {"timestamp": [kind.unit, kind.tz]}
    if pa.types.is_decimal(kind):
        return {"decimal": [kind.bit_width, kind.precision, kind.scale]}
    if pa.types.is_list(kind):
        return {"list": _encode(kind.value_type, column)}
    if pa.types.is_struct(kind):
        return {"struct": [[field.name, _encode(field.type, column)] for field in kind]}
    raise UnsupportedStepError(
        f"column {column!r} is {kind}, which a saved schema cannot express",
        hint="Select the columns that the pipeline needs before fitting.",
        column=column,
    )


def _decode(document: Any) -> pa.DataType:
    if isinstance(document, str):
        return _SIMPLE[document]
    name: str
    value: Any
    [(name, value)] = dict(document).items()
    if name == "timestamp":
        unit, zone = value
        return pa.timestamp(unit, _text(zone))
    if name == "decimal":
        width, precision, scale = value
        return _DECIMALS[width](precision, scale)
    if name == "list":
        return pa.list_(_decode(value))
    if name == "struct":
        return pa.struct([(_text(field), _decode(kind)) for field, kind in value])
    raise ValueError(f"unknown type {document!r}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value
