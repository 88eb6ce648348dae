"""Columns of numbers as arrays, and arrays as columns: what stages share that compute beside the frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw

from penstock import frames
from penstock.frames import matrices


def values_of(frame: nw.DataFrame, name: str) -> Any:
    """Return a column of numbers as a float64 array, on the device of the frame, with NaN for null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> values_of(frames.from_arrow(pa.table({"x": [1, None]})), "x")
    array([ 1., nan])
    """
    return matrices.to_matrix(frame, [name], "float64")[:, 0]


def with_results(frame: nw.DataFrame, results: Mapping[str, Any]) -> nw.DataFrame:
    """Return the frame with float64 arrays as columns, by name; NaN becomes null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = frames.from_arrow(pa.table({"x": [1, None]}))
    >>> with_results(frame, {"y": values_of(frame, "x") + 1}).rows()
    [(1, 2.0), (None, None)]
    """
    made = frames.nan_to_null(frame.select(*[matrices.column(frame, out, values) for out, values in results.items()]))
    return frame.with_columns(*[made[out] for out in results])
