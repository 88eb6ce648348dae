"""How columns vary together where both have a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.frames import matrices
from penstock.statistics.base import State, Statistic
from penstock.statistics.gram import slabs, upper_products
from penstock.statistics.rules import LARGE

_SPREAD = 1e-13
"""Of the mean: a smaller spread is that of rounding."""


@dataclass(frozen=True, eq=False)
class PairwiseProducts:
    """Of each pair of columns what the rows that have both come to.

    Parameters
    ----------
    columns : tuple of str
    count : numpy.ndarray of shape (n_columns, n_columns), int64
        Rows that have both.
    mean, squares : numpy.ndarray of shape (n_columns, n_columns)
        Of the column of the row, in those rows: its mean, and the sum of its squared distances from that.
    cross : numpy.ndarray of shape (n_columns, n_columns)
        Sums of the products of both distances.
    """

    columns: tuple[str, ...]
    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    cross: np.ndarray

    def correlation(self) -> np.ndarray:
        """Return Pearson's coefficients; NaN where one of the two is constant in the rows that have both."""
        spread = np.where(self.squares > self.count * (_SPREAD * self.mean) ** 2, self.squares, np.nan)
        with np.errstate(invalid="ignore"):
            matrix: np.ndarray = np.clip(self.cross / np.sqrt(spread) / np.sqrt(spread.T), -1.0, 1.0)
        np.fill_diagonal(matrix, np.where(np.isnan(np.diag(matrix)), np.nan, 1.0))
        return matrix


@dataclass(frozen=True)
class PairwiseMoments(Statistic):
    """The :class:`PairwiseProducts` of columns of numbers or booleans: what pandas' ``corr`` is computed of.

    A :class:`~penstock.statistics.Gram` that bears nulls: of each pair, rows count that have both. Infinite numbers and
    those beyond 1e150 are left out as nulls are. Products are formed as there, about the mean of a partition, and
    partitions joined pair by pair, with Chan's update for two columns.

    Examples
    --------
    >>> from penstock import frames
    >>> moments = PairwiseMoments(("x", "y"))
    >>> table = pa.table({"x": [1.0, 2.0, 3.0, 9.0], "y": [2.0, 4.0, 6.0, None]})
    >>> found = moments.finish(moments.summarise(frames.from_arrow(table)))
    >>> found.count.tolist(), found.correlation().round(12).tolist()
    ([[4, 3], [3, 3]], [[1.0, 1.0], [1.0, 1.0]])
    """

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the sums of one partition."""
        values = matrices.to_rows(frame, self.columns)
        known = abs(values) <= LARGE  # NaN is not
        values = np.where(known, values, 0.0)
        rows = matrices.to_host(known.sum(axis=1))
        origin = matrices.to_host(values.sum(axis=1)) / np.maximum(rows, 1)
        masks, of_column = _masks(known, rows)
        products = np.zeros((2 * len(values) + len(masks),) * 2)
        for part in slabs(values):
            near = np.where(known[:, part], values[:, part] - _column(values, origin), 0.0)
            stack = np.concatenate([near, near * near, masks[:, part]])
            products += upper_products(stack, stack)
        return _state(products, origin, of_column)

    def merge(self, states: Sequence[State]) -> State:
        """Join two by two, in their order."""
        return _packed(reduce(_joined, map(_unpacked, states)))

    def finish(self, state: State) -> PairwiseProducts:
        """Return the sums as matrices."""
        count, origin, rest, *sums = (each.reshape(len(self.columns), -1) for each in _unpacked(state))
        return PairwiseProducts(self.columns, count, origin + rest, *sums)


def _column(values: Any, origin: np.ndarray) -> Any:
    return matrices.to_device(origin, "cpu" if isinstance(values, np.ndarray) else "gpu")[:, None]


def _masks(known: Any, rows: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return where values are known, 1.0 or 0.0, once for all columns of which all are; and the mask of each column."""
    partly = rows < known.shape[1]
    ones = np.ones_like(known[:1], dtype=np.float64)
    masks = np.concatenate([ones, known[np.flatnonzero(partly)].astype(np.float64)])
    return masks, np.where(partly, np.cumsum(partly), 0)


def _state(products: np.ndarray, origin: np.ndarray, of_column: np.ndarray) -> State:
    """Return the state of products of values near their origins, of their squares, and of where they are known."""
    width = len(origin)
    whole = np.triu(products) + np.triu(products, 1).T
    count = whole[2 * width :, 2 * width :][np.ix_(of_column, of_column)]
    first = whole[:width, 2 * width :][:, of_column]
    second = whole[width : 2 * width, 2 * width :][:, of_column]
    share = first / np.maximum(count, 1.0)
    cross = whole[:width, :width] - share * first.T
    means = np.broadcast_to(origin[:, None], count.shape)
    return _packed([count.astype(np.int64), means, share, second - share * first, cross])


def _joined(left: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> list[np.ndarray]:
    one, other = left[0], right[0]
    both, share = (one > 0) & (other > 0), other / np.maximum(one + other, 1)
    apart = np.where(both, (right[1] - left[1]) + (right[2] - left[2]), 0.0)
    width = round(len(apart) ** 0.5)
    turned = apart.reshape(width, width).T.ravel()
    origin, rest = (np.where(one > 0, left[place], right[place]) for place in (1, 2))
    squares = left[3] + right[3] + one * share * apart * apart
    return [one + other, origin, rest + share * apart, squares, left[4] + right[4] + one * share * apart * turned]


_PARTS = ("count", "origin", "rest", "squares", "cross")
"""Of a state; the mean is the sum of its origin and a rest, which float64 would round off."""


def _packed(parts: Sequence[np.ndarray]) -> State:
    return pa.table({name: each.ravel() for name, each in zip(_PARTS, parts, strict=True)})


def _unpacked(state: State) -> list[np.ndarray]:
    return [state[name].to_numpy() for name in _PARTS]
