"""Rows with a sparse vector beside numbers, and vectors that are refused."""

import copy
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse

from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.frames import sparse

ROWS, SIZE = 400, 30
VECTOR = sparse.columns("v")
NUMBERS = ("a", "b")
FEATURES = (*NUMBERS, *VECTOR)
_DRAW = np.random.default_rng(5)
MATRIX = scipy.sparse.random(ROWS, SIZE, 0.15, format="csr", random_state=2, data_rvs=_DRAW.standard_exponential)
MATRIX.sort_indices()
X = _DRAW.normal(size=(ROWS, 2)) * [0.1, 3] + [0.0, 50]
WEIGHT = _DRAW.integers(1, 4, ROWS) / 2
FAULTS = [
    (([3, 1], [1.0, 2.0]), "column 'v_indices' has 1 values that are not ascending, or negative"),
    (([3, 3], [1.0, 2.0]), "column 'v_indices' has 1 values that are not ascending, or negative"),
    (([-1, 3], [1.0, 2.0]), "column 'v_indices' has 1 values that are not ascending, or negative"),
    (([1, 3], [1.0]), "column 'v_indices' has 1 values that are not as long as its values"),
    (([1], None), "column 'v_indices' has 1 values that are not as long as its values"),
    (([1, None], [1.0, 2.0]), "column 'v_indices' has 1 values that are null"),
    (([1, 3], [1.0, None]), "column 'v_values' has 1 values that are null, or NaN"),
    (([1, 3], [1.0, np.nan]), "column 'v_values' has 1 values that are null, or NaN"),
    (([1, 3], [-np.inf, 1.0]), "column 'v_values' has 1 values that are infinite, or NaN"),
    (([1, 3], [1e200, 1.0]), "column 'v_values' has 1 values that are too large"),
]


def draw() -> np.random.Generator:
    """Return a generator that goes on where that of the rows ended, the same for everyone."""
    return copy.deepcopy(_DRAW)


def lists(matrix: Any, name: str = "v") -> dict[str, pa.Array]:
    rows = np.split(matrix.indices, matrix.indptr[1:-1]), np.split(matrix.data.astype(float), matrix.indptr[1:-1])
    return {key: pa.array(row, kind) for row, (key, kind) in zip(rows, sparse.fields([name]).items(), strict=True)}


def dataset(engine: Engine, rows: pa.Table, fragment_bytes: int = 8_000) -> Dataset:
    data = engine.from_arrow(rows, fragment_bytes=fragment_bytes)
    assert len(data.fragments) > 1
    return data


def faulty(table: pa.Table, row: int, indices: Any, values: Any) -> pa.Table:
    """Return the table with another vector in one row."""
    rows = table.to_pylist()
    rows[row] |= {"v_indices": indices, "v_values": values}
    return pa.Table.from_pylist(rows, table.schema)
