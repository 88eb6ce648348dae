"""Features as XGBoost takes them: numbers, and of a sparse vector those indices that its trees look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.frames import sparse
from penstock.stages.base import Fitted
from penstock.stages.features import Features
from penstock.stages.shapes import Shape, TableOf, Text
from penstock.statistics.base import Statistic
from penstock.statistics.index_counts import IndexCounts

_VECTOR = "indices of the vector"


@dataclass(frozen=True, eq=False)
class TreeFeatures(Features):
    """Features of trees; learned are ``vector`` and ``indices`` where there is a sparse vector among them.

    Parameters
    ----------
    index : numpy.ndarray, optional
        The indices of the vector that have a column in matrices, int32, ascending.
    """

    index: np.ndarray | None = None

    @classmethod
    def learned(cls, columns: Sequence[str], fitted: Fitted) -> Self:
        """Return the features, with the indices that were learned."""
        if "indices" not in fitted:
            return cls(tuple(columns))
        return cls(tuple(columns), fitted["vector"], fitted["indices"]["index"].to_numpy())

    def statistics(self) -> dict[str, Statistic]:
        """Ask for the indices of the vector."""
        return {} if self.vector is None else {_VECTOR: IndexCounts(sparse.columns(self.vector), positive=False)}

    @staticmethod
    def learn(results: Mapping[str, Any]) -> Fitted:
        """Return ``vector`` and ``indices`` where a vector was looked at.

        Raises
        ------
        DataValueError
            No row has an index.
        """
        for vector, found in results.get(_VECTOR, {}).items():
            if not found.table.num_rows:
                column = sparse.columns(vector)[0]
                raise DataValueError(f"column {column!r} has no index in any of its lists", column=column)
            return {"vector": vector, "indices": found.table.select(["index"])}
        return {}

    @property
    def shapes(self) -> dict[str, Shape]:
        """What a model has of a vector."""
        indices = TableOf({"index": pa.types.is_integer}, unique=("index",))
        return {} if self.vector is None else {"vector": Text(), "indices": indices}

    def matrix(self, frame: nw.DataFrame) -> Any:
        """Return the float32 matrix of rows, NaN for null; DataValueError for an infinity."""
        from penstock.stages.training.trees._matrix import finite_matrix

        return finite_matrix(frame, self.columns, self.index)

    def row_function(self, schema: pa.Schema) -> Callable[[Mapping[str, Any]], Any]:
        """Return what makes `matrix` of one row of Python values."""
        from penstock.stages.training.trees._rows import float32_row

        return float32_row(self.columns, schema, self.index)

    def by_name(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Return scores by the names of features, which a booster that was trained on a vector knows by place alone."""
        if self.index is None:
            return dict(scores)
        names = [*self.numbers, *(f"{self.vector}[{place}]" for place in self.index)]
        return {names[int(place.removeprefix("f"))]: score for place, score in scores.items()}

    def without_unused(self, fitted: Fitted) -> Fitted:
        """Return a model without those indices that no tree looks at."""
        if self.index is None:
            return fitted
        from penstock.stages.training.trees._used_features import without_unused

        numbers = len(self.numbers)
        booster, used = without_unused(fitted["booster"], numbers)
        return {**fitted, "booster": booster, "indices": fitted["indices"].take(used[numbers:] - numbers)}
