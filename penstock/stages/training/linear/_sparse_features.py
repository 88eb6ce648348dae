"""Features of a regression among which is a sparse vector: what is asked of them, read of them, and learned for them.

There is a coefficient for each index that some row has, however long the vector is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.frames import sparse
from penstock.spmd import Rank
from penstock.stages.base import Fitted
from penstock.stages.training._vector_features import index_table, refuse_empty
from penstock.stages.training.linear._sparse_design import SparseDesign
from penstock.stages.training.linear._sparse_rows import ToSparseRows
from penstock.statistics import Extremes, Statistic
from penstock.statistics.index_extremes import Entries, IndexExtremes
from penstock.statistics.rules import Rule


@dataclass(frozen=True)
class SparseFeatures:
    """A sparse vector, and numbers beside it if there are any.

    Parameters
    ----------
    numbers : tuple of str
    label : str
    weight : str or None
    intercept : bool
    vector : str
    """

    numbers: tuple[str, ...]
    label: str
    weight: str | None
    intercept: bool
    vector: str

    @property
    def weights(self) -> tuple[str, ...]:
        """The weight, where there is one."""
        return (self.weight,) if self.weight else ()

    def rules(self) -> list[tuple[str, Rule]]:
        """Return what numbers must be; the statistic of the vector refuses what is wrong with it."""
        return [(name, Rule(test)) for name in self.numbers for test in ("null", "infinite", "too_large")]

    def statistics(self) -> dict[str, Statistic]:
        """Ask for the indices of the vector, and for the ends of the weight."""
        entries = IndexExtremes((*sparse.columns(self.vector), *self.weights), weighted=bool(self.weight))
        return {"entries": entries, **({"extremes": Extremes(self.weights)} if self.weight else {})}

    def learned(self, results: Mapping[str, Any]) -> Fitted:
        """Return the indices of the vector, with the bounds of its values.

        Raises
        ------
        DataValueError
            No row has an index.
        """
        entries: Entries = results["entries"]
        refuse_empty(self.vector, len(entries.index))
        indices = pa.table({"index": entries.index, "low": entries.low, "high": entries.high})
        return {"vector": self.vector, "rows": entries.rows, "indices": indices}

    def read(self, rank: Rank, learned: Fitted, classes: tuple[Any, ...] | None) -> SparseDesign:
        """Return the rows of this rank, see `ToSparseRows`; every rank calls it."""
        index, low, high = (learned["indices"][name].to_numpy() for name in ("index", "low", "high"))
        convert = ToSparseRows(self.numbers, self.vector, index, self.label, classes, self.weight, self.intercept)
        return SparseDesign.of(rank, convert, learned["rows"], learned["largest_weight"], low, high)

    def named(self, learned: Fitted, chosen: np.ndarray) -> list[str]:
        """Return the names of the features that are chosen, a mask in the order of coefficients."""
        numbers, indices = np.split(chosen, [len(self.numbers)])
        places = learned["indices"]["index"].to_numpy()[indices]
        plain = [name for name, taken in zip(self.numbers, numbers, strict=True) if taken]
        return [*plain, *(f"{self.vector}[{place}]" for place in places)]

    def stored(self, coefficients: np.ndarray, learned: Fitted) -> Fitted:
        """Return the coefficients of the vector, of shape (outputs, indices), without indices that have none but 0."""
        kept = coefficients.any(axis=0)
        table = index_table(learned["indices"]["index"].to_numpy()[kept], coefficients[:, kept])
        return {"vector": self.vector, "vector_coefficients": table}
