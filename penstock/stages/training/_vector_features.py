"""Features one of which is a sparse vector: a CSR matrix on the host, also where frames are on a GPU.

Of trees it has numbers in its first columns and the vector in those after. What is missing has no entry, and so has
what a vector leaves out: XGBoost takes both for missing, as it does with any sparse matrix. A zero that a vector has is
a zero. To linear models and naive Bayes what a vector leaves out is zero, and numbers are beside the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from scipy import sparse as scipy_sparse

from penstock.core.errors import DataValueError
from penstock.frames import matrices, sparse
from penstock.statistics.index_counts import refuse_infinite
from penstock.statistics.vector_faults import refuse_broken

Names = tuple[tuple[str, ...], str]
"""The columns of numbers, and the name of the vector."""


def split(frame: nw.DataFrame[Any], columns: Sequence[str]) -> Names:
    """Return the columns of numbers, and the vector, among features that have one."""
    return _names(columns, [name for name in columns if isinstance(frame.schema[name], nw.List)])


def _names(columns: Sequence[str], lists: Sequence[str]) -> Names:
    return tuple(name for name in columns if name not in lists), lists[0].rpartition("_")[0]


def to_csr(
    frame: nw.DataFrame[Any], names: Names, numbers: Callable[..., Any], index: np.ndarray
) -> scipy_sparse.csr_matrix:
    """Return features as a float32 matrix on the host, with a column for each number and each of `index`.

    Parameters
    ----------
    numbers : callable
        Makes a matrix of a frame and its columns of numbers.
    index : numpy.ndarray
        int32, ascending. What vectors have elsewhere is left out.

    Raises
    ------
    DataValueError
        The vector is none, or a value of it is infinite, NaN, or too large for float32.
    """
    columns, vector = names
    with np.errstate(over="ignore"):
        matrix = sparse.to_csr(frame, vector).astype(np.float32)
    refuse_infinite(vector, int((~np.isfinite(matrix.data)).sum()))
    matrix = _columns(matrix, index)
    return _joined(matrices.to_host(numbers(frame, columns)), matrix) if columns else matrix


def _columns(matrix: scipy_sparse.csr_matrix, index: np.ndarray) -> scipy_sparse.csr_matrix:
    """Return these columns of a matrix; a row keeps an entry of zero."""
    at, known = _places(matrix.indices, index)
    ends = np.concatenate([[0], np.cumsum(known)])[matrix.indptr]
    return scipy_sparse.csr_matrix((matrix.data[known], at[known], ends), shape=(matrix.shape[0], len(index)))


def _places(indices: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where in `index` each of some indices is, int32, and whether it is there."""
    at = np.searchsorted(index, indices).astype(np.int32)
    return at, np.append(index, np.int32(-1))[at] == indices


def _joined(numbers: np.ndarray, matrix: scipy_sparse.csr_matrix) -> scipy_sparse.csr_matrix:
    rows, places = np.nonzero(~np.isnan(numbers))
    first = scipy_sparse.csr_matrix((numbers[rows, places], (rows, places)), shape=numbers.shape)
    return scipy_sparse.hstack([first, matrix], format="csr", dtype=np.float32)


def empty(features: Sequence[str], index: np.ndarray) -> scipy_sparse.csr_matrix:
    """Return the matrix of no rows, of features two of which are a vector's."""
    return scipy_sparse.csr_matrix((0, len(features) - 2 + len(index)), dtype=np.float32)


def csr_row(
    columns: Sequence[str],
    schema: pa.Schema,
    numbers: Callable[..., Callable[[Mapping[str, Any]], np.ndarray]],
    index: np.ndarray | None,
) -> Callable[[Mapping[str, Any]], scipy_sparse.csr_matrix] | None:
    """Return what makes the matrix of one row of Python values that `to_csr` makes; None where there is no `index`.

    Parameters
    ----------
    numbers : callable
        Returns, of columns and schema, what makes a matrix of the numbers of a row.
    """
    if index is None:
        return None
    plain, vector = _names(columns, [name for name in columns if pa.types.is_list(schema.field(name).type)])
    convert = numbers(plain, schema)
    indices, values = sparse.columns(vector)

    def made(row: Mapping[str, Any]) -> scipy_sparse.csr_matrix:
        at, held = ([] if row[name] is None else row[name] for name in (indices, values))
        with np.errstate(over="ignore"):
            data = np.array(held, np.float64).astype(np.float32)
        refuse_infinite(vector, int((~np.isfinite(data)).sum()))
        shape = (1, at[-1] + 1 if at else 0)
        matrix = _columns(scipy_sparse.csr_matrix((data, np.array(at, np.int32), [0, len(at)]), shape=shape), index)
        return _joined(convert(row), matrix) if plain else matrix

    return made


def refuse_empty(vector: str, indices: int) -> None:
    """Raise DataValueError where no row of a vector has an index: there are 0 of them."""
    if not indices:
        column = sparse.columns(vector)[0]
        raise DataValueError(f"column {column!r} has no index in any of its lists", column=column)


def at_indices(
    frame: nw.DataFrame, vector: str, index: np.ndarray, size: int = 0
) -> tuple[scipy_sparse.csr_matrix, np.ndarray]:
    """Return vectors as a float64 matrix on the host with a column for each of `index`, and which rows are null.

    Parameters
    ----------
    index : numpy.ndarray
        int32, ascending. What vectors have elsewhere is left out.
    size : int
        Others below this are kept, all in one more column at the end, which 0 leaves out.

    Raises
    ------
    DataValueError
        Rows hold no vectors of finite numbers.

    Examples
    --------
    >>> from penstock import frames
    >>> rows = {"v_indices": [[0, 3, 7], None], "v_values": [[1.0, 2.0, 4.0], None]}
    >>> frame = frames.from_arrow(pa.table(rows, pa.schema(list(sparse.fields(["v"]).items()))))
    >>> matrix, missing = at_indices(frame, "v", np.array([3, 9], np.int32), size=5)
    >>> matrix.toarray().tolist(), missing.tolist()
    ([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0]], [False, True])
    """
    refuse_broken(frame, vector)
    indices, values = sparse.pair(frame, vector)
    places, numbers = (each.elements.to_numpy(zero_copy_only=False) for each in (indices, values))
    at, known = _places(places, index)
    kept = known | (places < size)
    at[~known] = len(index)
    ends = np.concatenate([[0], np.cumsum(kept)])[indices.offsets]
    shape = (len(indices.missing), len(index) + bool(size))
    return scipy_sparse.csr_matrix((numbers[kept], at[kept], ends), shape=shape), indices.missing


def index_table(index: np.ndarray, rows: np.ndarray) -> pa.Table:
    """Return numbers at indices as a table: ``index``, and a column for each of `rows`, named by its place.

    Examples
    --------
    >>> index_table(np.array([3, 7], np.int32), np.array([[0.5, 1.5]])).to_pylist()
    [{'index': 3, '0': 0.5}, {'index': 7, '0': 1.5}]
    """
    return pa.table({"index": pa.array(index, pa.int32()), **{str(place): row for place, row in enumerate(rows)}})


def of_index_table(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return indices, and numbers of shape (rows, indices), as `index_table` took them."""
    index, *rows = (table[name].to_numpy() for name in table.column_names)
    return index, np.stack(rows)
