"""Matrices of features without infinities, and the error for values that training and scoring cannot take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from penstock.core.errors import DataValueError
from penstock.frames import matrices


def finite_matrix(frame: nw.DataFrame, columns: tuple[str, ...], dtype: str) -> Any:
    """Return the matrix of `columns`, "float32" or "float64", NaN for null.

    Raises
    ------
    DataValueError
        A value is infinite, or too large for float32.
    """
    matrix = matrices.to_matrix(frame, columns, dtype)
    refuse_infinite(columns, matrices.count_infinite(matrix), dtype)
    return matrix


def refuse_infinite(columns: Sequence[str], counts: Sequence[int], dtype: str) -> None:
    """Raise DataValueError for the first column whose count of infinite values is not 0."""
    problem = "infinite, or too large for float32" if dtype == "float32" else "infinite"
    for name, count in zip(columns, counts, strict=True):
        if count:
            number = nw.col(name).cast(nw.Float32 if dtype == "float32" else nw.Float64)
            predicate = number.abs() == float("inf")
            raise bad_values(name, count, problem, predicate, "Clip the column, or set such values to null.")


def bad_values(column: str, count: int, problem: str, predicate: nw.Expr, hint: str | None = None) -> DataValueError:
    """Return the error for values of a column that make training meaningless; its predicate finds them."""
    message = f"column {column!r}: {count} value(s) {problem}"
    return DataValueError(message, hint=hint, predicate=predicate, column=column, rows=count)
