"""Sums of terms by group that are exact: the same to the bit whatever the order in which terms are added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_BY_PRODUCT = 32
"""Up to so many groups a matrix product is faster than adding term by term to the sum of its group."""


@dataclass(frozen=True, eq=False)
class ExactSums:
    """Sums that are the same to the bit whatever the order in which terms are added, on one rank or several.

    Every term is cut in two by rounding it to a multiple of a power of two so large that sums of multiples are exact;
    what is left is rounded in the same way. Of n terms of at most 1 the sum is off by n**3 * 2**-102 at most: less than
    rounding the largest possible sum once, for up to 2**24 rows, and 2e-13 of that sum for 2**30.
    The cut is that of Rump, Ogita and Oishi, "Accurate floating-point summation part I", SIAM Journal on Scientific
    Computing 31, 2008; that such sums are reproducible is in Demmel and Nguyen, "Fast reproducible floating-point
    summation", ARITH 2013.

    Parameters
    ----------
    largest : numpy.ndarray of shape (n_sums,), float64
        No term of a sum is further from zero.
    terms : int
        How many there are at most, over all ranks.

    Examples
    --------
    >>> exact = ExactSums(np.array([1.0]), 3)
    >>> exact.by_group(np.array([0, 1, 0]), np.array([[0.1, 0.5, 0.7]]), 2).sum(axis=0).tolist()
    [[0.7999999999999999], [0.5]]
    """

    largest: np.ndarray
    terms: int

    def by_group(
        self,
        groups: np.ndarray,
        values: np.ndarray,
        n_groups: int,
        room: np.ndarray | None = None,
        before: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the sums of both parts, of shape (2, n_groups, n_sums); those of several ranks may be added.

        Parameters
        ----------
        groups : numpy.ndarray of shape (n_terms,) of int
        values : numpy.ndarray of shape (n_sums, n_terms), float64
            They are written over.
        room : numpy.ndarray, optional
            Of the shape of `values`, to be written over: new memory for each call would cost more than the sums.
        before : numpy.ndarray of shape (n_terms,) of int, optional
            The groups that terms are in already, and are taken from; -1 for none.
        """
        exponent = np.frexp(self.largest * self.terms)[1] + 1
        coarse = np.ldexp(1.5, exponent)[:, None]
        fine = np.ldexp(1.5, exponent + self.terms.bit_length() - 52)[:, None]
        high = np.add(values, coarse, out=room)
        high -= coarse
        low = values
        low -= high
        low += fine
        low -= fine
        add = _by_bins if n_groups > _BY_PRODUCT else _by_product
        return add(groups, (high, low), n_groups, before)


def _by_bins(groups: np.ndarray, parts: tuple[np.ndarray, ...], n_groups: int, before: np.ndarray | None) -> np.ndarray:
    sums = np.array([[np.bincount(groups, row, n_groups) for row in part] for part in parts])
    if before is not None:
        sums -= [[np.bincount(before + 1, row, n_groups + 1)[1:] for row in part] for part in parts]
    return sums.swapaxes(1, 2)


def _by_product(
    groups: np.ndarray, parts: tuple[np.ndarray, ...], n_groups: int, before: np.ndarray | None
) -> np.ndarray:
    each = np.arange(n_groups)[:, None]
    members = (groups == each).astype(np.float64)
    if before is not None:
        members -= before == each
    return np.stack([members @ part.T for part in parts])
