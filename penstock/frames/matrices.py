"""Frames to arrays and back: NumPy on a CPU, CuPy on a GPU, and what XGBoost takes as it is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.frames import Kind, cudf


def column(frame: nw.DataFrame, name: str, values: Any) -> nw.Series:
    """Return `values` (NumPy, or CuPy for a frame on a GPU; one or two dimensions) as a series for `frame`.

    A matrix of n rows and k columns becomes a column of lists of length k.
    """
    if frames.is_gpu(frame):
        return nw.from_native(cudf.column(name, values), series_only=True)
    series = pl.Series(name, values)
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    return nw.from_native(series, series_only=True)


def masked(frame: nw.DataFrame, name: str, values: np.ndarray, missing: np.ndarray) -> nw.Series:
    """Return floating `values` (on the host; one or two dimensions) as a float32 series for `frame`.

    Rows where `missing` is true are null; the others of a matrix are lists.

    Examples
    --------
    >>> frame = frames.from_arrow(pa.table({"x": [1, 2]}))
    >>> masked(frame, "y", np.ones((2, 2)), np.array([True, False])).to_list()
    [None, [1.0, 1.0]]
    """
    if values.ndim == 1:
        array: pa.Array = pa.array(values, pa.float32(), mask=missing)
    else:
        known = values[~missing] if missing.any() else values
        offsets = np.concatenate([[0], np.cumsum(np.where(missing, 0, values.shape[1]), dtype=np.int64)])
        starts = pa.array(offsets, mask=np.append(missing, False))
        array = pa.LargeListArray.from_arrays(starts, pa.array(known.ravel(), pa.float32()))
    return frames.from_arrow(pa.table({name: array}), frames.kind_of(frame))[name]


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
    if frames.is_gpu(frame):
        return cudf.to_matrix(nw.to_native(frame), columns, dtype)
    kind = {"float32": nw.Float32, "float64": nw.Float64}[dtype]
    native = nw.to_native(frame.select(nw.col(*columns).cast(kind)) if columns else frame.select([]))
    return native.to_numpy(order="c").reshape(len(frame), len(columns))


def to_rows(frame: nw.DataFrame, columns: Sequence[str], *, narrow: bool = False) -> Any:
    """Return columns as the rows of a C-ordered float64 matrix, NaN for null: NumPy or CuPy, as :func:`to_matrix`.

    It is not to be written to: where no copy is needed, it is the frame's own memory.

    Parameters
    ----------
    narrow : bool
        Where all columns are float32, the matrix may be, too.

    Examples
    --------
    >>> import pyarrow as pa
    >>> to_rows(frames.from_arrow(pa.table({"a": [1, None], "b": [True, False]})), ["a", "b"])
    array([[ 1., nan],
           [ 1.,  0.]])
    """
    if frames.is_gpu(frame):
        return cudf.to_rows(nw.to_native(frame), columns)
    native = nw.to_native(frame.select(*columns))
    if set(native.dtypes) != {pl.Float32}:  # which side by side, as the elements of a vector are, are cast in one go
        native, narrow = native.cast(pl.Float64), True
    rows = native.to_numpy(order="fortran").reshape(len(frame), len(columns)).T
    return rows if narrow else rows.astype(np.float64, copy=False)


def list_lengths(frame: nw.DataFrame, name: str) -> np.ndarray:
    """Return how many elements each list of a column has, int64 of shape (n_rows,) on the host; -1 for null.

    Examples
    --------
    >>> list_lengths(frames.from_arrow(pa.table({"v": [[1.0, 2.0], None, []]})), "v")
    array([ 2, -1,  0])
    """
    return pc.list_value_length(_lists(frame, name)).cast(pa.int64()).fill_null(-1).to_numpy()


def lists_to_matrix(frame: nw.DataFrame, name: str, width: int, dtype: str = "float32") -> Any:
    """Return a column of lists of `width` numbers as a matrix of a type, NaN for null and in the rows of null lists.

    From a frame on a GPU by way of the host.

    Examples
    --------
    >>> lists_to_matrix(frames.from_arrow(pa.table({"v": [[1, 2], None]})), "v", 2)
    array([[ 1.,  2.],
           [nan, nan]], dtype=float32)
    """
    lists = _lists(frame, name)
    known = [pc.list_flatten(chunk).cast(dtype).to_numpy(zero_copy_only=False) for chunk in lists.chunks]
    values = np.concatenate([np.empty(0, dtype), *known]).reshape(-1, width)
    if lists.null_count:
        whole = np.full((len(lists), width), np.nan, dtype=dtype)
        whole[lists.is_valid().to_numpy()] = values
        values = whole
    return to_device(values, frames.kind_of(frame))


def _lists(frame: nw.DataFrame, name: str) -> pa.ChunkedArray:
    selection = frame.select(name)
    return (frames.to_arrow(selection) if frames.is_gpu(frame) else selection.to_arrow())[name]


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


def fused(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Return an elementwise function of arrays, a single kernel on a GPU.

    Parameters
    ----------
    formula : callable
        Takes the module of arrays, NumPy or CuPy, whose functions it calls, and arrays that broadcast. It is a module's
        own function: CuPy compiles a kernel once for each.

    Examples
    --------
    >>> fused(lambda xp, values, offset: xp.exp(values) + offset)(np.zeros(1), np.ones(1))
    array([2.])
    """

    @functools.wraps(formula)
    def call(*arrays: Any) -> Any:
        return formula(np, *arrays) if isinstance(arrays[0], np.ndarray) else cudf.fused(formula)(*arrays)

    return call


def magnitudes(values: Any) -> list[float]:
    """Return the largest magnitude in each column of a matrix or a frame of Polars; 0 where no value is known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> magnitudes(features(frames.from_arrow(pa.table({"a": [1, -2], "b": [None, float("-inf")]})), ["a", "b"]))
    [2.0, inf]
    """
    if isinstance(values, pl.DataFrame):
        return [largest or 0.0 for largest in values.select(pl.all().abs().fill_nan(None).max()).row(0)]
    return to_host(_known_magnitudes(values).max(axis=0)).tolist() if len(values) else [0.0] * values.shape[1]


@fused
def _known_magnitudes(xp: Any, values: Any) -> Any:
    return xp.where(xp.isnan(values), xp.float32(0), xp.abs(values))


def count_infinite(values: Any) -> list[int]:
    """Return how many values of each column of a matrix are infinite.

    Examples
    --------
    >>> count_infinite(np.array([[1.0, np.inf], [np.nan, -np.inf]]))
    [0, 2]
    """
    infinite = np.isinf(values)
    return infinite.sum(axis=0).tolist() if bool(infinite.any()) else [0] * values.shape[1]


def rows_of(values: Any, chosen: Any) -> Any:
    """Return the chosen rows of an array, or of what `features` gives, where they are; as NumPy of a Polars frame.

    Parameters
    ----------
    values : array of shape (n_rows, ...), SciPy matrix or polars.DataFrame
    chosen : array of bool of shape (n_rows,)
        On the device of `values`, or on the host.

    Examples
    --------
    >>> rows_of(np.array([1, 2, 3]), np.array([True, False, True]))
    array([1, 3])
    """
    if isinstance(values, pl.DataFrame):
        return values.filter(to_host(chosen)).to_numpy(order="c")
    return values[to_host(chosen) if _is_sparse(values) else chosen]


def concatenated(values: Sequence[Any]) -> Any:
    """Return the rows of arrays of NumPy or CuPy, or of SciPy's sparse matrices, one after the other.

    Examples
    --------
    >>> concatenated([np.array([1]), np.array([2])])
    array([1, 2])
    """
    if not _is_sparse(values[0]):
        return np.concatenate(values)
    from scipy import sparse  # slow to import, and rarely needed

    return sparse.vstack(values, format="csr")


def _is_sparse(values: Any) -> bool:
    return hasattr(values, "tocsr")


def empty(shape: int | tuple[int, ...], kind: Kind) -> Any:
    """Return a float64 array on the device, to be written to: what it holds is whatever was there in memory."""
    return cudf.empty(shape) if kind == "gpu" else np.empty(shape)


def special(name: str, values: Any) -> Any:
    """Return a function of SciPy's module `special`, that CuPy has too, of each value: where the values are.

    Examples
    --------
    >>> special("ndtr", np.array([0.0, np.inf]))
    array([0.5, 1. ])
    """
    if not isinstance(values, np.ndarray | float):
        return cudf.special(name, values)
    from scipy import special as functions

    return getattr(functions, name)(values)


def arange(start: int, stop: int, kind: Kind) -> Any:
    """Return whole numbers, int64, as an array on the device."""
    return cudf.arange(start, stop) if kind == "gpu" else np.arange(start, stop, dtype=np.int64)


def to_host(values: Any) -> Any:
    """Return an array as NumPy, copied from the GPU if it is there; a sparse matrix is on the host."""
    return values if _is_sparse(values) else cudf.to_host(values)


def to_device(values: np.ndarray, kind: Kind) -> Any:
    """Return a NumPy array on the device: as it is, or as CuPy; a sparse matrix stays on the host."""
    return cudf.to_device(values) if kind == "gpu" and not _is_sparse(values) else values
