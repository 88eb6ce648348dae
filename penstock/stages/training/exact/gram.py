"""Products of the columns of a matrix whose rows all ranks share, the same to the bit however the rows are dealt.

Iteratively reweighted least squares asks in each round for ``A A'``, where A has a row for each column of a table, and
its weights are others in each round. A matrix is cut into slices, each of so few bits that the product of two of them
is exact in float64, whatever the order in which BLAS adds up: the error-free transformation of Ozaki, Ogita, Oishi and
Rump, "Error-free transformations of matrix multiplication by using fast routines of matrix multiplication", Numerical
Algorithms 59, 2012. Numbers are rounded once, to 2**-60 of the largest of their column: one that is a million times
smaller still has 40 bits, and so has its square.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from penstock.stages.training.exact.design import Design, Rows, sum_on_gpu

_BITS = 60
_MANTISSA = 53

Terms = Callable[[Rows], Any]
"""Makes a matrix of some rows: its last axis is theirs."""


@dataclass(frozen=True)
class RowSlices:
    """How to cut rows of numbers into `count` slices of `bits` bits each, after a division by ``2**exponents``.

    Parameters
    ----------
    exponents : numpy.ndarray of int
        One for each row, of one matrix or several: no number of it is larger than 2 to this power.
    bits, count : int
    total : int
        How many columns all matrices have whose products are added up.
    """

    exponents: np.ndarray
    bits: int
    count: int
    total: int

    @classmethod
    def of(cls, largest: np.ndarray, columns: int, total: int) -> Self:
        """Return the slices for matrices of at most `columns` columns, `total` together, no number above `largest`."""
        bits = (_MANTISSA - int(columns).bit_length()) // 2
        return cls(np.frexp(largest)[1], bits, -(-_BITS // bits), total)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Return which slices are multiplied; the others add too little to count."""
        return [(one, other) for one in range(self.count) for other in self._others(one)]

    def _others(self, one: int) -> range:
        return range(one, min(self.count, self.count + 1 - one))

    def products(self, matrix: np.ndarray) -> np.ndarray:
        """Return the products of slices of a matrix, pair beside pair, in two parts; both may be added without error.

        Parameters
        ----------
        matrix : array of shape (..., rows, columns)

        Returns
        -------
        numpy.ndarray of shape (2, ..., rows, pairs * rows)
        """
        return self.products_of(matrix * np.ldexp(1.0, -self.exponents)[..., None])

    def products_of(self, divided: np.ndarray) -> np.ndarray:
        """Return the products of a matrix that was divided by ``2**exponents``, which is written over."""
        rows, slices = divided.shape[-2], self._cut(divided)
        each = [
            slices[..., one * rows : (one + 1) * rows, :] @ self._besides(slices, one, rows)
            for one in range(self.count)
            if self._others(one)
        ]
        exact = np.concatenate(each, axis=-1)
        large = self._large.repeat(rows)
        coarse = (exact + large) - large
        return np.stack([coarse, exact - coarse])

    def _besides(self, slices: Any, one: int, rows: int) -> Any:
        others = self._others(one)
        return slices[..., others.start * rows : others.stop * rows, :].swapaxes(-1, -2)

    @property
    def _large(self) -> np.ndarray:
        """Return, for each pair, what rounds its product to so few bits that the sum of all products has 53."""
        sizes = [sum(1 + place * self.bits for place in pair if place) for pair in self.pairs]
        return np.ldexp(1.5, int(self.total).bit_length() + 1 - np.array(sizes))

    def _cut(self, rest: Any) -> Any:
        """Return the slices below each other."""
        rows = rest.shape[-2]
        slices = np.empty_like(rest, shape=(*rest.shape[:-2], self.count * rows, rest.shape[-1]))
        for place in range(self.count):
            part = slices[..., place * rows : (place + 1) * rows, :]
            large = math.ldexp(1.5, _MANTISSA - 1 - (place + 1) * self.bits)
            np.add(rest, large, out=part)
            part -= large
            rest -= part
        return slices

    def join(self, products: np.ndarray) -> np.ndarray:
        """Return the product of the whole matrix with itself, from sums of the products of its slices."""
        whole = products[0] + products[1]
        each = np.split(whole, len(self.pairs), axis=-1)
        total = np.zeros(each[0].shape)
        for (one, other), product in sorted(zip(self.pairs, each, strict=True), key=lambda pair: -sum(pair[0])):
            total += product if one == other else product + product.swapaxes(-1, -2)
        with np.errstate(over="ignore"):
            joined: np.ndarray = np.ldexp(total, self.exponents[..., None] + self.exponents[..., None, :])
        return joined


class GramDesign(Design):
    """A :class:`Design` that multiplies matrices made of its rows."""

    def gram(self, terms: Terms, count: int) -> np.ndarray | None:
        """Return ``A @ A.T`` over the rows of all ranks; every rank calls it, with rows or without.

        Parameters
        ----------
        terms : callable
            Makes A of some rows; on a CPU it is asked twice, for the largest numbers and for the numbers.
        count : int
            How many rows A has.

        Returns
        -------
        numpy.ndarray of shape (count, count), or None
            None when a number in A, or in the result, is not finite.
        """
        found = self._exact(terms, count) if self.kind == "cpu" else self._plain(terms, count)
        return None if found is None or not np.isfinite(found).all() else found

    def _plain(self, terms: Terms, count: int) -> np.ndarray:
        """Return the product by plain sums on a GPU, where NaN and infinities stay."""

        def product(rows: Rows) -> Any:
            matrix = terms(rows)
            return matrix @ matrix.T

        return self._added(lambda parts: sum_on_gpu(parts, product, (count, count)), self.total)

    def _exact(self, terms: Terms, count: int) -> np.ndarray | None:
        largest = self._largest(terms, count)
        if not np.isfinite(largest).all():
            return None
        slices = RowSlices.of(largest, self._length(count), self.total)

        def products(parts: Sequence[Rows]) -> np.ndarray:
            total = np.zeros((2, count, len(slices.pairs) * count))
            for rows in parts:
                total += slices.products(terms(rows))
            return total

        return slices.join(self._added(products, self._length(count)))

    def _largest(self, terms: Terms, count: int) -> np.ndarray:
        """Return the largest absolute value of each row of A, NaN where there is one; the same on every rank."""

        def largest(parts: Sequence[Rows]) -> np.ndarray:
            found = [np.abs(terms(rows)).max(axis=-1) for rows in parts if rows.x.shape[1]]
            return np.max([np.zeros(count), *found], axis=0)

        own = np.max(list(self._of_blocks(largest, self._length(count))), axis=0)
        return np.max(self._rank.gather(own), axis=0)


def label_and_weight(rows: Rows) -> tuple[Any, Any]:
    """Return labels and weights, where the rows are; weights of 1 where there are none."""
    return rows.label, np.ones_like(rows.label) if rows.weight is None else rows.weight
