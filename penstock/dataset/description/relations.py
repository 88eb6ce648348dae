"""What a full description says of columns together: how they correlate, which are missing together, which are equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.statistics.null_patterns import NullPattern, PatternCounts
from penstock.statistics.pairwise_moments import PairwiseProducts

MOST_CORRELATED = 100
MOST_PATTERNS = 50


@dataclass(frozen=True)
class Correlations:
    """Pearson's coefficients of each of several columns with each, over the rows that have both.

    Attributes
    ----------
    columns : tuple of str
        Columns of numbers and booleans, the first 100 of them.
    matrix : tuple of tuple of float or None
        In the order of `columns`; None where one of two is constant, or no rows have both.
    rows : tuple of tuple of int
        How many rows have both.
    """

    columns: tuple[str, ...]
    matrix: tuple[tuple[float | None, ...], ...]
    rows: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, products: PairwiseProducts) -> Correlations:
        """Return the coefficients of columns."""
        matrix = products.correlation()
        values = np.where(np.isnan(matrix), None, matrix.astype(object)).tolist()  # type: ignore[call-overload]
        return cls(products.columns, tuple(map(tuple, values)), tuple(map(tuple, products.count.tolist())))

    def pairs(self, least: float, fewest: int = 20) -> list[tuple[str, str, float]]:
        """Return the pairs of columns whose coefficient is at least so large, with it, the largest first; signs aside.

        Parameters
        ----------
        least : float
        fewest : int, default=20
            Pairs that fewer rows have are left out: by chance alone they may correlate strongly.

        Examples
        --------
        >>> Correlations(("x", "y"), ((1.0, -0.9), (-0.9, 1.0)), ((30, 30), (30, 30))).pairs(0.5)
        [('x', 'y', -0.9)]
        """
        found = [
            (self.columns[one], self.columns[other], value)
            for one, row in enumerate(self.matrix)
            for other, value in enumerate(row)
            if one < other and value is not None and abs(value) >= least and self.rows[one][other] >= fewest
        ]
        return sorted(found, key=lambda pair: -abs(pair[2]))

    def at(self, places: Sequence[int]) -> Correlations:
        """Return those of some of the columns."""
        matrix = tuple(tuple(self.matrix[one][other] for other in places) for one in places)
        rows = tuple(tuple(self.rows[one][other] for other in places) for one in places)
        return Correlations(tuple(self.columns[place] for place in places), matrix, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        told = {"matrix": self.matrix, "rows": self.rows}
        return {"columns": list(self.columns), **{name: [list(row) for row in each] for name, each in told.items()}}


@dataclass(frozen=True)
class MissingPatterns:
    """The patterns in which columns are missing, most frequent first.

    Attributes
    ----------
    patterns : tuple of NullPattern
        The 50 of most rows, each with its ``columns``, none of them of whole rows, and ``rows``.
    others : int
        Rows of other patterns.
    error : int
        By how much each count may be too low; 0 up to 1,000 patterns.
    """

    patterns: tuple[NullPattern, ...]
    others: int = 0
    error: int = 0

    @classmethod
    def of(cls, found: PatternCounts, rows: int) -> MissingPatterns:
        """Return the leading patterns of so many rows."""
        kept = found.patterns[:MOST_PATTERNS]
        return cls(kept, rows - sum(each.rows for each in kept), found.error)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        patterns = [{"columns": list(each.columns), "rows": each.rows} for each in self.patterns]
        return {"patterns": patterns, "others": self.others, "error": self.error}
