"""What a fitted estimator makes of a matrix, as arrays of numbers, and as columns of a frame."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, DataValueError
from penstock.frames import matrices
from penstock.stages.target import null_where
from penstock.stages.training.sklearn._fit import class_values, values_refused


def score(
    estimator: Any, matrix: np.ndarray, method: str, classes: tuple[Any, ...] | None, what: str, names: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Call a method of an estimator, and what belongs to it, in one thread.

    Parameters
    ----------
    estimator : estimator
    matrix : numpy.ndarray
        One row at least.
    method : str
        One of those that the stage has.
    classes : tuple or None
        Those of a classifier.
    what : str
        What errors call the estimator.
    names : tuple of str
        Of the features, for errors.

    Returns
    -------
    dict of str to numpy.ndarray
        What the method gives, under its name: float64, of one or two dimensions. Then, unless that is transform,
        "predict": positions among the classes; what the estimator predicts if it is no classifier.

    Raises
    ------
    DataValueError
        The estimator refuses the values, or makes of rows without missing values something that is not finite.
    """
    from joblib import parallel_config

    made = {}
    with parallel_config(backend="sequential"), np.errstate(all="ignore"), values_refused(what, names):
        if method != "predict":
            made[method] = _numbers(getattr(estimator, method)(matrix))
        if method != "transform":
            predicted = np.asarray(estimator.predict(matrix))
            made["predict"] = _flat(predicted) if classes is None else _codes(predicted, classes)
    if method == "predict_proba" and classes is not None and len(classes) == 2:
        made[method] = made[method][:, 1]
    check_finite(made, matrix, what, names)
    return made


def _numbers(values: Any) -> np.ndarray:
    dense = values.toarray() if hasattr(values, "toarray") else values
    return np.asarray(dense).astype(np.float64)


def _flat(values: np.ndarray) -> np.ndarray:
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _codes(predicted: np.ndarray, classes: tuple[Any, ...]) -> np.ndarray:
    return np.searchsorted(class_values(classes), predicted.ravel()).astype(np.int32)


def check_finite(made: dict[str, np.ndarray], matrix: np.ndarray, what: str, names: tuple[str, ...]) -> None:
    """Raise DataValueError where a method gives infinity, or NaN for a row of the matrix without a missing value."""
    complete = ~np.isnan(matrix).any(axis=1)
    for method, values in made.items():
        bad = int((_any(np.isinf(values)) | (_any(np.isnan(values)) & complete)).sum())
        if bad:
            raise DataValueError(
                f"{method} of {what} gives NaN or infinity for {bad} row(s) of {', '.join(map(repr, names[:10]))}",
                hint="Clip or scale the features to the range that they can have.",
                rows=bad,
            )


def named(values: np.ndarray, names: tuple[str, ...], what: str) -> dict[str, np.ndarray]:
    """Return the numbers that a transformer gives by column: one for each, or all in one.

    Raises
    ------
    ConfigError
        There are neither as many names as numbers, nor one.
    """
    if len(names) == 1 and values.shape[1] != 1:
        return {names[0]: values}
    if len(names) != values.shape[1]:
        raise ConfigError(
            f"{what} gives {values.shape[1]} numbers a row, but there are {len(names)} output_columns",
            hint="Name each, or one for a list of all of them.",
        )
    return dict(zip(names, values.T, strict=True))


def spread(values: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values for all rows from those of the rows present, and which rows have none: absent, or NaN.

    Examples
    --------
    >>> spread(np.array([1.0, np.nan]), np.array([True, False, True]))
    (array([1., 0., 0.]), array([False,  True,  True]))
    """
    whole = np.zeros((len(present), *values.shape[1:]), dtype=values.dtype)
    missing = _any(np.isnan(values))
    whole[present] = values
    absent = ~present
    absent[present] = missing
    whole[absent] = 0
    return whole, absent


def _any(marked: np.ndarray) -> Any:
    """Return which rows have a mark."""
    return marked.any(axis=tuple(range(1, marked.ndim)))


def to_series(frame: nw.DataFrame, name: str, values: np.ndarray, present: np.ndarray) -> nw.Series:
    """Return values of the rows present as a column of `frame`, null in the others and for NaN."""
    whole, missing = spread(values, present)
    kind = frames.kind_of(frame)
    series = matrices.column(frame, name, matrices.to_device(whole, kind))
    return null_where(frame, series, matrices.to_device(missing, kind))


def to_classes(frame: nw.DataFrame, name: str, places: np.ndarray, present: np.ndarray, classes: pa.Array) -> nw.Series:
    """Return the classes at some places as a column of `frame`, null in the rows that are not present."""
    whole, missing = spread(places, present)
    codes = np.where(missing, -1, whole).astype(np.int32)
    return frames.decode(matrices.column(frame, name, matrices.to_device(codes, frames.kind_of(frame))), classes)
