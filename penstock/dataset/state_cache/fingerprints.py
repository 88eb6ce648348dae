"""One hash for all that a result follows from, equal in every process; what cannot be known so is refused."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import hashlib
import importlib.metadata
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

_LIBRARIES = ("penstock", "narwhals", "numpy", "polars", "pyarrow")
"""Those whose version may change how a sum is rounded."""
_EXACT = (int, str, bytes, float, complex, bool, type(None), enum.Enum, decimal.Decimal, re.Pattern)
_TIMES = (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo)


class NoFingerprintError(TypeError):
    """What a result follows from cannot be told from what it followed from before: a function, rows in memory."""


def fingerprint(*values: Any) -> str:
    """Return the hash of plain values, Arrow types and tables, expressions, and dataclasses of these with their code.

    The code of a class is the module that it is in; that of this library and of those it computes with, their versions
    besides. Fields with the metadata ``{"fingerprint": False}`` do not count.

    Raises
    ------
    NoFingerprintError
        A value is something else: a function, say, which nobody can compare.

    Examples
    --------
    >>> fingerprint({"a": 1.0, "b": [nw.col("x") > 1]}) == fingerprint({"a": 1.0, "b": [nw.col("x") > 1]})
    True
    >>> fingerprint(nw.col("x") > 1) == fingerprint(nw.col("x") > 2)
    False
    """
    sink = hashlib.sha256(repr(_versions()).encode())
    for value in values:
        for part in _parts(value):
            sink.update(len(part).to_bytes(8, "little") + part)
    return sink.hexdigest()


@cache
def _versions() -> list[str]:
    return [importlib.metadata.version(name) for name in _LIBRARIES]


def _parts(value: Any) -> Iterator[bytes]:
    """Yield what a value is made of, so that no two values give the same parts."""
    kind = type(value)
    if isinstance(value, (*_EXACT, *_TIMES)):
        yield f"{kind.__qualname__} {value!r}".encode()
    elif isinstance(value, Mapping):
        yield f"mapping of {len(value)}".encode()
        yield from _of_all([*value, *value.values()])
    elif isinstance(value, list | tuple):
        yield f"sequence of {len(value)}".encode()
        yield from _of_all(value)
    elif isinstance(value, set | frozenset):
        yield f"set of {len(value)}".encode()
        yield from sorted(b"".join(_parts(each)) for each in value)
    elif (described := _described(value)) is not None:
        yield from described
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield f"{kind.__module__}.{kind.__qualname__} {_code(kind)}".encode()  # type: ignore[arg-type]
        fields = [each for each in dataclasses.fields(value) if each.metadata.get("fingerprint", True)]
        yield from _of_all([(each.name, getattr(value, each.name)) for each in fields])
    else:
        raise NoFingerprintError(f"{value!r:.200} of {kind.__module__}.{kind.__qualname__}")


def _of_all(values: Any) -> Iterator[bytes]:
    for value in values:
        yield from _parts(value)


def _described(value: Any) -> Iterator[bytes] | None:
    """Return the parts of a value of a library; None where it is none that is known."""
    for kind, describe in _DESCRIBED.items():
        if isinstance(value, kind):
            return describe(value)
    return None


def _of_schema(schema: pa.Schema) -> Iterator[bytes]:
    return _of_all([(field.name, str(field.type), field.nullable) for field in schema])


def _of_table(table: pa.Table) -> Iterator[bytes]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    yield hashlib.sha256(sink.getvalue()).digest()


def _of_array(values: np.ndarray) -> Iterator[bytes]:
    if values.dtype.hasobject:
        raise NoFingerprintError("an array of objects")
    yield f"{values.dtype.str} {values.shape}".encode()
    yield np.ascontiguousarray(values).tobytes()


def _of_expression(expression: nw.Expr) -> Iterator[bytes]:
    for node in expression._nodes:
        yield f"{node.kind.name} {node.name} {node.str_as_lit} {node.allow_multi_output}".encode()
        yield from _of_all([list(node.exprs), node.kwargs])


def _of_dtype(dtype: Any) -> Iterator[bytes]:
    yield f"dtype {dtype!r}".encode()


_DESCRIBED: dict[Any, Callable[[Any], Iterator[bytes]]] = {
    pa.Schema: _of_schema,
    pa.Table: _of_table,
    pa.DataType: _of_dtype,
    np.ndarray: _of_array,
    np.generic: lambda value: _of_array(np.asarray(value)),
    nw.Expr: _of_expression,
    nw.dtypes.DType: _of_dtype,
    type(nw.Int64): _of_dtype,
}


@cache
def _code(kind: type[Any]) -> str:
    """Return the hash of the module that a class is in, and of its version where it has one."""
    try:
        module = inspect.getmodule(kind)
        path = inspect.getsourcefile(kind) if module is not None else None
        if path is None or module is None:
            raise NoFingerprintError(f"{kind.__qualname__}, which was defined where its code cannot be read")
        with open(path, "rb") as file:
            source = hashlib.file_digest(file, "sha256").hexdigest()
    except (TypeError, OSError) as error:
        raise NoFingerprintError(f"{kind.__qualname__}, the code of which cannot be read") from error
    return f"{source} {getattr(kind, 'version', None)}"
