"""How columns vary together: all that least squares and principal components need to know of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.frames import matrices
from penstock.statistics.base import State, Statistic, merge_fields
from penstock.statistics.moments import refuse_overflow, total
from penstock.statistics.rules import LARGE, ColumnRules, Rule, add_counts, refuse, rules_for, valid_rows

MOST_COLUMNS = 5000
"""Columns of the widest matrix: 200 MB, of which a state holds half."""
_ROWS, _TILE = 240, 32
"""Rows and columns of one product. OpenBLAS leaves up to 2**18 multiplications to one thread; what it makes of more of
them depends, in the last digits, on how many threads there are."""
_CACHED, _ON_GPU = 2**19, 2**25
"""Numbers that are worked on at a time: 4 MB, and 256 MB on a GPU."""


@dataclass(frozen=True, eq=False)
class CrossProducts:
    """Weighted means and centred products of columns, over the rows of a weight above 0.

    Parameters
    ----------
    columns : tuple of str
        The columns of numbers, in the order of `mean` and `cross`.
    count : int
        Rows.
    weight, weight_squares : float
        Sum of the weights and of their squares.
    mean : numpy.ndarray of shape (n_columns,)
        Zeros when there are no rows.
    cross : numpy.ndarray of shape (n_columns, n_columns)
        Weighted sums of the products of two columns' distances from their means; exactly 0 where one is constant.
    constant : numpy.ndarray of bool, shape (n_columns,)
        Whether a column has one value, or none.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> gram = Gram(("x", "y"))
    >>> found = gram.finish(gram.summarise(frames.from_arrow(pa.table({"x": [1, 2, 3], "y": [2, 4, 9]}))))
    >>> found.covariance(ddof=1)
    array([[ 1. ,  3.5],
           [ 3.5, 13. ]])
    """

    columns: tuple[str, ...]
    count: int
    weight: float
    weight_squares: float
    mean: np.ndarray
    cross: np.ndarray
    constant: np.ndarray

    def covariance(self, ddof: int = 0) -> np.ndarray:
        """Return ``cross / (weight - ddof)``: of the population, or with ``ddof=1`` of a sample without weights."""
        return self.cross / (self.weight - ddof)


@dataclass(frozen=True)
class Gram(Statistic):
    """The :class:`CrossProducts` of columns of numbers or booleans, in float64.

    Within a partition rows are taken from near their mean and the products corrected for what is left; partitions are
    joined with the pairwise update of Chan, Golub and LeVeque ("Algorithms for computing the sample variance", The
    American Statistician 37, 1983) for two columns. No sum of raw squares is ever formed, so that columns far from zero
    lose nothing. Products are formed in tiles of fixed size and added in row order: the state does not depend on how
    many threads there are.

    Parameters
    ----------
    columns : tuple of str
        The columns of numbers; and last the weight (0 or more) if it is `weighted`, otherwise every row weighs 1.
    weighted : bool, default False

    Raises
    ------
    ConfigError
        There is no column of numbers, or more than 5,000.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> gram = Gram(("x", "y", "w"), weighted=True)
    >>> parts = [{"x": [1.0], "y": [5.0], "w": [3.0]}, {"x": [3.0], "y": [1.0], "w": [1.0]}]
    >>> found = gram.finish(gram.merge([gram.summarise(frames.from_arrow(pa.table(part))) for part in parts]))
    >>> found.mean, found.cross
    (array([1.5, 4. ]), array([[ 3., -6.],
           [-6., 12.]]))
    """

    weighted: bool = False

    def __post_init__(self) -> None:
        if not self.numbers:
            raise ConfigError(f"columns are {self.columns!r}, expected at least one column of numbers")
        if len(self.numbers) > MOST_COLUMNS:
            raise ConfigError(
                f"{len(self.numbers):,} columns, expected at most {MOST_COLUMNS:,}: memory grows with their square",
                hint="Choose fewer columns, or an estimator that iterates over the rows.",
            )

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns but for the weight."""
        return self.columns[:-1] if self.weighted else self.columns

    @property
    def _checks(self) -> ColumnRules:
        checks = [(name, Rule(test)) for name in self.columns for test in ("null", "infinite", "too_large")]
        return [*checks, *rules_for(self.columns[len(self.numbers) :], "negative")]

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the sums of the valid rows of one partition, and how many rows break which rule.

        Rows are looked at one by one only where the extremes say that some are bad.
        """
        values = matrices.to_rows(frame, self.columns, narrow=not self.weighted)
        invalid, extremes = [0] * len(self._checks), _extremes(values)
        if not self._are_valid(*extremes):
            valid, invalid = valid_rows(frame, self._checks)
            values = matrices.to_rows(valid, self.columns, narrow=not self.weighted)
            extremes = _extremes(values)
        return {"invalid": invalid, **self._sums(values, extremes)}

    def _are_valid(self, low: np.ndarray, high: np.ndarray) -> bool:
        """Return whether no value is NaN, infinite or too large, and no weight negative."""
        right = bool((low >= -LARGE).all()) and bool((high <= LARGE).all())
        return right and (not self.weighted or bool(low[-1] >= 0))

    def _sums(self, values: Any, extremes: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
        if not self.weighted:
            return self._state_of(values, None, extremes)
        numbers, weight = values[:-1], values[-1]
        if bool(weight.all()):
            return self._state_of(numbers, weight, (extremes[0][:-1], extremes[1][:-1]))
        numbers, weight = numbers[:, weight > 0], weight[weight > 0]
        return self._state_of(numbers, weight, _extremes(numbers))

    def _state_of(self, values: Any, weight: Any | None, extremes: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
        """Return the state of rows of a weight above 0, columns of `values` on any device."""
        return _state(values, weight, extremes)

    def merge(self, states: Sequence[State]) -> State:
        """Add up the weights; join means and products with Chan's update."""
        weights = [state["weight"] for state in states]
        parts = [_columns(state) for state in states]
        origin = next((part["mean"] for part, each in zip(parts, weights, strict=True) if each), parts[0]["mean"])
        shifts = [part["mean"] - origin + part["rest"] for part in parts]
        shift = sum(each * apart for each, apart in zip(weights, shifts, strict=True)) / (total(weights) or 1.0)
        upper = np.zeros(len(states[0]["cross"]))
        for state, each, apart in zip(states, weights, shifts, strict=True):
            upper += state["cross"]["upper"].to_numpy()
            upper += _pack_products(each * (apart - shift), apart - shift)
        minimum = np.min([part["minimum"] for part in parts], axis=0)
        maximum = np.max([part["maximum"] for part in parts], axis=0)
        counts = merge_fields(states, invalid=add_counts, count=sum, weight=total, weight_squares=total)
        return {**counts, **_tables(origin, shift, minimum, maximum, upper)}

    def finish(self, state: State) -> CrossProducts:
        """Return means and products.

        Raises
        ------
        DataValueError
            A value is null, infinite or beyond 1e150, or a weight negative; names the column and the count, and its
            ``predicate`` is true for the bad rows.
        """
        refuse(self._checks, state["invalid"])
        columns = _columns(state)
        constant = columns["minimum"] >= columns["maximum"]
        cross = unpack(state["cross"]["upper"].to_numpy(), len(self.numbers))
        for name, square in zip(self.numbers, np.diag(cross), strict=True):
            refuse_overflow(name, square)
        cross[constant, :] = 0.0
        cross[:, constant] = 0.0
        numbers = {name: state[name] for name in ("count", "weight", "weight_squares")}
        return CrossProducts(self.numbers, **numbers, mean=columns["mean"], cross=cross, constant=constant)


def _extremes(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest number of each column, NaN where there is one; infinities without rows."""
    if not values.shape[1]:
        return np.full(len(values), np.inf), np.full(len(values), -np.inf)
    ends = values.min(axis=1), values.max(axis=1)
    return matrices.to_host(ends[0]).astype(np.float64), matrices.to_host(ends[1]).astype(np.float64)


def _state(values: Any, weight: Any | None, extremes: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """Return the state of rows of a weight above 0, columns of `values` on any device."""
    width, rows = values.shape
    if not rows:
        none, upper = np.zeros(width), np.zeros(width * (width + 1) // 2)
        return {"count": 0, "weight": 0.0, "weight_squares": 0.0, **_tables(none, none, *extremes, upper)}
    heaviness = float(rows if weight is None else weight.sum())
    with np.errstate(over="ignore", invalid="ignore"):  # refused at the end, by name
        origin = sum(_weighted(values, weight, part).sum(axis=1) for part in slabs(values)) / heaviness
        first, products = np.zeros(width), np.zeros((width, width))
        for part in slabs(values):
            near = values[:, part] - origin[:, None]  # in float64
            weighted = near if weight is None else near * weight[part]
            first += matrices.to_host(weighted.sum(axis=1))
            products += upper_products(weighted, near)
        upper = _pack(products) - _pack_products(first / heaviness, first)
    return {
        "count": rows,
        "weight": heaviness,
        "weight_squares": heaviness if weight is None else float((weight * weight).sum()),
        **_tables(matrices.to_host(origin), first / heaviness, *extremes, upper),
    }


def slabs(values: Any) -> list[slice]:
    """Return the rows in parts that a processor's cache holds, or that keep a GPU busy; columns decide how many."""
    numbers = _CACHED if isinstance(values, np.ndarray) else _ON_GPU
    rows = _ROWS * max(numbers // (_ROWS * len(values)), 1)
    return [slice(start, start + rows) for start in range(0, values.shape[1], rows)]


def _weighted(values: Any, weight: Any | None, part: slice) -> Any:
    numbers = values[:, part].astype(np.float64, copy=False)
    return numbers if weight is None else numbers * weight[part]


def upper_products(left: Any, right: Any) -> np.ndarray:
    """Return ``left @ right.T``, right in its upper triangle."""
    width = len(left)
    products = np.zeros((width, width))
    for row in range(0, width, _TILE):
        for column in range(row, width, _TILE):
            across, down = slice(row, row + _TILE), slice(column, column + _TILE)
            products[across, down] = matrices.to_host(_tile(left[across], right[down]))
    return products


def _tile(left: Any, right: Any) -> Any:
    blocks = left.shape[1] // _ROWS
    whole = blocks * _ROWS
    stacks = [each[:, :whole].reshape(len(each), blocks, _ROWS) for each in (left, right)]
    return (stacks[0].transpose(1, 0, 2) @ stacks[1].transpose(1, 2, 0)).sum(axis=0) + left[:, whole:] @ right[
        :, whole:
    ].T


def _pack(matrix: np.ndarray) -> np.ndarray:
    """Return the upper triangle of a matrix, row by row."""
    return np.concatenate([row[place:] for place, row in enumerate(matrix)])


def _pack_products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the upper triangle of the products of each of `left` with each of `right`."""
    return np.concatenate([each * right[place:] for place, each in enumerate(left)])


def unpack(upper: np.ndarray, width: int) -> np.ndarray:
    """Return the symmetric matrix of an upper triangle, row by row."""
    matrix, start = np.zeros((width, width)), 0
    for place in range(width):
        matrix[place, place:] = matrix[place:, place] = upper[start : start + width - place]
        start += width - place
    return matrix


def _tables(origin: np.ndarray, shift: np.ndarray, minimum: np.ndarray, maximum: np.ndarray, upper: np.ndarray
            ) -> dict[str, pa.Table]:  # fmt: skip
    """Return the Arrow tables of a state; ``rest`` is what float64 rounds off the mean, as in `Moments`."""
    mean = origin + shift
    columns = {"mean": mean, "rest": (origin - mean) + shift, "minimum": minimum, "maximum": maximum}
    return {"columns": pa.table(columns), "cross": pa.table({"upper": upper})}


def _columns(state: State) -> dict[str, np.ndarray]:
    return {name: state["columns"][name].to_numpy() for name in state["columns"].schema.names}
