"""Values as text that says them exactly: what the text formats write, and read again to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import DataValueError

TEXT = pa.large_string()
_ROWS = 2**16
"""Rows whose text is made at once."""
_DAY = 86_400
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def batches(frame: nw.DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a frame in the types of a schema, null in place of NaN, as they come in when read."""
    yield from frames.to_arrow(frames.nan_to_null(frame), schema).to_batches(max_chunksize=_ROWS)


def is_exact(kind: pa.DataType) -> bool:
    """Return whether all values of a type that is not nested have a text; bytes may have none."""
    binary = pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return not (binary or pa.types.is_date64(kind))


def plain_text(values: pa.Array, name: str) -> pa.Array:
    """Return values that are not nested as text; null stays null.

    Times are those of UTC, and end in Z where the type has a zone. A floating number has as few digits as tell it from
    all others of its type, and a point or an exponent, so that it is not taken for a whole one.

    Raises
    ------
    DataValueError
        A time is not of the years 1 to 9999, which have four digits.

    Examples
    --------
    >>> plain_text(pa.array([0.1, 2.0, -0.0, 1e300]), "x").to_pylist()
    ['0.1', '2.0', '-0.0', '1e+300']
    >>> plain_text(pa.array([0], pa.timestamp("s", "Europe/Berlin")), "t").to_pylist()
    ['1970-01-01 00:00:00Z']
    """
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        _check_years(values, name)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        values = values.cast(pa.timestamp(kind.unit, "UTC"))
    text = values.cast(TEXT)
    if pa.types.is_floating(kind):
        whole = pc.match_substring_regex(text, "^-?[0-9]+$")
        return pc.if_else(whole, concat(text, ".0"), text)
    return text


def _check_years(values: pa.Array, name: str) -> None:
    scale = _PER_SECOND[values.type.unit] * _DAY if pa.types.is_timestamp(values.type) else 1
    bounds = pc.min_max(values.view(pa.int64() if values.type.bit_width == 64 else pa.int32())).as_py()
    low, high = _FIRST_DAY * scale, (_LAST_DAY + 1) * scale
    if bounds["min"] is not None and not (low <= bounds["min"] and bounds["max"] < high):
        raise DataValueError(
            f"column {name!r} has a time outside the years 1 to 9999, which text does not say",
            hint="Write Parquet, or leave such rows out.",
            column=name,
        )


def concat(*parts: Any) -> pa.Array:
    """Return texts put together element by element; null where one is."""
    return pc.binary_join_element_wise(*(_scalar(part) for part in parts), pa.scalar("", TEXT))


def _scalar(part: Any) -> Any:
    return pa.scalar(part, TEXT) if isinstance(part, str) else part


def as_bytes(texts: pa.Array) -> memoryview:
    """Return texts, none of them null, one after another, without a copy."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(texts.buffers()[2])[offsets[0] : offsets[-1]]
