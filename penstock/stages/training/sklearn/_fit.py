"""All rows on one rank as matrices, and the fit of an estimator on them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from penstock import devices
from penstock.core.errors import ConfigError, DataValueError
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.classes import coded_label
from penstock.stages.target import check_weights

_SHARE = 4
"""The matrix may take this part of a machine's memory: estimators make copies, and results need room."""
_VALUE = 8
_MOST_WARNINGS = 20


@dataclass(frozen=True)
class Rows:
    """What an estimator is fitted on: features of shape (rows, features), labels, weights."""

    x: np.ndarray
    label: np.ndarray | None
    weight: np.ndarray | None


@dataclass(frozen=True)
class ToRows:
    """Turns a frame, whose values were checked before, into rows on the host.

    Parameters
    ----------
    features, labels : tuple of str
    classes : tuple or None
        Labels become their position among these; None takes them as numbers.
    weight : str or None
    """

    features: tuple[str, ...]
    labels: tuple[str, ...]
    classes: tuple[Any, ...] | None
    weight: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        return (*self.features, *self.labels) + (() if self.weight is None else (self.weight,))

    def __call__(self, frame: nw.DataFrame) -> np.ndarray:
        """Return all columns as one matrix, in the order of `columns`."""
        if self.classes is not None:
            frame = frame.with_columns(coded_label(self.labels[0], self.classes))
        return matrices.to_host(matrices.to_matrix(frame, self.columns, "float64"))


def read(rank: Rank, convert: ToRows, rows: int, limit: int | None) -> Rows:
    """Read all rows, in the order of their numbers.

    Raises
    ------
    ConfigError
        Before reading: they take more memory than `limit`, or than a quarter of what this process may use.
    """
    _check_size(rank, rows, len(convert.columns), limit)
    values = np.empty((rows, len(convert.columns)))
    begin = 0
    for part in rank.batches("train", convert.columns, convert):
        values[begin : begin + len(part)] = part
        begin += len(part)
    width, labels = len(convert.features), len(convert.labels)
    weight = values[:, -1].copy() if convert.weight is not None else None
    if weight is not None:
        check_weights(convert.weight, weight.max(initial=0.0))
    return Rows(np.ascontiguousarray(values[:, :width]), _label(values[:, width : width + labels], convert), weight)


def _label(values: np.ndarray, convert: ToRows) -> np.ndarray | None:
    if not convert.labels:
        return None
    if convert.classes is not None:
        return class_values(convert.classes)[values[:, 0].astype(np.intp)]
    return values[:, 0].copy() if len(convert.labels) == 1 else values.copy()


def class_values(classes: tuple[Any, ...]) -> np.ndarray:
    """Return the classes as an estimator sees them, strings as objects of Python.

    Examples
    --------
    >>> class_values(("no", "yes")), class_values((0, 1))
    (array(['no', 'yes'], dtype=object), array([0, 1]))
    """
    return np.array(classes, dtype=object if isinstance(classes[0], str) else None)


def _check_size(rank: Rank, rows: int, columns: int, limit: int | None) -> None:
    needed = rows * columns * _VALUE
    allowed = devices.memory_limit() // _SHARE if limit is None else limit
    size = f"{rows:,} rows x {columns} columns x {_VALUE} bytes = {needed:,} bytes"
    if needed > allowed:
        source = "memory_limit" if limit is not None else "a quarter of the memory that the process may use"
        raise ConfigError(
            f"{size} do not fit on one rank: the limit is {allowed:,} bytes, {source}",
            hint="Take a sample or fewer columns, raise memory_limit, or use a stage that trains on all ranks.",
        )
    rank.report(0, f"reading {size} on one rank")


def fit(estimator: Any, rows: Rows, weight_argument: str | None, threads: int) -> list[str]:
    """Fit an estimator, and return what it warned of.

    Its own parallel loops run in threads: ranks are not to start processes.

    Raises
    ------
    ConfigError
        A parameter of it is wrong.
    """
    from joblib import parallel_config
    from sklearn.utils._param_validation import InvalidParameterError

    given = {} if rows.label is None else {"y": rows.label}
    if rows.weight is not None:
        given[str(weight_argument)] = rows.weight
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with parallel_config(backend="threading", n_jobs=threads), np.errstate(all="ignore"):
            try:
                estimator.fit(rows.x, **given)
            except InvalidParameterError as error:
                raise ConfigError(str(error)) from error
    texts = dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in caught)
    return list(texts)[:_MOST_WARNINGS]


@contextmanager
def values_refused(what: str, features: tuple[str, ...]) -> Iterator[None]:
    """Tell a ValueError of scikit-learn as one about the features."""
    try:
        yield
    except (ConfigError, DataValueError):
        raise
    except ValueError as error:
        raise DataValueError(
            f"{what} refuses the values of {', '.join(map(repr, features[:10]))}: {error}",
            hint="See which values it takes; clip, scale or fill them before.",
        ) from error
