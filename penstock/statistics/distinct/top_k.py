"""Which counted values are asked for, so that the others need not leave the workers that counted them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.statistics.distinct import shards


@dataclass(frozen=True)
class TopK:
    """The values that occur often enough, and of these the first in order; all, unless told.

    Parameters
    ----------
    top : int, optional
        How many, at most.
    at_least : int, default=1
        How often each occurs, at least.

    Examples
    --------
    >>> table = pa.table({"value": ["a", "b", "c"], "count": [1, 3, 2]})
    >>> TopK(top=2).of(table)["value"].to_pylist(), TopK(at_least=3).of(table)["value"].to_pylist()
    (['b', 'c'], ['b'])
    >>> TopK(top=5, at_least=2) | TopK(top=9, at_least=3), TopK(top=5) | TopK()
    (TopK(top=9, at_least=2), TopK(top=None, at_least=1))
    """

    top: int | None = None
    at_least: int = 1

    def __or__(self, other: TopK) -> TopK:
        """Return what keeps all that either of two keeps."""
        top = None if self.top is None or other.top is None else max(self.top, other.top)
        return TopK(top, min(self.at_least, other.at_least))

    @property
    def all(self) -> bool:
        """Whether nothing is left out."""
        return self.top is None and self.at_least <= 1

    def of(self, table: pa.Table) -> pa.Table:
        """Return the rows of a table with a column ``count`` that are kept, in any order."""
        often = table["count"].to_numpy() >= self.at_least
        frequent = table if np.all(often) else table.filter(pa.array(often))
        return frequent if self.top is None else shards.leading(frequent, self.top)


ALL = TopK()
