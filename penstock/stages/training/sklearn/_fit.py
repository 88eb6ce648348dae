"""Matrices of all rows, their checks, and an estimator's fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import devices
from penstock.core.errors import ConfigError, DataValueError, RowCountError
from penstock.frames import ROW, matrices
from penstock.spmd import Rank
from penstock.stages.classes import label_codes
from penstock.stages.target import check_weights
from penstock.stages.training._finite import finite_matrix
from penstock.statistics.rules import Rule, rules_for

_SHARE = 4
"""The matrix may take this part of the memory of a machine or a GPU: estimators make copies, and results need room."""
_MOST_WARNINGS = 20
_FEW, _TIMES = 500, 10
"""An estimator is tried out on about so many rows, where there are ten times as many: it costs next to nothing then."""


def rules(
    schema: pa.Schema, *, labels: tuple[str, ...], weight: str | None, features: tuple[str, ...], classifies: bool
) -> Iterator[tuple[str, Rule]]:
    """Yield columns, each with a rule that its values keep.

    Examples
    --------
    >>> schema = pa.schema({"y": pa.string(), "x": pa.float64()})
    >>> found = rules(schema, labels=("y",), weight=None, features=("x",), classifies=True)
    >>> [(name, rule.test) for name, rule in found]
    [('y', 'null'), ('x', 'null'), ('x', 'infinite')]
    """
    for name in labels:
        of_floats = ("infinite", "not_whole") if classifies else ("infinite",)
        tests = ("null", *(of_floats if pa.types.is_floating(schema.field(name).type) else ()))
        yield from rules_for((name,), *tests)
    if weight is not None:
        yield from rules_for((weight,), "null", "infinite", "negative")
    for name in features:
        yield from rules_for((name,), "null", "infinite")


def value_error(
    name: str, rule: Rule, count: int, *, rows: int, features: tuple[str, ...], allow_nan: bool
) -> DataValueError | None:
    """Return the error for `count` values that break a rule; None for nulls that are allowed, unless all rows are."""
    of_feature = name in features and rule.test == "null"
    if of_feature and count == rows:
        return DataValueError(f"column {name!r} is null in all {rows} row(s)", hint="Leave it out.", column=name)
    if of_feature and allow_nan:
        return None
    error = rule.error(name, count)
    if of_feature:
        error.hint = "Put an Imputer before this step, or use an estimator that takes missing values."
    return error


@dataclass(frozen=True)
class Rows:
    """What an estimator is fitted on, NumPy or CuPy: features of shape (rows, features), labels, weights."""

    x: Any
    label: Any | None
    weight: Any | None


@dataclass(frozen=True)
class ToRows:
    """Turns a frame, whose values were checked before, into rows.

    Parameters
    ----------
    features, labels : tuple of str
    classes : tuple or None
        Labels become their position among these; None takes them as numbers.
    weight : str or None
    dtype : {"float64", "float32"}
    on_device : bool
        Rows stay where the frame is; else they are brought to the host.
    """

    features: tuple[str, ...]
    labels: tuple[str, ...]
    classes: tuple[Any, ...] | None
    weight: str | None
    dtype: str = "float64"
    on_device: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        return (*self.features, *self.labels) + (() if self.weight is None else (self.weight,))

    def __call__(self, frame: nw.DataFrame) -> Any:
        """Return all columns as one matrix, in the order of `columns`.

        Raises
        ------
        DataValueError
            A value is too large for float32.
        """
        if self.classes is not None:
            name = self.labels[0]
            frame = frame.with_columns(matrices.column(frame, name, label_codes(frame, name, self.classes)))
        matrix = (finite_matrix if self.dtype == "float32" else matrices.to_matrix)(frame, self.columns, self.dtype)
        return matrix if self.on_device else matrices.to_host(matrix)


def read(rank: Rank, convert: ToRows, rows: int, limit: int | None) -> Rows:
    """Read all rows, in the order of their numbers.

    Raises
    ------
    ConfigError
        Before reading: they take more memory than `limit`, or than a quarter of what this process, or its GPU, has.
    RowCountError
        There are not `rows` of them.
    """
    _check_size(rank, convert, rows, limit)
    own = _rows(_stack(rank.batches("train", convert.columns, convert), rows, convert), convert)
    check_weights(convert.weight, _largest_weight(own))
    return own


def few(rows: Rows) -> Rows | None:
    """Return some of the rows, evenly; None where they are no small part of them."""
    step = len(rows.x) // _FEW
    if step < _TIMES:
        return None
    return Rows(*(None if each is None else each[::step] for each in (rows.x, rows.label, rows.weight)))


def read_share(rank: Rank, convert: ToRows, rows: int, limit: int | None) -> tuple[Rows, list[int]]:
    """Read the rows of this rank alone, and return them with how many each rank has; every rank calls it.

    They are twice in memory for a moment: how many there are is known when they are read.

    Raises
    ------
    ConfigError, RowCountError
        As of `read`, the former of what this rank stores at most.
    DataValueError
        All weights of all ranks are 0.
    """
    _check_size(rank, convert, min(rows, rank.rows("train")), limit)
    parts = list(rank.batches("train", convert.columns, convert))
    own = _rows(_stack(parts, sum(map(len, parts)), convert), convert)
    parts.clear()
    told = rank.gather((len(own.x), _largest_weight(own)))
    _check_count(sum(size for size, _ in told), rows)
    check_weights(convert.weight, max(largest for _, largest in told))
    return own, [size for size, _ in told]


def read_numbered(rank: Rank, convert: ToRows, rows: int, limit: int | None) -> tuple[Rows, np.ndarray]:
    """Read all rows as `read` does, but without weights, and their numbers, ascending: int64, (rows,), on the host."""
    _check_size(rank, convert, rows, limit)
    numbers: list[np.ndarray] = [np.empty(0, np.int64)]

    def matrices_alone() -> Iterator[Any]:
        columns = (*convert.columns, ROW)
        for matrix, own in rank.batches("train", columns, lambda frame: (convert(frame), frame[ROW].to_numpy())):
            numbers.append(own)
            yield matrix

    values = _stack(matrices_alone(), rows, convert)
    return _rows(values, convert), np.concatenate(numbers)


def _largest_weight(rows: Rows) -> float:
    """Return the largest weight, 0 where there are no rows, 1 where there are no weights."""
    if rows.weight is None:
        return 1.0
    return float(rows.weight.max()) if len(rows.weight) else 0.0


def _rows(values: Any, convert: ToRows) -> Rows:
    """Return a matrix of all columns as features, labels and weights."""
    width, labels = len(convert.features), len(convert.labels)
    weight = None if convert.weight is None else values[:, -1].copy()
    label = _label(values[:, width : width + labels], convert)
    # On a device columns lie one after another, as cuML takes them, and features are a view; elsewhere rows do.
    return Rows(values[:, :width] if convert.on_device else np.ascontiguousarray(values[:, :width]), label, weight)


def _stack(parts: Iterable[Any], rows: int, convert: ToRows) -> Any:
    """Return the rows of all parts in one matrix, on their device; RowCountError unless there are so many."""
    values: Any = None if rows else np.empty((0, len(convert.columns)), convert.dtype)
    begin = 0
    for part in parts:
        if values is None:
            values = np.empty_like(part, shape=(rows, len(convert.columns)), order="F" if convert.on_device else "C")
        begin += len(part)
        if len(part) and begin <= rows:  # without any rows they would go to the host
            values[begin - len(part) : begin] = part
    _check_count(begin, rows)
    return values


def _check_count(found: int, rows: int) -> None:
    if found != rows:
        hint = "A filter before it must keep the same rows each time."
        raise RowCountError(f"{found:,} rows were read, and {rows:,} were counted before", hint=hint, rows=found)


def _label(values: Any, convert: ToRows) -> Any | None:
    if not convert.labels:
        return None
    if convert.classes is None:
        return values[:, 0].copy() if len(convert.labels) == 1 else values.copy()
    places = values[:, 0].astype("int32")
    return places if convert.on_device else class_values(convert.classes)[places]


def class_values(classes: tuple[Any, ...]) -> np.ndarray:
    """Return the classes as an estimator sees them, strings as objects of Python.

    Examples
    --------
    >>> class_values(("no", "yes")), class_values((0, 1))
    (array(['no', 'yes'], dtype=object), array([0, 1]))
    """
    return np.array(classes, dtype=object if isinstance(classes[0], str) else None)


def _check_size(rank: Rank, convert: ToRows, rows: int, limit: int | None) -> None:
    columns, value = len(convert.columns), np.dtype(convert.dtype).itemsize
    needed = rows * columns * value
    allowed, source = _most_bytes(rank, convert, limit)
    size = f"{rows:,} rows x {columns} columns x {value} bytes = {needed:,} bytes"
    if allowed is not None and needed > allowed:
        raise ConfigError(
            f"{size} do not fit on one rank: the limit is {allowed:,} bytes, {source}",
            hint="Take a sample or fewer columns, raise memory_limit, or use a stage that trains on all ranks.",
        )
    rank.report(0, f"reading {size} on one rank")


def _most_bytes(rank: Rank, convert: ToRows, limit: int | None) -> tuple[int | None, str]:
    """Return how large the matrix may be, None where nobody knows, and what says so."""
    if limit is not None:
        return limit, "memory_limit"
    if not convert.on_device:
        return devices.memory_limit() // _SHARE, "a quarter of the memory that the process may use"
    memory = devices.use(rank.kind).memory
    return None if memory is None else memory // _SHARE, "a quarter of the memory of the GPU"


def fit(estimator: Any, rows: Rows, weight_argument: str | None, threads: int) -> list[str]:
    """Fit an estimator as `call` does, and return what it warned of."""
    given = {} if rows.label is None else {"y": rows.label}
    if rows.weight is not None:
        given[str(weight_argument)] = rows.weight
    return call(partial(estimator.fit, rows.x, **given), threads)[1]


def call(fitting: Callable[[], Any], threads: int) -> tuple[Any, list[str]]:
    """Return what a method that fits an estimator gives, and what it warned of.

    Its own parallel loops run in threads: ranks are not to start processes.

    Raises
    ------
    ConfigError
        A parameter of the estimator is wrong.
    """
    from joblib import parallel_config
    from sklearn.utils._param_validation import InvalidParameterError

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with parallel_config(backend="threading", n_jobs=threads), np.errstate(all="ignore"):
            try:
                result = fitting()
            except InvalidParameterError as error:
                raise ConfigError(str(error)) from error
    texts = dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in caught)
    return result, list(texts)[:_MOST_WARNINGS]


@contextmanager
def values_refused(what: str, features: tuple[str, ...]) -> Iterator[None]:
    """Tell a ValueError of an estimator as one about the features."""
    try:
        yield
    except (ConfigError, DataValueError):
        raise
    except ValueError as error:
        raise DataValueError(
            f"{what} refuses the values of {', '.join(map(repr, features[:10]))}: {error}",
            hint="See which values it takes; clip, scale or fill them before.",
        ) from error
