"""One number for everything that a model learned: equal for equal values, however they are held in memory."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.artefact.parts import LearnedModel
from penstock.artefact.tables import canonical_table
from penstock.core.errors import UnsupportedStepError
from penstock.stages.base import Blob, Fitted, Stage
from penstock.stages.trainer import as_trainer

if TYPE_CHECKING:
    from hashlib import _Hash


def digest(model: LearnedModel) -> str:
    """Return ``sha256:...`` of the names, parameters and learned values of all stages, model files included.

    Numbers count by their exact value. The order of keys, and how Arrow tables are cut to chunks or spell their strings
    (large, dictionary-encoded), do not count.

    Raises
    ------
    UnsupportedStepError
        A parameter or learned value is not plain data.
    """
    return digest_of(zip(model.stages, model.fitted, strict=True))


def preprocessing_digest(model: LearnedModel) -> str:
    """Return the `digest` of a model without its trainers."""
    schemas = itertools.accumulate(model.steps, lambda schema, step: step.output_schema(schema), initial=model.schema)
    learned = zip(model.stages, model.fitted, schemas, strict=False)
    return digest_of((stage, fitted) for stage, fitted, schema in learned if as_trainer(stage, schema) is None)


def digest_of(learned: Iterable[tuple[Stage, Fitted]]) -> str:
    """Return ``sha256:...`` of stages and of what they learned."""
    sink = hashlib.sha256()
    for stage, fitted in learned:
        _add(sink, [*stage._identity(fitted), fitted])
    return f"sha256:{sink.hexdigest()}"


def _add(sink: _Hash, value: Any) -> None:
    """Write a value as tag, length and content, so that no two values give the same bytes."""
    if value is None or isinstance(value, bool | int):
        _put(sink, type(value).__name__, repr(value).encode())
    elif isinstance(value, float):
        _put(sink, "float", float(value).hex().encode())
    elif isinstance(value, str):
        _put(sink, "str", value.encode())
    elif isinstance(value, Blob):
        _add(sink, ["Blob", value.kind, hashlib.sha256(value.data).hexdigest()])
    elif isinstance(value, list | tuple):
        _put(sink, "list", str(len(value)).encode())
        for item in value:
            _add(sink, item)
    elif isinstance(value, Mapping):
        _put(sink, "dict", str(len(value)).encode())
        for key in sorted(value):
            _add(sink, [key, value[key]])
    elif isinstance(value, pa.Table):
        table = canonical_table(value)
        _put(sink, "table", str(table.num_rows).encode())
        _add(sink, [[field.name, str(field.type), _column(table[field.name])] for field in table.schema])
    else:
        raise UnsupportedStepError(f"a stage learned {value!r:.100}, which is no plain data", hint="See Fitted.")


def _put(sink: _Hash, tag: str, content: bytes) -> None:
    sink.update(f"{tag}:{len(content)}:".encode())
    sink.update(content)


def _column(column: Any) -> str:
    """Return the digest of a column: which values are there, their lengths where they have some, their bytes."""
    sink = hashlib.sha256()
    for part in _parts(column.type):
        for chunk in column.chunks:
            sink.update(part(chunk))
    if pa.types.is_list(column.type):
        values = [pc.list_flatten(chunk) for chunk in column.chunks]
        sink.update(_column(pa.chunked_array(values, column.type.value_type)).encode())
    return sink.hexdigest()


def _parts(kind: pa.DataType) -> list[Callable[[Any], bytes | memoryview]]:
    if pa.types.is_null(kind):
        return []
    if pa.types.is_list(kind):
        return [_validity, _lengths(pc.list_value_length)]
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return [_validity, _lengths(pc.binary_length), _text]
    return [_validity, _numbers]


def _validity(chunk: Any) -> bytes:
    return _numbers(pc.is_valid(chunk))


def _lengths(measure: Callable[[Any], Any]) -> Callable[[Any], bytes]:
    return lambda chunk: _numbers(measure(chunk.drop_null()).cast(pa.int64()))


def _text(chunk: Any) -> memoryview:
    chunk = chunk.drop_null()
    _, offsets, data = chunk.buffers()
    if data is None or not len(chunk):
        return memoryview(b"")
    bounds = np.frombuffer(offsets, np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
    return memoryview(data)[bounds[0] : bounds[1]]


def _numbers(chunk: Any) -> bytes:
    """Return the bytes of values of a fixed width; what lies in memory under a null is not among them."""
    chunk = chunk.drop_null()
    if pa.types.is_boolean(chunk.type):
        chunk = chunk.cast(pa.uint8())
    width, data = chunk.type.bit_width // 8, chunk.buffers()[1]
    return b"" if data is None else bytes(memoryview(data)[chunk.offset * width : (chunk.offset + len(chunk)) * width])
