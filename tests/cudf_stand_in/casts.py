"""Casts between the types of columns: nulls stay null, numbers may lose digits, and some casts there are not."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in.dtypes import dtype_of


def cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column in another type.

    Raises
    ------
    NotImplementedError
        One of the types is nested.
    ValueError
        A text is no number.
    """
    if values.type == kind:
        return values
    if not len(values):
        return pa.array([], kind)
    if pa.types.is_nested(values.type) or pa.types.is_nested(kind):
        raise NotImplementedError(f"Casting {dtype_of(values.type)} columns not currently supported")
    if pa.types.is_string(values.type):
        return _from_text(values, kind)
    if pa.types.is_string(kind):
        return _to_text(values)
    return _between(values, kind)


def _from_text(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pc.greater(pc.utf8_length(values), 0).fill_null(False)
    try:
        return values.cast(kind)
    except pa.ArrowInvalid as error:
        raise ValueError(f"Could not convert strings to {kind}") from error


def _to_text(values: pa.Array) -> pa.Array:
    """Return values as texts; of floats Python's, where libcudf may write other digits."""
    if pa.types.is_boolean(values.type):
        return pc.if_else(values, "True", "False")
    if pa.types.is_timestamp(values.type):
        return pc.strftime(values, "%Y-%m-%d %H:%M:%S")
    if pa.types.is_floating(values.type):
        return pa.array([None if value is None else repr(value) for value in values.to_pylist()], pa.string())
    return values.cast(pa.string())


def _between(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(values.type) or pa.types.is_decimal(kind):
        return pc.cast(values, kind, safe=False)
    if pa.types.is_temporal(values.type) or pa.types.is_temporal(kind):
        return _of_time(values, kind)
    numbers = values.fill_null(False if pa.types.is_boolean(values.type) else 0).to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):
        made = numbers.astype(dtype_of(kind))
    return pa.array(made, mask=values.is_null().to_numpy(zero_copy_only=False))


def _of_time(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return times as times, or as the number of their units; and the other way round."""
    if pa.types.is_temporal(values.type) and pa.types.is_temporal(kind):
        return pc.cast(values, kind, safe=False)
    if pa.types.is_temporal(values.type):
        return pc.cast(values.view(pa.int64()), kind, safe=False)
    return pc.cast(values, pa.int64(), safe=False).view(kind)
