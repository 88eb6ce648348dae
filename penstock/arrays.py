"""Frames to arrays and back: NumPy on a CPU, CuPy on a GPU, and what XGBoost takes as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from penstock import frames, frames_cudf
from penstock.frames import Kind


def column(frame: nw.DataFrame, name: str, values: Any) -> nw.Series:
    """Return `values` (NumPy, or CuPy for a frame on a GPU; one or two dimensions) as a series for `frame`.

    A matrix of n rows and k columns becomes a column of lists of length k.
    """
    if frames.is_gpu(frame):
        return nw.from_native(frames_cudf.column(name, values), series_only=True)
    series = pl.Series(name, values)
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    return nw.from_native(series, series_only=True)


def to_matrix(frame: nw.DataFrame, columns: Sequence[str], dtype: str = "float32") -> Any:
    """Return columns as a C-ordered matrix, NaN for null: NumPy from a CPU frame, CuPy from a GPU frame.

    Booleans become 0 and 1; a column that is not numeric is an error of the caller.

    Examples
    --------
    >>> import pyarrow as pa
    >>> to_matrix(frames.from_arrow(pa.table({"a": [1, None], "b": [True, False]})), ["a", "b"])
    array([[ 1.,  1.],
           [nan,  0.]], dtype=float32)
    """
    kind = {"float32": nw.Float32, "float64": nw.Float64}[dtype]
    native = nw.to_native(frame.select(nw.col(*columns).cast(kind)) if columns else frame.select([]))
    if frames.is_gpu(frame):
        return frames_cudf.to_matrix(native, columns, len(frame), dtype)
    return native.to_numpy(order="c").reshape(len(frame), len(columns))


def features(frame: nw.DataFrame, columns: Sequence[str]) -> Any:
    """Return float32 columns as XGBoost reads them fastest: a Polars frame, or a CuPy matrix with NaN for null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> features(frames.from_arrow(pa.table({"a": [1, None]})), ["a"]).rows()
    [(1.0,), (None,)]
    """
    if frames.is_gpu(frame):
        return to_matrix(frame, columns)
    return nw.to_native(frame.select(nw.col(*columns).cast(nw.Float32)))


def count_infinite(values: Any) -> list[int]:
    """Return how many values of each column of a matrix, or of what `features` gives, are infinite.

    Examples
    --------
    >>> count_infinite(np.array([[1.0, np.inf], [np.nan, -np.inf]]))
    [0, 2]
    """
    if isinstance(values, pl.DataFrame):
        return list(values.select(pl.all().is_infinite().sum()).row(0))
    infinite = np.isinf(values)
    return infinite.sum(axis=0).tolist() if bool(infinite.any()) else [0] * values.shape[1]


def rows_of(values: Any, chosen: np.ndarray) -> np.ndarray:
    """Return the chosen rows (a mask, on the host) of an array, or of what `features` gives, as NumPy.

    Examples
    --------
    >>> rows_of(np.array([1, 2, 3]), np.array([True, False, True]))
    array([1, 3])
    """
    if isinstance(values, pl.DataFrame):
        return values.filter(chosen).to_numpy(order="c")
    return to_host(values[chosen if isinstance(values, np.ndarray) else frames_cudf.to_device(chosen)])


def to_host(values: Any) -> np.ndarray:
    """Return an array as NumPy, copied from the GPU if it is there."""
    return frames_cudf.to_host(values)


def to_device(values: np.ndarray, kind: Kind) -> Any:
    """Return a NumPy array on the device: as it is, or as CuPy."""
    return frames_cudf.to_device(values) if kind == "gpu" else values
