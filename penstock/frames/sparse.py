"""Sparse vectors in a frame: a pair of columns of lists, ``<name>_indices`` and ``<name>_values``.

Row by row, the indices (list of int32) are distinct, ascending and not negative, the values (list of float64) are as
many, and no element is null; both lists are null where there is no vector. What is not among the indices is zero. A
vector does not say how long it is: who makes one says so, and who reads one knows it or finds it out.

Polars, cuDF and Parquet hold such columns as they are; for arithmetic there is `scipy.sparse.csr_matrix`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError, SchemaError
from penstock.core.names import column_names
from penstock.core.schemas import require
from penstock.frames.ragged import Ragged, with_lists

if TYPE_CHECKING:
    from scipy import sparse

_TYPES = {"indices": pa.list_(pa.int32()), "values": pa.list_(pa.float64())}


def columns(name: str) -> tuple[str, str]:
    """Return the names of the two columns of a vector.

    Examples
    --------
    >>> columns("tf")
    ('tf_indices', 'tf_values')
    """
    indices, values = (f"{name}_{part}" for part in _TYPES)
    return indices, values


def fields(names: Sequence[str]) -> dict[str, pa.DataType]:
    """Return the columns of vectors with their types.

    Examples
    --------
    >>> list(fields(["tf"]))
    ['tf_indices', 'tf_values']
    """
    return {column: kind for name in names for column, kind in zip(columns(name), _TYPES.values(), strict=True)}


def among(names: Sequence[str]) -> list[str]:
    """Return the names of the vectors both columns of which are among `names`.

    Examples
    --------
    >>> among(["x", "tf_indices", "tf_values", "idf_values"])
    ['tf']
    """
    stems = (name.removesuffix("_indices") for name in names if name.endswith("_indices"))
    return [name for name in stems if columns(name)[1] in names]


def resolve(names: str | Sequence[str], schema: pa.Schema, stage: str) -> tuple[str, ...]:
    """Return names of vectors as a tuple.

    Raises
    ------
    SchemaError
        A column of a vector is not in the schema, or not of its type.
    ConfigError
        There is no name, or one is given twice.
    """
    stems = column_names(names, f"columns of {stage}", stage=stage)
    if not stems or len(set(stems)) < len(stems):
        raise ConfigError(f"columns of {stage} are {stems!r}, expected different names, and one at least", stage=stage)
    require(schema, [column for name in stems for column in columns(name)], stage=stage)
    for column, kind in fields(stems).items():
        if schema.field(column).type != kind:
            raise SchemaError(
                f"column {column!r} is {schema.field(column).type}, but {stage} takes {kind} there",
                hint="A sparse vector is <name>_indices, list of int32, and <name>_values, list of float64.",
                column=column, stage=stage,
            )  # fmt: skip
    return stems


def pair(frame: nw.DataFrame[Any], name: str) -> tuple[Ragged, Ragged]:
    """Return indices and values of the vectors of a frame.

    Raises
    ------
    DataValueError
        They are no vectors: of different lengths, an index that is negative, null or not above the one before it, or a
        value that is null.

    Examples
    --------
    >>> from penstock import frames
    >>> kind = pa.schema(list(fields(["v"]).items()))
    >>> frame = frames.from_arrow(pa.table({"v_indices": [[0, 3], None], "v_values": [[1.0, 2.0], None]}, kind))
    >>> [each.elements.to_pylist() for each in pair(frame, "v")]
    [[0, 3], [1.0, 2.0]]
    """
    indices, values = (Ragged.of(frame, column) for column in columns(name))
    at = columns(name)[0]
    if not (np.array_equal(indices.offsets, values.offsets) and np.array_equal(indices.missing, values.missing)):
        raise _broken(at, f"is not as long as {columns(name)[1]!r} in some rows")
    if indices.elements.null_count or values.elements.null_count:
        column = at if indices.elements.null_count else columns(name)[1]
        raise _broken(column, "has nulls, or NaN, in its lists", nw.col(column).list.contains(None))
    numbers = indices.elements.to_numpy(zero_copy_only=False)
    inside = np.diff(indices.rows) == 0
    if (numbers < 0).any() or (np.diff(numbers)[inside] <= 0).any():
        raise _broken(at, "has indices that are negative, or not above the one before")
    return indices, values


def _broken(column: str, problem: str, bad: nw.Expr | None = None) -> DataValueError:
    return DataValueError(
        f"column {column!r} {problem}, so that it is no sparse vector",
        hint="Indices are distinct and ascending, and each has a value.",
        column=column,
        predicate=bad,
    )


def to_csr(frame: nw.DataFrame[Any], name: str, size: int | None = None) -> sparse.csr_matrix:
    """Return vectors as a float64 matrix on the host, of `size` columns or as many as there are indices.

    A row that is null has no entries.

    Raises
    ------
    DataValueError
        As `pair` does, or for an index of `size` or more.

    Examples
    --------
    >>> from penstock import frames
    >>> kind = pa.schema(list(fields(["v"]).items()))
    >>> frame = frames.from_arrow(pa.table({"v_indices": [[0, 2], None], "v_values": [[1.0, 5.0], None]}, kind))
    >>> to_csr(frame, "v", 3).toarray().tolist()
    [[1.0, 0.0, 5.0], [0.0, 0.0, 0.0]]
    """
    indices, values = pair(frame, name)
    places = indices.elements.to_numpy(zero_copy_only=False)
    length = int(places.max()) + 1 if len(places) else 0
    if size is not None and length > size:
        raise _broken(columns(name)[0], f"has index {length - 1}, expected less than {size}")
    numbers = values.elements.to_numpy(zero_copy_only=False)
    from scipy import sparse  # slow to import: most workers and commands have no vector

    shape = (len(indices.missing), length if size is None else size)
    return sparse.csr_matrix((numbers, places, indices.offsets), shape=shape)


def counts(codes: np.ndarray, offsets: np.ndarray, size: int) -> sparse.csr_matrix:
    """Return how often each code is in each list, a float64 matrix with sorted indices.

    Parameters
    ----------
    codes : numpy.ndarray
        Integers below `size`, of all lists one after the other.
    offsets : numpy.ndarray
        As those of `Ragged`.

    Examples
    --------
    >>> counts(np.array([1, 1, 0]), np.array([0, 2, 3]), 2).toarray().tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    from scipy import sparse

    matrix = sparse.csr_matrix((np.ones(len(codes)), codes, offsets), shape=(len(offsets) - 1, size), copy=True)
    matrix.sum_duplicates()  # in place
    return matrix


def with_vectors(
    frame: nw.DataFrame[Any], made: Mapping[str, tuple[sparse.csr_matrix, np.ndarray]]
) -> nw.DataFrame[Any]:
    """Return `frame` with vectors added or replaced: the rows of matrices with sorted indices, null where a mask is.

    Examples
    --------
    >>> from scipy import sparse
    >>> from penstock import frames
    >>> matrix = sparse.csr_matrix([[0.0, 2.0], [0.0, 0.0]])
    >>> with_vectors(frames.from_arrow(pa.table({"x": [1, 2]})), {"v": (matrix, np.array([False, True]))}).rows()
    [(1, [1], [2.0]), (2, None, None)]
    """
    lists: dict[str, Ragged] = {}
    for name, (matrix, missing) in made.items():
        offsets = matrix.indptr.astype(np.int64)
        for column, values in zip(columns(name), (matrix.indices.astype(np.int32), matrix.data), strict=True):
            lists[column] = Ragged(pa.array(values), offsets, missing)
    return with_lists(frame, lists)
