"""Types that carry the values of others through every query engine, exactly.

Spark has no unsigned integers, durations, times of day or nanoseconds, and a zone for all times; cuDF has no dates.
Integers have none of these troubles: a column goes in as one, and comes back as what it was.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def carrier(kind: pa.DataType) -> pa.DataType | None:
    """Return the type that carries `kind`; None for nested types, intervals, and decimals of more than 38 digits.

    Examples
    --------
    >>> carrier(pa.timestamp("ns")), carrier(pa.uint64()), carrier(pa.list_(pa.int8()))
    (DataType(int64), Decimal128Type(decimal128(20, 0)), None)
    """
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_float16(kind):
        return pa.float32()
    foreign = pa.types.is_nested(kind) or pa.types.is_interval(kind) or pa.types.is_decimal256(kind)
    if foreign:
        return None
    as_integers = pa.types.is_unsigned_integer(kind) or pa.types.is_temporal(kind) or pa.types.is_null(kind)
    return pa.int64() if as_integers else kind


def carried(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in the type that carries it.

    Examples
    --------
    >>> import datetime
    >>> carried(pa.chunked_array([[datetime.date(1970, 1, 3), None]])).to_pylist()
    [2, None]
    """
    kind = column.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    return column.cast(carrier(kind))


def restored(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a carried column as what it was, also where a query engine has widened its carrier."""
    if pa.types.is_null(kind):
        return pa.chunked_array([pa.nulls(len(column))])
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    return column.cast(kind)


def grouped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a carried column in which equal values have equal bits: minus zero is zero."""
    return pc.add(column, pa.scalar(0, column.type)) if pa.types.is_floating(column.type) else column
