"""Features of a logistic regression among which is a sparse vector: CSR from reading to scoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import arrays, frames, sparse
from penstock.errors import DataValueError
from penstock.spmd import Rank
from penstock.stages.base import Fitted
from penstock.stages.training._curvature import diagonal_inverse
from penstock.stages.training._design import Scaling, Totals
from penstock.stages.training._logistic_inputs import Inputs, NumberInputs
from penstock.stages.training._quasi_newton import Inverse
from penstock.stages.training._sparse_design import SparseDesign
from penstock.stages.training._sparse_rows import ToSparseRows
from penstock.stages.training._vector_features import at_indices, index_table, of_index_table
from penstock.statistics import Extremes, Statistic
from penstock.statistics.index_extremes import Entries, IndexExtremes
from penstock.statistics.rules import Checks, Rule


@dataclass(frozen=True)
class VectorInputs(Inputs):
    """A sparse vector, and numbers beside it if there are any.

    There is a coefficient for each index that some row has, however long the vector is. Learned is
    ``vector_coefficients``: ``index`` and a column for each row of coefficients, without indices that have none but 0.

    Parameters
    ----------
    vector : str
    """

    vector: str

    def checks(self) -> Checks:
        return [(name, Rule(test)) for name in self.numbers for test in ("null", "infinite", "too_large")]

    def statistics(self) -> dict[str, Statistic]:
        weight = (self.weight,) if self.weight else ()
        entries = IndexExtremes((*sparse.columns(self.vector), *weight), weighted=bool(weight))
        plain = (*self.numbers, *weight)
        return {"entries": entries, **({"extremes": Extremes(plain)} if plain else {})}

    def learned(self, results: Mapping[str, Any]) -> Fitted:
        """Return bounds of the numbers, and indices of the vector with theirs.

        Raises
        ------
        DataValueError
            No row has an index.
        """
        ranges = [results["extremes"][name] for name in self.numbers]
        entries: Entries = results["entries"]
        if not len(entries.index):
            column = sparse.columns(self.vector)[0]
            raise DataValueError(f"column {column!r} has no index in any of its lists", column=column)
        return {
            "vector": self.vector,
            "low": [float(extreme.min) for extreme in ranges],
            "high": [float(extreme.max) for extreme in ranges],
            "indices": pa.table({"index": entries.index, "low": entries.low, "high": entries.high}),
        }

    def read(self, rank: Rank, learned: Fitted, classes: tuple[Any, ...]) -> SparseDesign:
        index = learned["indices"]["index"].to_numpy()
        convert = ToSparseRows(self.numbers, self.vector, index, self.label, classes, self.weight, self.intercept)
        low, high = (
            np.append(np.array(learned[end], np.float64), learned["indices"][end].to_numpy()) for end in ("low", "high")
        )
        return SparseDesign(rank, convert, learned["rows"], learned["largest_weight"], low, high)

    def standardise(self, design: SparseDesign, learned: Fitted, classes: int) -> tuple[Scaling, Totals]:
        return design.standardise(classes)

    def inverse(self, learned: Fitted, scaling: Scaling, probabilities: np.ndarray, l2: np.ndarray) -> Inverse | None:
        if self.l1:
            return None
        offset = (scaling.mean - scaling.shift) / scaling.divisor
        moments = np.append(1.0 + offset**2, [1.0] * self.intercept)
        inverse = diagonal_inverse(moments, probabilities, l2).ravel()
        return lambda vector: vector * inverse

    def named(self, learned: Fitted, chosen: np.ndarray) -> list[str]:
        numbers, indices = np.split(chosen, [len(self.numbers)])
        places = learned["indices"]["index"].to_numpy()[indices]
        return [*self._plain().named(learned, numbers), *(f"{self.vector}[{place}]" for place in places)]

    def stored(self, coefficients: np.ndarray, learned: Fitted) -> Fitted:
        numbers, vector = np.split(coefficients, [len(self.numbers)], axis=1)
        kept = vector.any(axis=0)
        table = index_table(learned["indices"]["index"].to_numpy()[kept], vector[:, kept])
        plain = self._plain().stored(numbers, learned) if self.numbers else {}
        return {"vector": self.vector, "vector_coefficients": table, **plain}

    def _plain(self) -> NumberInputs:
        return NumberInputs(self.numbers, self.label, self.weight, self.intercept, self.l1)

    def margins(self, frame: nw.DataFrame[Any], fitted: Fitted) -> tuple[Any, Any]:
        index, coefficients = of_index_table(fitted["vector_coefficients"])
        matrix, lacking = at_indices(frame, self.vector, index)
        products = np.ascontiguousarray((matrix @ np.ascontiguousarray(coefficients.T)).T)
        margins, missing = (arrays.to_device(each, frames.kind_of(frame)) for each in (products, lacking))
        if not self.numbers:
            return margins, missing
        others, without = self._plain().margins(frame, fitted)
        with np.errstate(over="ignore", invalid="ignore"):
            return margins + others, missing | without
