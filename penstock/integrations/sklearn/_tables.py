"""Rows as scikit-learn passes them, as tables; and what a model gives, as what scikit-learn expects."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
from sklearn.utils.validation import validate_data

from penstock.core.errors import SchemaError
from penstock.frames.interchange import as_arrow, is_table
from penstock.frames.pandas import to_pandas


def features_table(estimator: Any, X: Any, *, names: list[str] | None = None) -> pa.Table:
    """Return `X` as a table, checked as scikit-learn checks it.

    Parameters
    ----------
    estimator : BaseEstimator
        At fit it gets the number of features and their names; later `X` is checked against them.
    X : array of shape (n_samples, n_features), or frame
    names : list of str, optional
        Of the columns that the estimator was fitted on; none at fit.

    Raises
    ------
    ValueError
        `X` has another shape or other names than at fit, or no rows.
    SchemaError
        A column has values of several kinds.
    """
    first = names is None
    if is_table(X):
        validate_data(estimator, X, reset=first, skip_check_array=True)
        table = as_arrow(X)
        if table.num_rows == 0:
            raise ValueError(f"found 0 sample(s) in X; {type(estimator).__name__} takes at least 1")
        if names is None:
            return table
        return table.select(names) if hasattr(estimator, "feature_names_in_") else table.rename_columns(names)
    array = validate_data(estimator, X, reset=first, dtype=None, ensure_all_finite=False)
    columns = [_column(array, place) for place in range(array.shape[1])]
    return pa.table(columns, names=names or [f"x{place}" for place in range(len(columns))])


def _column(array: np.ndarray, place: int) -> pa.Array:
    """Return one column of an array; NaN is null."""
    values = array[:, place]
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        # scikit-learn's words for what is neither number nor string.
        message = f"column x{place} has values of several kinds: argument must be a string or a number: {error}"
        raise TypeError(message) from error


def target_array(y: np.ndarray) -> pa.Array:
    """Return a label, checked by scikit-learn, as a column.

    Raises
    ------
    SchemaError
        It has values of several kinds.
    """
    try:
        return pa.array(y.tolist() if y.dtype == object else y, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise SchemaError(f"y has values of several kinds: {error}", hint="Make them of one type before.") from error


def numpy_column(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column as numpy has it: null is NaN among numbers, None among others; lists of numbers are rows.

    Examples
    --------
    >>> numpy_column(pa.chunked_array([[1, None]])), numpy_column(pa.chunked_array([[[1.0, 2.0], None]]))
    (array([ 1., nan]), array([[ 1.,  2.],
           [nan, nan]]))
    """
    if not pa.types.is_list(column.type):
        return column.to_numpy()
    rows = column.to_pylist()
    nothing = [np.nan] * max((len(row) for row in rows if row is not None), default=0)
    return np.array([nothing if row is None else row for row in rows], dtype=np.float64)


def matrix(table: pa.Table) -> np.ndarray:
    """Return a table as one array: of numbers, or of objects where some column has none.

    Examples
    --------
    >>> matrix(pa.table({"n": [1, 2], "x": [0.5, None]}))
    array([[1. , 0.5],
           [2. , nan]])
    """
    columns = [column.to_numpy() for column in table.columns]
    numbers = all(np.issubdtype(column.dtype, np.number) or column.dtype == bool for column in columns)
    dtype = np.result_type(*columns) if numbers and columns else object
    array = np.empty((table.num_rows, len(columns)), dtype)
    for place, column in enumerate(columns):
        array[:, place] = column
    return array


def output(table: pa.Table, container: str, X: Any) -> Any:
    """Return rows as ``set_output`` asks: "default" for an array, "pandas", with the index of `X`, or "polars"."""
    if container == "polars":
        return pl.from_arrow(table)
    if container == "pandas":
        frame = to_pandas(table)
        return frame.set_axis(X.index) if nw.dependencies.is_pandas_dataframe(X) else frame
    return matrix(table)
