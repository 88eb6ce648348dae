"""What columns are made of: Arrow arrays of the types that cuDF has, from all that its constructors take."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in import casts
from cudf_stand_in.arrays import ndarray
from cudf_stand_in.dtypes import arrow_type, held_type
from cudf_stand_in.refusals import NotIterable


def is_na(value: Any) -> bool:
    """Return whether a scalar stands for null: None, pandas' NA and NaT; beside a column, NaN is a number."""
    return value is None or value is pd.NA or value is pd.NaT


def is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(value != value)


def is_scalar(value: Any) -> bool:
    return value is None or bool(pd.api.types.is_scalar(value))


def values_of(data: Any, dtype: Any = None, length: int = 1, nan_as_null: bool = True) -> pa.Array:
    """Return the values of what `cudf.Series` takes; a scalar `length` times."""
    kind = None if dtype is None else arrow_type(dtype)
    values = _values(data, kind, length, nan_as_null)
    values = values.cast(held_type(values.type))
    if nan_as_null:
        values = nans_to_nulls(values)
    return values if kind is None else casts.cast(values, kind)


def _values(data: Any, kind: pa.DataType | None, length: int, nan_as_null: bool) -> pa.Array:
    if isinstance(data, NotIterable):
        return data._values
    if isinstance(data, pa.ChunkedArray):
        return data.combine_chunks() if data.num_chunks != 1 else data.chunk(0)
    if isinstance(data, pa.Array):
        return data
    if isinstance(data, pd.api.extensions.ExtensionArray):
        raise NotImplementedError("a column of one of pandas' own types is not in the stand-in")
    if is_scalar(data):
        return _repeated(data, kind, length, nan_as_null)
    values = data._host.copy() if isinstance(data, ndarray) else data
    return _from_host(values, kind, nan_as_null)


def _repeated(value: Any, kind: pa.DataType | None, length: int, nan_as_null: bool) -> pa.Array:
    if nan_as_null and is_nan(value):
        return pa.nulls(length, kind or pa.float64())
    if is_na(value):
        if kind is None:
            raise ValueError("Need to pass dtype when passing pd.NA or None")
        return pa.nulls(length, kind)
    return pa.repeat(pa.scalar(value.to_numpy() if isinstance(value, pd.Timestamp | pd.Timedelta) else value), length)


def _from_host(values: Any, kind: pa.DataType | None, nan_as_null: bool) -> pa.Array:
    if isinstance(values, np.ndarray | pd.Series | pd.Index | range):
        return pa.array(np.asarray(values), from_pandas=nan_as_null)
    known = [None if is_na(value) or (nan_as_null and is_nan(value)) else value for value in values]
    try:
        return pa.array(known, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array(known)


def nans_to_nulls(values: pa.Array) -> pa.Array:
    if not pa.types.is_floating(values.type):
        return values
    return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)


def is_null(values: pa.Array) -> np.ndarray:
    """Return where a column is null; to cuDF, NaN is."""
    found = values.is_null(nan_is_null=pa.types.is_floating(values.type))
    return found.to_numpy(zero_copy_only=False)


def to_numpy(values: pa.Array) -> np.ndarray:
    """Return numbers, booleans, times or durations as NumPy, anything where they are null."""
    if pa.types.is_temporal(values.type):
        return values.to_numpy(zero_copy_only=False)
    filling = False if pa.types.is_boolean(values.type) else 0
    return values.fill_null(filling).to_numpy(zero_copy_only=False)


def from_numpy(values: np.ndarray, valid: np.ndarray) -> pa.Array:
    """Return NumPy values as a column, null where they are not `valid`."""
    return pa.array(values, mask=None if valid.all() else ~valid)


def scalar(values: pa.Array, place: int) -> Any:
    """Return an element as cuDF does: NumPy's scalars of the column's type, pandas' times, NaN, NaT or NA for null."""
    element = values[place]
    if not element.is_valid:
        is_nan = pa.types.is_floating(values.type) or pa.types.is_string(values.type)
        return pd.NaT if pa.types.is_temporal(values.type) else np.nan if is_nan else pd.NA
    if pa.types.is_boolean(values.type):
        return np.bool_(element.as_py())
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return values.type.to_pandas_dtype()(element.as_py())
    if pa.types.is_timestamp(values.type):
        return pd.Timestamp(element.value, unit=values.type.unit, tz=values.type.tz).as_unit(values.type.unit)
    if pa.types.is_duration(values.type):
        return pd.Timedelta(element.value, unit=values.type.unit).as_unit(values.type.unit)
    return element.as_py()
