"""Weighted means of groups, from those of parts of them: of data far from zero nothing cancels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Groups:
    """Which part is of which group; a row is a part, or what was joined before.

    Attributes
    ----------
    place : numpy.ndarray of shape (n_parts,)
        The group of each part.
    first : numpy.ndarray of shape (n_groups,)
        The first part of each group.
    parts, weight : numpy.ndarray of shape (n_parts,) and (n_groups,), float64
        Of each part and of each group.
    share : numpy.ndarray of shape (n_parts,), float64
        Of each part in its group.

    Examples
    --------
    >>> groups = Groups.of(np.array([0, 1, 0]), np.array([1.0, 1.0, 3.0]), 2)
    >>> groups.means(np.array([2.0, 7.0, 6.0]), 0.0)[0].tolist(), groups.weight.tolist()
    ([5.0, 7.0], [4.0, 1.0])
    """

    place: np.ndarray
    first: np.ndarray
    parts: np.ndarray
    weight: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, place: np.ndarray, parts: np.ndarray, number: int) -> Groups:
        """Return so many groups, each of which has a part."""
        first = np.empty(number, dtype=np.int64)
        first[place[::-1]] = np.arange(len(place))[::-1]  # of several that fall on one place the last is kept
        weight = sums(place, parts, number)
        return cls(place, first, parts, weight, parts / weight[place])

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the values of each group, added in order."""
        return sums(self.place, values, len(self.first))

    def means(self, means: np.ndarray, rests: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the mean of each group, what float64 rounds off it, and how far from it the mean of each part is.

        It is taken from the first part's and then corrected; `rests` are what was rounded off those of the parts.
        """
        start = means[self.first]
        rough = start + self.sums(self.share * (means - start[self.place]))
        away = (means - rough[self.place]) + rests
        shift = self.sums(self.share * away)
        mean = rough + shift
        away -= shift[self.place]
        return mean, (rough - mean) + shift, away


def sums(place: np.ndarray, values: np.ndarray, number: int) -> np.ndarray:
    """Return the sum of the values at each of so many places, in order; float64 also where there are none.

    Examples
    --------
    >>> sums(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    return np.bincount(place, values, number).astype(np.float64)


def as_lists(matrix: np.ndarray) -> pa.ListArray:
    """Return the rows of a matrix as lists."""
    rows, width = matrix.shape
    return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32) * width), matrix.ravel())


def as_matrix(lists: pa.ChunkedArray, width: int) -> np.ndarray:
    """Return lists of one length as the rows of a matrix.

    Examples
    --------
    >>> as_matrix(pa.chunked_array([as_lists(np.array([[1.0, 2.0]]))]), 2)
    array([[1., 2.]])
    """
    return lists.combine_chunks().flatten().to_numpy().reshape(-1, width)
