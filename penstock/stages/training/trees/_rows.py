"""One row's features as the matrix that trees are walked with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.stages.training._vector_features import csr_row
from penstock.stages.training.trees._matrix import refuse_infinite


def float32_row(
    columns: tuple[str, ...], schema: pa.Schema, index: np.ndarray | None = None
) -> Callable[[Mapping[str, Any]], Any]:
    """Return what makes a float32 matrix of one row of Python values, NaN for None, rounded as `to_matrix` does.

    With a sparse vector among the columns, of which `index` is looked at, it is sparse, see `_vector_features`.

    The function raises DataValueError for an infinity, or a value too large for float32.

    Examples
    --------
    >>> float32_row(("a", "b"), pa.schema({"a": pa.int64(), "b": pa.float64()}))({"a": 3, "b": None})
    array([[ 3., nan]], dtype=float32)
    """
    sparse = csr_row(columns, schema, float32_row, index)
    if sparse is not None:
        return sparse
    # An integer would be rounded twice on the way through float64.
    wide = [name for name in columns if pa.types.is_integer(schema.field(name).type)]

    def convert(row: Mapping[str, Any]) -> np.ndarray:
        values = [math.nan if (value := row[name]) is None else value for name in columns]
        with np.errstate(over="ignore"):
            matrix = np.array([values], dtype=np.float64).astype(np.float32)
        for name in wide:
            value = row[name]
            if value is not None and abs(value) >= 2**53:
                matrix[0, columns.index(name)] = np.asarray(value).astype(np.float32)
        infinite = np.isinf(matrix[0])
        if infinite.any():
            refuse_infinite(columns, infinite.astype(int).tolist())
        return matrix

    return convert
