"""Dense vectors in a frame: a column of lists of numbers, all of one length, and its elements as columns.

All elements of a column are one array in memory. It is turned once, so that the numbers at a place of all vectors lie
side by side; the columns made of it are views of that, and a matrix of them all is no copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa

from penstock import frames
from penstock.core.names import element_names
from penstock.frames import cudf, matrices

_BLOCK = 256
"""Vectors that are turned together: their elements stay in the cache of a core."""


def elements(frame: nw.DataFrame[Any], name: str, size: int) -> nw.DataFrame[Any]:
    """Return the elements of vectors of length `size` as columns, in the type of the elements, on the frame's device.

    A null vector has null elements. A list of another length is an error of the caller.

    Examples
    --------
    >>> made = elements(frames.from_arrow(pa.table({"v": [[1.0, 2.0], None, [3.0, None]]})), "v", 2)
    >>> made.columns, made.rows()
    (['v_0', 'v_1'], [(1.0, 2.0), (None, None), (3.0, None)])
    """
    native = nw.to_native(frame[name])
    if frames.is_gpu(frame):
        return frames.nan_to_null(nw.from_native(cudf.elements(native, element_names(name, size)), eager_only=True))
    lists: Any = native.rechunk().to_arrow()
    flat = lists.flatten()
    floats = pa.types.is_floating(flat.type)
    if not floats and (flat.null_count or lists.null_count):
        return _one_by_one(native, name, size)
    columns = _turned(_whole(lists, flat.to_numpy(zero_copy_only=False).reshape(-1, size)))
    table = pa.Table.from_arrays([pa.array(column) for column in columns], names=list(element_names(name, size)))
    made = nw.from_native(pl.DataFrame(table), eager_only=True)
    return frames.nan_to_null(made) if flat.null_count or lists.null_count else made


def pack(frame: nw.DataFrame[Any], columns: Sequence[str], name: str) -> nw.Series[Any]:
    """Return columns of numbers as one of lists of float64; null where all of them are.

    Examples
    --------
    >>> pack(frames.from_arrow(pa.table({"a": [1, None, None], "b": [2.5, 3.5, None]})), ["a", "b"], "v").to_list()
    [[1.0, 2.5], [None, 3.5], None]
    """
    matrix = matrices.to_matrix(frame, columns, "float64")
    if not bool((matrix != matrix).any()):
        return matrices.column(frame, name, matrix)
    values = matrices.to_host(matrix)
    missing = np.isnan(values).all(axis=1)
    ends = np.concatenate([[0], np.cumsum(np.where(missing, 0, len(columns)))])
    known = pa.array(values[~missing].ravel(), from_pandas=True)  # NaN is null
    lists = pa.LargeListArray.from_arrays(pa.array(ends, mask=np.append(missing, False)), known)
    return frames.from_arrow(pa.table({name: lists}), frames.kind_of(frame))[name]


def packed(row: Mapping[str, Any], columns: Sequence[str]) -> list[float | None] | None:
    """Return what `pack` makes of one row of Python values.

    Examples
    --------
    >>> packed({"a": 1, "b": None}, ["a", "b"]), packed({"a": None}, ["a"])
    ([1.0, None], None)
    """
    values = [None if row[name] is None else float(row[name]) for name in columns]
    return None if all(value is None for value in values) else values


def _one_by_one(native: pl.Series, name: str, size: int) -> nw.DataFrame[Any]:
    """Return the elements, place by place: of types that have no NaN for what is null."""
    lists = native.to_frame(name)
    gets = [pl.col(name).list.get(place).alias(out) for place, out in enumerate(element_names(name, size))]
    return nw.from_native(lists.select(gets), eager_only=True)


def _whole(lists: Any, known: np.ndarray) -> np.ndarray:
    """Return the vectors as rows, NaN where there is none."""
    if not lists.null_count:
        return known
    whole = np.full((len(lists), known.shape[1]), np.nan, known.dtype)
    whole[lists.is_valid().to_numpy(zero_copy_only=False)] = known
    return whole


def _turned(rows: np.ndarray) -> np.ndarray:
    """Return the transposed matrix, C-ordered; block by block, it takes a quarter of the time."""
    turned = np.empty(rows.shape[::-1], rows.dtype)
    for start in range(0, len(rows), _BLOCK):
        turned[:, start : start + _BLOCK] = rows[start : start + _BLOCK].T
    return turned
