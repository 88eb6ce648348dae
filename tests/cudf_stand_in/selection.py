"""Rows by place or mask, read and set."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in import casts
from cudf_stand_in.refusals import Refusals
from cudf_stand_in.values import is_na, is_scalar, scalar, values_of

ENDS = {"first": "at_start", "last": "at_end"}
"""Where nulls are sorted to, as Arrow says it."""


def places(key: Any, rows: int) -> np.ndarray:
    """Return the places that a slice, a mask (null counts as false) or places stand for."""
    if isinstance(key, slice | range):
        return np.arange(rows)[slice(key.start, key.stop, key.step) if isinstance(key, range) else key]
    values = values_of(key)
    if not pa.types.is_boolean(values.type):
        return np.arange(rows)[values.to_numpy(zero_copy_only=False)] if len(values) else np.arange(0)
    if len(values) != rows:
        raise IndexError(f"Column with {len(values)} rows not suitable as a boolean mask for {rows} rows")
    return np.flatnonzero(values.fill_null(False).to_numpy(zero_copy_only=False))


def require_same_index(one: Any, other: Any) -> None:
    """Refuse two sides whose rows have other labels: cuDF joins them by those, or takes them as they lie."""
    if isinstance(other, Refusals) and hasattr(other, "index") and not one.index.equals(other.index):
        raise NotImplementedError("rows of two indexes are not in the stand-in")


class ByPlace:
    """`iloc`."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, None)
        frame = self._of if columns is None else self._of[_names(self._of, columns)]
        if isinstance(rows, int | np.integer):
            return frame._row(rows)
        return frame._taken(places(rows, len(frame)))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._of._values = replaced(self._of._values, places(key, len(self._of)), value)


class ByLabel:
    """`loc`, by a mask or by names of columns; not by labels of rows."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, None)
        frame = self._of if columns is None else self._of[columns]
        require_same_index(frame, rows)
        return frame._taken(places(_mask_or_all(rows), len(frame)))


def _mask_or_all(rows: Any) -> Any:
    if rows == slice(None) if isinstance(rows, slice) else pa.types.is_boolean(values_of(rows).type):
        return rows
    raise NotImplementedError("rows by labels are not in the stand-in")


def _names(frame: Any, columns: Any) -> Any:
    return frame.columns[columns] if isinstance(columns, int) else list(frame.columns[columns])


def replaced(values: pa.Array, at: np.ndarray, value: Any) -> pa.Array:
    """Return a column with another value, or one of a column for each, at some places."""
    mask = np.zeros(len(values), bool)
    mask[at] = True
    if is_scalar(value):
        found = pa.nulls(1, values.type) if is_na(value) else casts.cast(values_of(value), values.type)
        return pc.if_else(pa.array(mask), found[0], values)
    given = casts.cast(values_of(value), values.type)
    order = np.zeros(len(values), np.int64)
    order[at] = np.arange(len(given))
    return pc.if_else(pa.array(mask), given.take(pa.array(order)), values) if len(given) else values


def element(values: pa.Array, place: int) -> Any:
    """Return one value; of a list, Python's list."""
    if not -len(values) <= place < len(values):
        raise IndexError("single positional indexer is out-of-bounds")
    return scalar(values, place % len(values))
