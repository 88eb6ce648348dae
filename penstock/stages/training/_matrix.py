"""Frames to the matrices that XGBoost trains on, on the device where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import xgboost as xgb

from penstock import arrays
from penstock.errors import DataValueError
from penstock.frames import ROW, Kind
from penstock.spmd import Rank
from penstock.statistics.rules import Checks, Rule, refuse, valid_rows

CACHE_BYTES = 4 * 2**30
"""Matrices of a rank up to this size are kept while XGBoost passes over them; larger ones are read again each time."""


@dataclass(frozen=True)
class Batch:
    """The rows of one fragment: features (see `arrays.features`), labels; weights and row numbers (uint64) if any."""

    features: Any
    label: Any
    weight: Any | None
    rows: np.ndarray | None = None


@dataclass(frozen=True)
class ToBatch:
    """Turns a frame into a batch; training data was checked before, validation data only here.

    Parameters
    ----------
    features : tuple of str
    label : str
    classes : tuple or None
        Labels become their position among these; None takes them as numbers.
    weight : str or None
    numbered : bool
        Take the row numbers too.
    """

    features: tuple[str, ...]
    label: str
    classes: tuple[Any, ...] | None
    weight: str | None
    numbered: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        more = [name for name in (self.label, self.weight) if name is not None]
        return tuple(dict.fromkeys([*self.features, *more, *([ROW] if self.numbered else [])]))

    def __call__(self, frame: nw.DataFrame) -> Batch:
        """Convert one frame.

        Raises
        ------
        DataValueError
            An infinity, a null label, a label that is not a class, or a weight that is null or negative.
        """
        checks = training_checks(self.label, self.weight)
        refuse(checks, valid_rows(frame, checks)[1])
        label = frame.select(self._label(frame))
        return Batch(
            finite_features(frame, self.features),
            finite_matrix(label, (self.label,))[:, 0],
            None if self.weight is None else finite_matrix(frame, (self.weight,))[:, 0],
            frame[ROW].to_numpy().astype(np.uint64) if self.numbered else None,
        )

    def _label(self, frame: nw.DataFrame) -> nw.Expr:
        label = nw.col(self.label)
        if self.classes is None:
            return label
        unknown = ~label.is_in(list(self.classes))
        if bad := int(frame.select(unknown.sum()).item()):
            raise bad_values(
                self.label, bad, f"is not one of the classes {', '.join(map(repr, self.classes[:10]))}", unknown
            )
        codes = [float(place) for place in range(len(self.classes))]
        return label.replace_strict(list(self.classes), codes, return_dtype=nw.Float32)

    def empty(self, kind: Kind) -> Batch:
        """Return a batch without rows, for a rank that has none; on its device, which the first batch decides."""
        none = arrays.to_device(np.empty(0, dtype=np.float32), kind)
        features = arrays.to_device(np.empty((0, len(self.features)), dtype=np.float32), kind)
        rows = np.empty(0, dtype=np.uint64) if self.numbered else None
        return Batch(features, none, None if self.weight is None else none, rows)


def training_checks(label: str, weight: str | None) -> Checks:
    """Return what labels and weights must be to train on.

    Examples
    --------
    >>> [(column, rule.test) for column, rule in training_checks("y", "w")]
    [('y', 'null'), ('w', 'null'), ('w', 'negative')]
    """
    of_weight = [] if weight is None else [(weight, Rule(test)) for test in ("null", "negative")]
    return [(label, Rule("null")), *of_weight]


def bad_values(column: str, count: int, problem: str, predicate: nw.Expr, hint: str | None = None) -> DataValueError:
    """Return the error for values of a column that make training meaningless; its predicate finds them."""
    error = DataValueError(f"column {column!r}: {count} value(s) {problem}", hint=hint, column=column, rows=count)
    error.predicate = predicate
    return error


def finite_matrix(frame: nw.DataFrame, columns: tuple[str, ...]) -> Any:
    """Return the float32 matrix of `columns`, NaN for null.

    Raises
    ------
    DataValueError
        A value is infinite, or too large for float32; XGBoost would take it without a word when it predicts.
    """
    matrix = arrays.to_matrix(frame, columns)
    _refuse_infinite(columns, arrays.count_infinite(matrix))
    return matrix


def finite_features(frame: nw.DataFrame, columns: tuple[str, ...]) -> Any:
    """Return `columns` as XGBoost reads them fastest, see `arrays.features`; raises as `finite_matrix` does."""
    values = arrays.features(frame, columns)
    _refuse_infinite(columns, arrays.count_infinite(values))
    return values


def _refuse_infinite(columns: tuple[str, ...], counts: list[int]) -> None:
    for name, count in zip(columns, counts, strict=True):
        if count:
            raise bad_values(
                name,
                count,
                "infinite, or too large for float32",
                nw.col(name).cast(nw.Float32).abs() == float("inf"),
                hint="Clip the column, or set such values to null.",
            )


class Batches(xgb.DataIter):
    """Feeds the batches of one dataset to XGBoost as often as it asks."""

    def __init__(self, rank: Rank, name: str, convert: ToBatch) -> None:
        super().__init__(release_data=True)
        self.names = list(convert.features)
        self.numbered = convert.numbered
        self._read: Callable[[], Iterator[Batch]] = lambda: rank.batches(name, convert.columns, convert)
        self._empty = convert.empty(rank.kind)
        size = rank.rows(name) * len(convert.features) * 4
        self._held: list[Batch] | None = list(self._read()) if size <= CACHE_BYTES else None
        self._open = self.each()

    def each(self) -> Iterator[Batch]:
        """Yield the batches; an empty one for a rank without rows."""
        batches = iter(self._held) if self._held is not None else self._read()
        yield next(batches, self._empty)
        yield from batches

    def release(self) -> None:
        """Free what is kept: XGBoost has made its matrix and will not ask again."""
        self._held = []

    def reset(self) -> None:
        """Start another pass."""
        self._open = self.each()

    def next(self, input_data: Callable[..., Any]) -> bool:
        """Hand over the next batch."""
        batch = next(self._open, None)
        if batch is None:
            return False
        input_data(data=batch.features, label=batch.label, weight=batch.weight, feature_names=self.names)
        return True
