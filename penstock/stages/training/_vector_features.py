"""Features one of which is a sparse vector: a CSR matrix, numbers in its first columns and the vector in those after.

What is missing has no entry, and so has what a vector leaves out: XGBoost takes both for missing, as it does with any
sparse matrix. A zero that a vector has is a zero. Such a matrix is on the host, also where frames are on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from scipy import sparse as scipy_sparse

from penstock import arrays, frames, sparse
from penstock.errors import SchemaError
from penstock.statistics.index_counts import refuse_infinite

Names = tuple[tuple[str, ...], str]
"""The columns of numbers, and the name of the vector."""


def vector_among(features: Sequence[str], schema: pa.Schema, stage: str) -> str | None:
    """Return the name of the vector whose two columns are among features; None where these have no lists.

    Raises
    ------
    SchemaError
        Lists that are not the two columns of one vector, or not of their types.

    Examples
    --------
    >>> schema = pa.schema([("x", pa.int64()), *sparse.fields(["tf"]).items()])
    >>> vector_among(["x", "tf_indices", "tf_values"], schema, "XGBoostRegressor")
    'tf'
    """
    lists = [name for name in features if pa.types.is_list(schema.field(name).type)]
    if not lists:
        return None
    vector = lists[0].rpartition("_")[0]
    if set(lists) != set(sparse.columns(vector)):
        raise SchemaError(
            f"features of {stage} have lists, {', '.join(map(repr, lists))}, expected numbers, or beside them"
            " the two columns of one sparse vector, <name>_indices and <name>_values",
            hint="Name both columns of one vector; to have several, hash all words into one.",
            column=lists[0], stage=stage,
        )  # fmt: skip
    return sparse.resolve(vector, schema, stage)[0]


def split(frame: nw.DataFrame[Any], columns: Sequence[str]) -> Names | None:
    """Return the columns of numbers and the vector among features; None where there is no vector."""
    lists = [name for name in columns if isinstance(frame.schema[name], nw.List)]
    return _names(columns, lists) if lists else None


def _names(columns: Sequence[str], lists: Sequence[str]) -> Names:
    return tuple(name for name in columns if name not in lists), lists[0].rpartition("_")[0]


def to_csr(
    frame: nw.DataFrame[Any], names: Names, numbers: Callable[..., Any], size: int | None = None
) -> scipy_sparse.csr_matrix:
    """Return features as a float32 matrix on the host.

    Parameters
    ----------
    numbers : callable
        Makes a matrix of a frame and its columns of numbers.
    size : int, optional
        How long the vector is, what is beyond is left out; as long as it is, unless given.

    Raises
    ------
    DataValueError
        The vector is none, or a value of it is infinite, NaN, or too large for float32.
    """
    columns, vector = names
    with np.errstate(over="ignore"):
        matrix = sparse.to_csr(frame, vector).astype(np.float32)
    refuse_infinite(vector, int((~np.isfinite(matrix.data)).sum()), on_gpu=frames.is_gpu(frame))
    if size is not None:
        matrix.resize((matrix.shape[0], size))
    return _joined(arrays.to_host(numbers(frame, columns)), matrix) if columns else matrix


def _joined(numbers: np.ndarray, matrix: scipy_sparse.csr_matrix) -> scipy_sparse.csr_matrix:
    rows, places = np.nonzero(~np.isnan(numbers))
    first = scipy_sparse.csr_matrix((numbers[rows, places], (rows, places)), shape=numbers.shape)
    return scipy_sparse.hstack([first, matrix], format="csr", dtype=np.float32)


def empty(features: Sequence[str], size: int) -> scipy_sparse.csr_matrix:
    """Return the matrix of no rows, of features two of which are a vector's."""
    return scipy_sparse.csr_matrix((0, len(features) - 2 + size), dtype=np.float32)


def csr_row(
    columns: Sequence[str], schema: pa.Schema, numbers: Callable[..., Callable[[Mapping[str, Any]], np.ndarray]]
) -> Callable[[Mapping[str, Any]], scipy_sparse.csr_matrix] | None:
    """Return what makes a matrix of one row of Python values; None where features have no vector.

    Parameters
    ----------
    numbers : callable
        Returns, of columns and schema, what makes a matrix of the numbers of a row.
    """
    lists = [name for name in columns if pa.types.is_list(schema.field(name).type)]
    if not lists:
        return None
    plain, vector = _names(columns, lists)
    convert = numbers(plain, schema)
    indices, values = sparse.columns(vector)

    def made(row: Mapping[str, Any]) -> scipy_sparse.csr_matrix:
        at, held = ([] if row[name] is None else row[name] for name in (indices, values))
        with np.errstate(over="ignore"):
            data = np.array(held, np.float64).astype(np.float32)
        refuse_infinite(vector, int((~np.isfinite(data)).sum()), on_gpu=False)
        shape = (1, at[-1] + 1 if at else 0)
        matrix = scipy_sparse.csr_matrix((data, np.array(at, np.int32), [0, len(at)]), shape=shape)
        return _joined(convert(row), matrix) if plain else matrix

    return made
