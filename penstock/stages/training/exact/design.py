"""A rank's rows as standardised matrices that stay in memory, and sums over the rows of all ranks that are exact.

Sums are the same to the bit however rows are cut into fragments and dealt to ranks, so that a model fitted on one rank
is the model fitted on three. Every term is split into two parts, multiples of units so large that adding them up, in
whatever order, never rounds: the pre-rounding of Demmel and Nguyen, "Parallel reproducible summation", IEEE Trans.
Comput. 64, 2015. What is cut off is below 2**-100 of the bound on the sum. The units come from bounds that are known
beforehand: the extremes of the features, the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from typing import Any

import narwhals as nw
import numpy as np
from threadpoolctl import threadpool_limits

from penstock.frames import Kind, matrices
from penstock.spmd import Rank
from penstock.stages.classes import label_codes
from penstock.stages.training.exact.sums import Split

_ELEMENTS = 2**16
"""How many terms are looked at together: few enough to stay in the cache of a core."""
_SLACK = 1 + 1e-9


@dataclass(frozen=True)
class Scaling:
    """How columns are standardised: ``(x - shift) / divisor``; a ``scale`` of 0 makes 0 of a column.

    ``low`` and ``high`` are the smallest and the largest value of each column. Means are taken off where there is an
    intercept to make up for it.
    """

    mean: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    intercept: bool = True

    @property
    def shift(self) -> np.ndarray:
        """The means, or 0."""
        return self.mean if self.intercept else np.zeros_like(self.mean)

    @property
    def divisor(self) -> np.ndarray:
        """The scale, infinity in place of 0."""
        return np.where(self.scale == 0, np.inf, self.scale)

    @property
    def key(self) -> Hashable:
        """All that standardised columns depend on, to the bit."""
        return *(each.tobytes() for each in (self.mean, self.scale, self.low, self.high)), self.intercept

    @property
    def bounds(self) -> np.ndarray:
        """The largest size of a standardised value of each column."""
        far = np.maximum(np.abs(self.low - self.shift), np.abs(self.high - self.shift))
        return far / self.divisor * _SLACK


@dataclass(frozen=True)
class Rows:
    """Some rows: ``x`` with one row a feature, a last one of ones where there is an intercept; labels; weights."""

    x: Any
    label: Any
    weight: Any | None

    def part(self, begin: int, end: int) -> Rows:
        """Return a range of the rows."""
        weight = None if self.weight is None else self.weight[begin:end]
        return Rows(self.x[:, begin:end], self.label[begin:end], weight)

    def weighted(self, terms: Any) -> Any:
        """Return `terms`, whose last axis is that of the rows, times the weights."""
        return terms if self.weight is None else terms * self.weight


@dataclass(frozen=True)
class ToRows:
    """Turns a frame, whose values were checked before, into standardised rows.

    Parameters
    ----------
    features : tuple of str
    label : str
    classes : tuple or None
        Labels become their position among these; None takes them as numbers.
    weight : str or None
    scaling : Scaling
    """

    features: tuple[str, ...]
    label: str
    classes: tuple[Any, ...] | None
    weight: str | None
    scaling: Scaling

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        return tuple(dict.fromkeys((*self.features, self.label, *([] if self.weight is None else [self.weight]))))

    @property
    def key(self) -> Hashable:
        """All that the rows depend on."""
        return self.features, self.label, self.classes, self.weight, self.scaling.key

    def __call__(self, frame: nw.DataFrame) -> Rows:
        """Convert one frame."""
        known = self.classes
        label = _vector(frame, self.label) if known is None else label_codes(frame, self.label, known)
        x = np.empty_like(label, shape=(len(self.features) + self.scaling.intercept, len(frame)))
        for row, name, shift, divisor in zip(x, self.features, self.scaling.shift, self.scaling.divisor, strict=False):
            np.subtract(_vector(frame, name), shift, out=row)
            np.divide(row, divisor, out=row)
        x[len(self.features) :] = 1.0
        return Rows(x, label, None if self.weight is None else _vector(frame, self.weight))


def _vector(frame: nw.DataFrame, name: str) -> Any:
    return matrices.to_matrix(frame, (name,), "float64")[:, 0]


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS takes one thread at each call, as a rank's threads call it side by side.

    OpenBLAS' own threads are one set for the whole process, and calls that want them wait for one another.
    """
    return threadpool_limits(limits=1, user_api="blas")


Work = Callable[[Sequence[Rows]], np.ndarray]
"""Makes an array, of one shape always, of any number of blocks of rows."""


class Design:
    """The rows of one rank, read once, and sums over those of all ranks.

    Parameters
    ----------
    rank : Rank
    convert : ToRows
    total : int
        How many rows all ranks have.
    largest_weight : float

    Attributes
    ----------
    key : hashable
        All that it depends on, besides the rows.
    """

    def __init__(self, rank: Rank, convert: ToRows, total: int, largest_weight: float = 1.0) -> None:
        self._rank, self.total = rank, total
        self._threads = rank.threads if rank.kind == "cpu" else 1
        self._pool = ThreadPoolExecutor(self._threads)
        self.kind = rank.kind
        self.weighted = convert.weight is not None
        self.largest_weight = largest_weight
        self.bounds = np.append(convert.scaling.bounds, [1.0] * convert.scaling.intercept)
        self.key: Hashable = (type(self), convert.key, total, largest_weight)
        self._rows = rank.prepared(self.key, lambda: self._read(convert))

    def _read(self, convert: ToRows) -> list[Rows]:
        """Return the rows of this rank, which no training changes."""
        return list(self._rank.batches("train", convert.columns, convert))

    def sums(self, terms: Callable[[Rows], Sequence[Any]], bounds: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return sums over the rows of all ranks; every rank calls it, with rows or without.

        Parameters
        ----------
        terms : callable
            Makes of rows some matrices, with the rows along the last axis.
        bounds : sequence of numpy.ndarray
            For each matrix and each of its rows, what no term exceeds in size.
        """
        splits = [Split.of(bound, self.total, self.kind) for bound in bounds]
        widths = [len(bound) for bound in bounds]

        def summed(parts: Sequence[Rows]) -> np.ndarray:
            total = np.zeros((splits[0].count, sum(widths)))
            for rows in parts:
                pairs = zip(splits, terms(rows), strict=True)
                total += np.concatenate([split.sums(matrix) for split, matrix in pairs], axis=1)
            return total

        sums = self._added(summed, self._length(sum(widths))).sum(axis=0)
        return np.split(sums, np.cumsum(widths)[:-1])

    def agreed(self, values: np.ndarray) -> np.ndarray:
        """Return rank 0's values: processors of different kinds may round the same equations in different ways."""
        return self._rank.gather(values if self._rank.index == 0 else None)[0]

    def _added(self, work: Work, length: int) -> np.ndarray:
        """Return the sum over all ranks of what `work` makes of blocks of so many rows; every rank calls it."""
        return self._rank.allreduce(np.sum(list(self._of_blocks(work, length)), axis=0))

    def _of_blocks(self, work: Work, length: int) -> Iterator[np.ndarray]:
        """Return what `work` makes, in each thread, of its share of this rank's blocks of so many rows."""
        blocks = list(self._blocks(length))
        # CuPy's current device is that of a thread: on a GPU work stays in the one of the rank.
        run = self._pool.map if self._threads > 1 else map
        return iter(run(work, [blocks[place :: self._threads] for place in range(self._threads)]))

    def _length(self, width: int) -> int:
        """Return how many rows are looked at together, where so many terms are made of each."""
        return max(_ELEMENTS // width, 64) if self.kind == "cpu" else max(self.total, 1)

    def _blocks(self, length: int) -> Iterator[Rows]:
        for rows in self._rows:
            count = rows.x.shape[1]
            starts = range(0, count, length)
            yield from [rows] if 0 < count <= length else (rows.part(start, start + length) for start in starts)


def sum_on_gpu(parts: Sequence[Rows], function: Callable[[Rows], Any], shape: tuple[int, ...]) -> np.ndarray:
    """Return the sum of a function of fragments on a GPU, an array of `shape`, by one copy to the host."""
    return matrices.to_host(reduce(np.add, map(function, parts))) if parts else np.zeros(shape)


@dataclass(frozen=True)
class Totals:
    """Sums over all rows: of the weights, of those of each class; and the weighted deviations of the features.

    The deviations are relative to the scales that the features were divided by: 1 unless there are weights. As in
    MLlib, they have n - 1 in the denominator, which is ``sum(w) - sum(w**2) / sum(w)`` of weights.
    """

    weight: float
    of_classes: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, design: Design, scaling: Scaling, classes: int) -> Totals:
        """Add them up; every rank calls it."""
        features, largest = len(scaling.mean), design.largest_weight
        codes = matrices.to_device(np.arange(float(classes))[:, None], design.kind)
        if not design.weighted:
            (of_classes,) = design.sums(lambda rows: [codes == rows.label], [np.ones(classes)])
            return cls(float(of_classes.sum()), of_classes, np.ones(features))
        offset = (scaling.mean - scaling.shift) / scaling.divisor
        middle = matrices.to_device(offset[:, None], design.kind)

        def terms(rows: Rows) -> list[Any]:
            x, weight = rows.x[:features] - middle, rows.weighted(rows.label[None] * 0.0 + 1.0)
            return [rows.weighted(codes == rows.label), rows.weighted(weight), rows.weighted(x), rows.weighted(x * x)]

        far = (design.bounds[:features] + np.abs(offset)) * _SLACK
        limits = [np.full(classes, largest), np.array([largest**2]), largest * far, largest * far**2]
        of_classes, squares, first, second = design.sums(terms, limits)
        weight = float(of_classes.sum())
        freedom = weight - float(squares[0]) / weight
        if freedom <= 0:
            return cls(weight, of_classes, np.ones(features))
        return cls(weight, of_classes, np.sqrt(np.maximum(second - first * first / weight, 0.0) / freedom))


def in_blocks(x: Any, kind: Kind, function: Callable[[Any], Any]) -> Any:
    """Return what a function makes of a matrix of columns, block by block of rows on a CPU: its caches are small.

    Parameters
    ----------
    x : array of shape (features, rows)
    function : callable
        Gives an array whose last axis is that of the rows; what becomes of a row does not depend on those beside it.

    Examples
    --------
    >>> in_blocks(np.array([[1.0, 2.0]]), "cpu", lambda block: block.sum(axis=0)).tolist()
    [1.0, 2.0]
    """
    rows = max(x.shape[1] if kind == "gpu" else _ELEMENTS // max(len(x), 1), 64)
    starts = range(0, max(x.shape[1], 1), rows)
    return np.concatenate([function(x[:, start : start + rows]) for start in starts], axis=-1)


def linear(x: Any, coefficients: Any) -> Any:
    """Return ``coefficients @ x``, added up feature by feature.

    What becomes of a row does not depend on those beside it; a matrix product cuts rows into blocks, and the last
    digits of a row depend on the block it falls in.

    Parameters
    ----------
    x : array of shape (features, rows)
    coefficients : array of shape (outputs, features), on the same device

    Examples
    --------
    >>> linear(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[10.0, 1.0]]))
    array([[13., 24.]])
    """
    made = coefficients[:, :1] * x[0]
    for place in range(1, len(x)):
        made += coefficients[:, place : place + 1] * x[place]
    return made
