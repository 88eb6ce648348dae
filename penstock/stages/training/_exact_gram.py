"""Products of the columns of a matrix whose rows all ranks share, the same to the bit however the rows are dealt.

Iteratively reweighted least squares asks in each round for ``A A'``, where A has a row for each column of a table, and
its weights are others in each round. A matrix is cut into slices, each of so few bits that the product of two of them
is exact in float64, whatever the order in which BLAS adds up: the error-free transformation of Ozaki, Ogita, Oishi and
Rump, "Error-free transformations of matrix multiplication by using fast routines of matrix multiplication", Numerical
Algorithms 59, 2012. What is left out is below 2**-58 of the product of the largest numbers of the two columns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from penstock import arrays
from penstock.frames import Kind
from penstock.stages.training._design import Design, Rows

_BITS = 60
_MANTISSA = 53

Terms = Callable[[Rows], Any]
"""Makes a matrix of some rows: its last axis is theirs."""


@dataclass(frozen=True)
class Slices:
    """How to cut rows of numbers into `count` slices of `bits` bits each, after a division by ``2**exponents``.

    Parameters
    ----------
    exponents : numpy.ndarray of int
        One for each row, of one matrix or several: no number of it is larger than 2 to this power.
    bits, count : int
    """

    exponents: np.ndarray
    bits: int
    count: int

    @classmethod
    def of(cls, largest: np.ndarray, terms: int) -> Self:
        """Return the slices for rows of numbers no larger than `largest`, whose products are sums of `terms`."""
        bits = (_MANTISSA - int(terms).bit_length()) // 2
        return cls(np.frexp(largest)[1], bits, -(-_BITS // bits))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Return which slices are multiplied; the others add too little to count."""
        places = itertools.combinations_with_replacement(range(self.count), 2)
        return [(one, other) for one, other in places if one + other < self.count]

    def products(self, matrix: Any, kind: Kind) -> np.ndarray:
        """Return for each pair the product of the two slices of a matrix, exact."""
        slices = self._cut(matrix, kind)
        return np.stack([arrays.to_host(slices[one] @ slices[other].swapaxes(-1, -2)) for one, other in self.pairs])

    def _cut(self, matrix: Any, kind: Kind) -> list[Any]:
        rest = matrix * arrays.to_device(np.ldexp(1.0, -self.exponents)[..., None], kind)
        slices = []
        for place in range(1, self.count + 1):
            large = float(np.ldexp(1.5, _MANTISSA - 1 - place * self.bits))
            slices.append((rest + large) - large)
            rest = rest - slices[-1]
        return slices

    def join(self, products: np.ndarray) -> np.ndarray:
        """Return the product of the whole matrix with itself, from sums of the products of its slices."""
        total = np.zeros(products.shape[1:])
        for (one, other), product in reversed(list(zip(self.pairs, products, strict=True))):
            total += product if one == other else product + product.swapaxes(-1, -2)
        with np.errstate(over="ignore"):
            joined: np.ndarray = np.ldexp(total, self.exponents[..., None] + self.exponents[..., None, :])
        return joined


class GramDesign(Design):
    """A :class:`Design` that multiplies matrices made of its rows."""

    def gram(self, terms: Terms, *shape: int) -> np.ndarray | None:
        """Return ``A @ A.T`` over the rows of all ranks; every rank calls it, with rows or without.

        Parameters
        ----------
        terms : callable
            Makes A of some rows; it is asked twice, for the largest numbers and for the numbers.
        *shape : int
            How many rows A has; or how many matrices A is made of, and how many rows each has.

        Returns
        -------
        numpy.ndarray of shape (*shape, shape[-1]), or None
            None when a number in A, or in the result, is not finite.
        """
        largest = self._largest(terms, shape)
        if not np.isfinite(largest).all():
            return None
        slices = Slices.of(largest, self.total)

        def products(parts: Iterable[Rows]) -> np.ndarray:
            total = np.zeros((len(slices.pairs), *shape, shape[-1]))
            for rows in parts:
                total += slices.products(terms(rows), self.kind)
            return total

        found = slices.join(self._rank.allreduce(np.sum(list(self._over(products, shape)), axis=0)))
        return found if np.isfinite(found).all() else None

    def _largest(self, terms: Terms, shape: tuple[int, ...]) -> np.ndarray:
        """Return the largest absolute value of each row of A, NaN where there is one; the same on every rank."""

        def largest(parts: Iterable[Rows]) -> np.ndarray:
            found = [arrays.to_host(np.abs(terms(rows)).max(axis=-1)) for rows in parts if rows.x.shape[1]]
            most: np.ndarray = np.max([np.zeros(shape), *found], axis=0)
            return most

        of_ranks = np.zeros((self._rank.size, *shape))
        of_ranks[self._rank.index] = np.max(list(self._over(largest, shape)), axis=0)
        found: np.ndarray = np.max(self._rank.allreduce(of_ranks), axis=0)
        return found

    def _over(self, work: Callable[[Iterable[Rows]], np.ndarray], shape: tuple[int, ...]) -> Iterator[np.ndarray]:
        parts = list(self._parts(math.prod(shape)))
        return self._pool.map(work, [parts[place :: self._threads] for place in range(self._threads)])

    def vectors(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first `count` features of this rank's rows of a weight above 0, and the weights of these rows."""
        found = [(arrays.to_host(rows.x[:count]), host(rows)[1]) for rows in self._rows]
        weight = np.concatenate([np.empty(0), *(each for _, each in found)])
        vectors = np.concatenate([np.empty((count, 0)), *(each for each, _ in found)], axis=1)
        return vectors[:, weight > 0], weight[weight > 0]

    def agreed(self, values: np.ndarray) -> np.ndarray:
        """Return rank 0's values: processors of different kinds may round the same equations in different ways."""
        if not values.size:
            return values
        return self._rank.allreduce(values if self._rank.index == 0 else np.zeros_like(values))


def host(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and weights as NumPy arrays."""
    label = arrays.to_host(rows.label)
    return label, np.ones_like(label) if rows.weight is None else arrays.to_host(rows.weight)
