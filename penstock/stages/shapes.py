"""The shapes of what stages learn: what a loaded model is held to, before it scores a row.

Hashes say that a state is the one that was saved, and not that a stage can score by it: whoever can write to a model
can make hashes fit. A stage says in `fitted_shape` what its `transform` relies on.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.stages.base import Blob

IsType = Callable[[pa.DataType], bool]


class Shape(ABC):
    """What a learned value must be."""

    @abstractmethod
    def check(self, value: Any, place: str) -> None:
        """Raise ValueError, which names `place`, value and what was expected, unless the value has this shape."""


def _demand(right: object, place: str, value: Any, expected: str) -> None:
    if not right:
        raise ValueError(f"{place} is {value!r:.100}, expected {expected}")


@dataclass(frozen=True)
class Number(Shape):
    """A finite number that float64 has; an integer counts.

    Examples
    --------
    >>> Number(least=0).check(-1.5, "scale")
    Traceback (most recent call last):
    ...
    ValueError: scale is -1.5, expected a finite number of at least 0
    """

    least: float = -math.inf

    def check(self, value: Any, place: str) -> None:
        exact = type(value) is float or (type(value) is int and abs(value) <= 2**53)
        sound = exact and math.isfinite(value) and value >= self.least
        bound = f" of at least {self.least:g}" if math.isfinite(self.least) else ""
        _demand(sound, place, value, f"a finite number{bound}")


@dataclass(frozen=True)
class Integer(Shape):
    """An integer of 64 bits, 0 or more unless `least` says otherwise."""

    least: int = 0
    most: int = 2**63 - 1

    def check(self, value: Any, place: str) -> None:
        sound = type(value) is int and self.least <= value <= self.most
        _demand(sound, place, value, f"an integer from {self.least} to {self.most}")


@dataclass(frozen=True)
class Flag(Shape):
    """True or False."""

    def check(self, value: Any, place: str) -> None:
        _demand(type(value) is bool, place, value, "true or false")


@dataclass(frozen=True)
class Text(Shape):
    """A text, one of `among` where these are given."""

    among: Collection[str] | None = None

    def check(self, value: Any, place: str) -> None:
        expected = "a text" if self.among is None else f"one of {', '.join(list(self.among)[:10])}"
        _demand(type(value) is str and (self.among is None or value in self.among), place, value, expected)


@dataclass(frozen=True)
class Scalar(Shape):
    """A value that a column of this Arrow type can have."""

    kind: pa.DataType

    def check(self, value: Any, place: str) -> None:
        kinds = {"int": pa.types.is_integer, "bool": pa.types.is_boolean, "str": pa.types.is_string}
        right = kinds.get(type(value).__name__, pa.types.is_floating)(self.kind) or pa.types.is_null(self.kind)
        if right:
            try:
                pa.scalar(value, self.kind)
            except (pa.ArrowException, OverflowError, TypeError):
                right = False
        _demand(right, place, value, f"a value of type {self.kind}")


@dataclass(frozen=True)
class Anything(Shape):
    """Any plain value: nothing relies on it, or whoever does checks it."""

    def check(self, value: Any, place: str) -> None:
        """Take the value."""


@dataclass(frozen=True)
class Maybe(Shape):
    """None, or a value of a shape."""

    shape: Shape

    def check(self, value: Any, place: str) -> None:
        if value is not None:
            self.shape.check(value, place)


@dataclass(frozen=True)
class ListOf(Shape):
    """A list of values of one shape, `length` of them where that is given; ascending where that is asked for."""

    shape: Shape
    length: int | None = None
    ascending: bool = False

    def check(self, value: Any, place: str) -> None:
        expected = "a list" if self.length is None else f"a list of {self.length}"
        _demand(type(value) in (list, tuple) and self.length in (None, len(value)), place, value, expected)
        for number, item in enumerate(value):
            self.shape.check(item, f"{place}[{number}]")
        if self.ascending:
            _demand(all(one < other for one, other in itertools.pairwise(value)), place, value, "ascending values")


@dataclass(frozen=True)
class Fields(Shape):
    """A dict of exactly these names, but for those that are optional."""

    shapes: Mapping[str, Shape]
    optional: Mapping[str, Shape] = field(default_factory=dict)

    def beside(self, **more: Shape) -> Fields:
        """Return the shape of a dict that has more names."""
        return Fields({**self.shapes, **more}, self.optional)

    def check(self, value: Any, place: str) -> None:
        _demand(isinstance(value, Mapping), place, value, f"an object of {', '.join(self.shapes)}")
        known = {**self.shapes, **self.optional}
        odd = [*(name for name in self.shapes if name not in value), *(name for name in value if name not in known)]
        _demand(not odd, place, list(value), f"{', '.join(self.shapes)}; the first difference is {odd[:1]}")
        for name, item in value.items():
            known[name].check(item, f"{place}.{name}" if place else name)


def by_column(columns: Sequence[str], shape: Shape | Callable[[str], Shape], *, some: bool = False) -> Fields:
    """Return the shape of a dict of a value for each column, or for `some` of them.

    Examples
    --------
    >>> by_column(["x"], Number()).check({"x": 1.5, "y": 2.0}, "mean")
    Traceback (most recent call last):
    ...
    ValueError: mean is ['x', 'y'], expected x; the first difference is ['y']
    """
    shapes = {name: shape if isinstance(shape, Shape) else shape(name) for name in columns}
    return Fields({}, shapes) if some else Fields(shapes)


@dataclass(frozen=True)
class TableOf(Shape):
    """An Arrow table of these columns, in order, each of a type that its function takes.

    Parameters
    ----------
    columns : mapping of str to callable
    optional : mapping of str to callable, optional
        Columns that may stand after them.
    rows : int, optional
        How many there are.
    least : int, default=0
        How many there are at least.
    nullable : sequence of str
        Columns whose values may be null; they are never NaN or infinite.
    unique : sequence of str
        Columns of which no two rows have the same values.
    ascending : sequence of str
        Columns in which no value is smaller than the one before.
    """

    columns: Mapping[str, IsType]
    optional: Mapping[str, IsType] = field(default_factory=dict)
    rows: int | None = None
    least: int = 0
    nullable: Sequence[str] = ()
    unique: Sequence[str] = ()
    ascending: Sequence[str] = ()

    def check(self, value: Any, place: str) -> None:
        _demand(isinstance(value, pa.Table), place, value, f"a table of {', '.join(self.columns)}")
        known, names = {**self.columns, **self.optional}, value.column_names
        needed = list(self.columns)
        right = names[: len(needed)] == needed and set(names) <= known.keys() and len(set(names)) == len(names)
        _demand(right, place, names, f"the columns {', '.join(needed)}")
        expected = f"{self.rows} rows" if self.rows is not None else f"{self.least} rows at least"
        enough = value.num_rows >= self.least and self.rows in (None, value.num_rows)
        _demand(enough, place, f"{value.num_rows} rows", expected)
        for name in names:
            column, there = value[name], f"{place}.{name}"
            _demand(known[name](column.type), there, column.type, "another type")
            _demand(name in self.nullable or not column.null_count, there, f"{column.null_count} nulls", "none")
            if pa.types.is_floating(column.type):
                _demand(pc.all(pc.is_finite(column)).as_py() is not False, there, "not finite", "finite numbers")
        if self.unique:
            different = _different(value.select(list(self.unique)))
            _demand(different == value.num_rows, place, f"{different} different rows", f"{value.num_rows}")
        for name in self.ascending:
            values = value[name].to_numpy()
            _demand((values[1:] >= values[:-1]).all(), f"{place}.{name}", "a value below the one before", "none")


def _different(table: pa.Table) -> int:
    """Return how many rows differ."""
    if table.num_columns == 1:  # a vocabulary, of which this takes half the time
        return int(frames.from_arrow(table)[table.column_names[0]].n_unique())
    return int(table.group_by(table.column_names, use_threads=False).aggregate([]).num_rows)


@dataclass(frozen=True)
class ModelFile(Shape):
    """A model file of a kind, such as ``"xgboost-ubj"``."""

    kind: str

    def check(self, value: Any, place: str) -> None:
        _demand(isinstance(value, Blob) and value.kind == self.kind, place, value, f"a model file, {self.kind}")


def like(kind: pa.DataType) -> IsType:
    """Return whether a type holds the values of a column of type `kind`: both of texts, of integers, or of booleans.

    Examples
    --------
    >>> like(pa.int32())(pa.int64()), like(pa.int32())(pa.string())
    (True, False)
    """
    families = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_string, pa.types.is_floating)
    return next((family for family in families if family(kind)), lambda found: found == kind or pa.types.is_null(kind))


def vocabulary(kind: pa.DataType, **more: IsType) -> TableOf:
    """Return the shape of a table of different values of a column of type `kind`, and of what goes with each.

    Parameters
    ----------
    **more : callable
        Columns after ``value``, which may be left out.
    """
    return TableOf({"value": like(kind)}, more, unique=("value",))


def is_class(kind: pa.DataType) -> bool:
    """Return whether labels of this type can be classes."""
    return not pa.types.is_nested(kind) and not pa.types.is_null(kind)


CLASSES = TableOf({"value": is_class}, least=2, unique=("value",))
"""What a classifier learns of its labels: two or more that differ."""


def is_number(kind: pa.DataType) -> bool:
    """Return whether a type is of integers or of floating numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def numbers_at_indices(rows: int) -> TableOf:
    """Return the shape of a table of different indices, and of `rows` numbers at each."""
    numbers = {str(place): pa.types.is_floating for place in range(rows)}
    return TableOf({"index": pa.types.is_integer, **numbers}, unique=("index",))
