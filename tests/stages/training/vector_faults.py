"""Rows that hold no sparse vector, and what is told of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

FAULTS = [
    (([3, 1], [1.0, 2.0]), "column 'v_indices' has 1 values that are not ascending, or negative"),
    (([3, 3], [1.0, 2.0]), "column 'v_indices' has 1 values that are not ascending, or negative"),
    (([-1, 3], [1.0, 2.0]), "column 'v_indices' has 1 values that are not ascending, or negative"),
    (([1, 3], [1.0]), "column 'v_indices' has 1 values that are not as long as its values"),
    (([1], None), "column 'v_indices' has 1 values that are not as long as its values"),
    (([1, None], [1.0, 2.0]), "column 'v_indices' has 1 values that are of nulls"),
    (([1, 3], [1.0, None]), "column 'v_values' has 1 values that are of nulls"),
    (([1, 3], [1.0, np.nan]), "column 'v_values' has 1 values that are infinite, or NaN"),
    (([1, 3], [-np.inf, 1.0]), "column 'v_values' has 1 values that are infinite, or NaN"),
    (([1, 3], [1e200, 1.0]), "column 'v_values' has 1 values that are too large"),
]


def faulty(table: pa.Table, row: int, indices: Any, values: Any) -> pa.Table:
    """Return the table with another vector in one row."""
    rows = table.to_pylist()
    rows[row] |= {"v_indices": indices, "v_values": values}
    return pa.Table.from_pylist(rows, table.schema)
