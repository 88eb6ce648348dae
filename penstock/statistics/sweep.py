"""The sweep operator: regressions on any of several columns, from their correlations alone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from penstock.statistics.gram import CrossProducts

SMALLEST_PIVOT = 1e-12
"""A column of which others leave less than this share of its variance unexplained counts as explained by them."""


class Sweep:
    """Correlations of columns, of which some are swept: those that the others are regressed on.

    Goodnight, "A tutorial on the SWEEP operator", The American Statistician 33, 1979. Of a column that is not swept the
    diagonal has the share of its variance that the swept ones leave unexplained; of one that is swept, the negative of
    its variance inflation factor.

    Parameters
    ----------
    gram : CrossProducts

    Examples
    --------
    >>> cross = np.array([[4.0, 3.0], [3.0, 9.0]])
    >>> sweep = Sweep(CrossProducts(("x", "y"), 5, 5.0, 5.0, np.zeros(2), cross, np.zeros(2, bool)))
    >>> sweep.add(0)
    >>> sweep.unexplained(1)  # 1 - r**2
    0.75
    """

    def __init__(self, gram: CrossProducts) -> None:
        lengths = np.sqrt(np.diag(gram.cross))
        safe = np.where(lengths > 0, lengths, 1.0)
        self.constant = lengths == 0
        self.swept: set[int] = set()
        self._matrix = gram.cross / safe[:, None] / safe
        np.fill_diagonal(self._matrix, np.where(self.constant, 0.0, 1.0))

    def add(self, place: int) -> None:
        """Regress on a column too."""
        self._pivot(place, 1.0)
        self.swept.add(place)

    def remove(self, place: int) -> None:
        """Regress on a column no more."""
        self._pivot(place, -1.0)
        self.swept.remove(place)

    def _pivot(self, place: int, sign: float) -> None:
        row = self._matrix[place].copy()
        pivot = row[place]
        self._matrix -= np.outer(row, row / pivot)
        self._matrix[place] = self._matrix[:, place] = sign * row / pivot
        self._matrix[place, place] = -1 / pivot

    def unexplained(self, place: int) -> float:
        """Return the share of the variance of a column that those swept leave; of a constant one, 0."""
        return max(float(self._matrix[place, place]), 0.0)

    def is_explained(self, place: int) -> bool:
        """Return whether a column is constant, or explained by those swept."""
        return self.unexplained(place) <= SMALLEST_PIVOT

    def inflation(self, place: int) -> float:
        """Return the variance inflation factor of a swept column among those swept."""
        return max(-float(self._matrix[place, place]), 1.0)

    def change(self, place: int, of: int) -> float:
        """Return by how much the unexplained share of column `of` falls where `place` is added, or rises without it."""
        return float(self._matrix[place, of] ** 2 / abs(self._matrix[place, place]))

    def add_all(self, places: Iterable[int]) -> list[int]:
        """Add columns in order, but for those that are explained by now, which are returned."""
        left = []
        for place in places:
            if self.is_explained(place):
                left.append(place)
            else:
                self.add(place)
        return left
