"""Sums that are exact: the same to the bit whatever the order in which terms are added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penstock.frames import Kind, matrices

_BY_PRODUCT = 32
"""On a CPU a matrix product is faster than adding term by term to the sum of its group, up to so many groups."""


@dataclass(frozen=True, eq=False)
class Split:
    """Cuts terms in two so that sums are the same to the bit in whatever order they are added, on one rank or several.

    Every term is rounded to a multiple of a power of two so large that sums of multiples are exact, by adding and
    taking away a large number; what is left is rounded in the same way. Of n terms of at most 1 the sum is off by
    n**3 * 2**-102 at most: less than rounding the largest possible sum once, for up to 2**24 rows, and 2e-13 of that
    sum for 2**30. The cut is that of Rump, Ogita and Oishi, "Accurate floating-point summation part I", SIAM Journal on
    Scientific Computing 31, 2008; that such sums are reproducible is in Demmel and Nguyen, "Fast reproducible
    floating-point summation", ARITH 2013.

    Parameters
    ----------
    large, small : numpy.ndarray of shape (n_sums, 1), float64

    Attributes
    ----------
    count : int
        Parts of a term.

    Examples
    --------
    >>> split = Split.of(np.array([1.0]), 3)
    >>> split.by_group(np.array([0, 1, 0]), np.array([[0.1, 0.5, 0.7]]), 2).sum(axis=0).tolist()
    [[0.7999999999999999], [0.5]]
    """

    large: Any
    small: Any
    count: ClassVar[int] = 2

    @classmethod
    def of(cls, bound: np.ndarray, terms: int, kind: Kind = "cpu") -> Split:
        """Return the split for sums of at most so many terms, over all ranks, none of which exceeds `bound` in size."""
        if kind == "gpu":
            return Unsplit(None, None)
        exponent = np.frexp(2.0 * terms * bound)[1]
        numbers = np.ldexp(1.5, exponent), np.ldexp(1.5, exponent + int(terms).bit_length() - 52)
        return cls(*(each[:, None] for each in numbers))

    def parts(self, terms: Any, high: Any = None, low: Any = None) -> tuple[Any, ...]:
        """Return both parts of terms, of shape (n_sums, n_terms), written to `high` and `low` where these are given.

        New memory for each call would cost more than the cut; `low` may be the terms themselves.
        """
        high = np.add(terms, self.large, out=high)
        high -= self.large
        low = np.subtract(terms, high, out=low)
        low += self.small
        low -= self.small
        return high, low

    def sums(self, terms: Any) -> np.ndarray:
        """Return the sums of all parts, of shape (count, n_sums); those of several ranks may be added."""
        return matrices.to_host(np.stack([part.sum(axis=1) for part in self.parts(terms)]))

    def by_group(
        self, groups: Any, values: Any, n_groups: int, room: Any | None = None, before: Any | None = None
    ) -> Any:
        """Return the sums of all parts, of shape (count, n_groups, n_sums); those of several ranks may be added.

        Parameters
        ----------
        groups : array of shape (n_terms,) of int
            Of NumPy or CuPy, as all arrays here and the sums.
        values : array of shape (n_sums, n_terms), float64
            They are written over.
        room : array, optional
            Of the shape of `values`, to be written over.
        before : array of shape (n_terms,) of int, optional
            The groups that terms are in already, and are taken from; -1 for none.
        """
        # A GPU would tell the host the largest group before each count.
        add = _by_bins if n_groups > _BY_PRODUCT and isinstance(groups, np.ndarray) else _by_product
        return add(groups, self.parts(values, room, values), n_groups, before)


class Unsplit(Split):
    """Uncut terms, for plain sums on a GPU.

    The last digits of sums depend on the order; a sum takes one call in place of six.
    """

    count = 1

    def parts(self, terms: Any, high: Any = None, low: Any = None) -> tuple[Any, ...]:
        return (terms,)


def _by_bins(groups: np.ndarray, parts: tuple[np.ndarray, ...], n_groups: int, before: np.ndarray | None) -> np.ndarray:
    sums = np.array([[np.bincount(groups, row, n_groups) for row in part] for part in parts])
    if before is not None:
        sums -= [[np.bincount(before + 1, row, n_groups + 1)[1:] for row in part] for part in parts]
    return sums.swapaxes(1, 2)


def _by_product(groups: Any, parts: tuple[Any, ...], n_groups: int, before: Any | None) -> Any:
    each = np.arange(n_groups, like=groups)[:, None]
    members = (groups == each).astype(np.float64)
    if before is not None:
        members -= before == each
    return np.stack([members @ part.T for part in parts])
