"""Types that columns have on the host again, where cuDF has none like them: dates, bytes, and nothing but null."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import pyarrow as pa

_ON_GPU = {pa.date32(): pa.timestamp("s"), pa.binary(): pa.list_(pa.uint8()), pa.null(): pa.string()}
"""What cuDF has in place of a type."""
_known: ContextVar[Mapping[str, pa.DataType]] = ContextVar("known", default={})  # noqa: B039  # it is never written to


def is_lost(kind: pa.DataType) -> bool:
    """Return whether cuDF has another type in place of this one.

    Examples
    --------
    >>> is_lost(pa.date32()), is_lost(pa.int8())
    (True, False)
    """
    return kind in _ON_GPU


@contextmanager
def typed(kinds: Mapping[str, pa.DataType]) -> Iterator[None]:
    """Have columns of these names leave a GPU in these types, while the block runs, in this thread."""
    token = _known.set(kinds)
    try:
        yield
    finally:
        _known.reset(token)


def host_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a table that leaves a GPU, with the types that are known to stand behind those of cuDF.

    Examples
    --------
    >>> with typed({"day": pa.date32(), "n": pa.date32()}):
    ...     host_schema(pa.schema({"day": pa.timestamp("s"), "n": pa.int8()})).types
    [DataType(date32[day]), DataType(int8)]
    """
    known = _known.get()
    return pa.schema([field.with_type(_host_type(field, known.get(field.name))) for field in schema])


def _host_type(field: pa.Field, known: pa.DataType | None) -> pa.DataType:
    return known if known is not None and _ON_GPU.get(known) == field.type else field.type
