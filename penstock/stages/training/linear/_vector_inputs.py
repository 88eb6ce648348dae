"""Features of a logistic regression among which is a sparse vector: CSR from reading to scoring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from penstock import frames
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted
from penstock.stages.training._vector_features import at_indices, of_index_table
from penstock.stages.training.exact.design import Scaling, Totals
from penstock.stages.training.linear._curvature import diagonal_inverse
from penstock.stages.training.linear._logistic_inputs import Inputs, NumberInputs
from penstock.stages.training.linear._quasi_newton import Inverse
from penstock.stages.training.linear._sparse_design import SparseDesign
from penstock.stages.training.linear._sparse_features import SparseFeatures
from penstock.statistics import Extremes, Statistic
from penstock.statistics.rules import Rule


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

    def rules(self) -> Sequence[tuple[str, Rule]]:
        return self._features.rules()

    @property
    def _features(self) -> SparseFeatures:
        return SparseFeatures(self.numbers, self.vector, self.weight)

    def statistics(self) -> dict[str, Statistic]:
        extremes = {"extremes": Extremes(self._features.weights)} if self.weight else {}
        return {"entries": self._features.statistic(), **extremes}

    def learned(self, results: Mapping[str, Any]) -> Fitted:
        """Return the indices of the vector, with the bounds of its values.

        Raises
        ------
        DataValueError
            No row has an index.
        """
        return self._features.learned(results["entries"])

    def read(self, rank: Rank, learned: Fitted, classes: tuple[Any, ...]) -> SparseDesign:
        return self._features.read(rank, learned, self.label, classes, intercept=self.intercept)

    def standardise(self, design: SparseDesign, learned: Fitted, classes: int) -> tuple[Scaling, Totals]:
        moments = design.moments(classes)
        scaling = design.standardise(moments.mean, moments.sample_deviation)
        return scaling, Totals(moments.weight, moments.of_classes, np.ones(len(moments.mean)))

    def inverse(self, learned: Fitted, scaling: Scaling, probabilities: np.ndarray, l2: np.ndarray) -> Inverse | None:
        if self.l1:
            return None
        offset = (scaling.mean - scaling.shift) / scaling.divisor
        moments = np.append(1.0 + offset**2, [1.0] * self.intercept)
        inverse = diagonal_inverse(moments, probabilities, l2).ravel()
        return lambda vector: vector * inverse

    def named(self, learned: Fitted, chosen: np.ndarray) -> list[str]:
        return self._features.named(learned, chosen)

    def stored(self, coefficients: np.ndarray, learned: Fitted) -> Fitted:
        numbers, vector = np.split(coefficients, [len(self.numbers)], axis=1)
        plain = self._plain().stored(numbers, learned) if self.numbers else {}
        return {**self._features.stored(vector, learned), **plain}

    def _plain(self) -> NumberInputs:
        return NumberInputs(self.numbers, self.label, self.weight, self.intercept, self.l1)

    def margins(self, frame: nw.DataFrame[Any], fitted: Fitted) -> tuple[Any, Any]:
        index, coefficients = of_index_table(fitted["vector_coefficients"])
        matrix, lacking = at_indices(frame, self.vector, index)
        products = np.ascontiguousarray((matrix @ np.ascontiguousarray(coefficients.T)).T)
        margins, missing = (matrices.to_device(each, frames.kind_of(frame)) for each in (products, lacking))
        if not self.numbers:
            return margins, missing
        others, without = self._plain().margins(frame, fitted)
        with np.errstate(over="ignore", invalid="ignore"):
            return margins + others, missing | without
