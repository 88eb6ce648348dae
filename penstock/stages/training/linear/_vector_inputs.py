"""Features of a logistic regression among which is a sparse vector: CSR from reading to scoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from penstock import frames
from penstock.frames import matrices
from penstock.stages.base import Fitted
from penstock.stages.training._vector_features import at_indices, of_index_table
from penstock.stages.training.exact.design import Scaling, Totals
from penstock.stages.training.linear._curvature import diagonal_inverse
from penstock.stages.training.linear._logistic_inputs import NumberInputs
from penstock.stages.training.linear._quasi_newton import Inverse
from penstock.stages.training.linear._sparse_design import SparseDesign
from penstock.stages.training.linear._sparse_features import SparseFeatures


@dataclass(frozen=True)
class VectorInputs(SparseFeatures):
    """A sparse vector, and numbers beside it if there are any.

    There is a coefficient for each index that some row has, however long the vector is. Learned is
    ``vector_coefficients``: ``index`` and a column for each row of coefficients, without indices that have none but 0.

    Parameters
    ----------
    l1 : bool
        As of `NumberInputs`, whose methods it has.
    """

    l1: bool

    def standardise(self, design: SparseDesign, learned: Fitted, classes: int) -> tuple[Scaling, Totals]:
        """Return how features are standardised, and sums over all rows; every rank calls it, once."""
        moments = design.moments
        scaling = design.standardise(moments.mean, moments.sample_deviation)
        return scaling, Totals(moments.weight, moments.of_classes, np.ones(len(moments.mean)))

    def inverse(self, learned: Fitted, scaling: Scaling, probabilities: np.ndarray, l2: np.ndarray) -> Inverse | None:
        """Return what multiplies by the inverse of the Hessian's diagonal at the start; None with an L1 penalty."""
        if self.l1:
            return None
        offset = (scaling.mean - scaling.shift) / scaling.divisor
        moments = np.append(1.0 + offset**2, [1.0] * self.intercept)
        inverse = diagonal_inverse(moments, probabilities, l2).ravel()
        return lambda vector: vector * inverse

    def stored(self, coefficients: np.ndarray, learned: Fitted) -> Fitted:
        """Return the coefficients, of shape (outputs, features), as a model has them."""
        numbers, vector = np.split(coefficients, [len(self.numbers)], axis=1)
        plain = self._plain().stored(numbers, learned) if self.numbers else {}
        return {**super().stored(vector, learned), **plain}

    def named_coefficients(self, fitted: Fitted) -> tuple[list[str], np.ndarray]:
        """Return the names of features, ``vector[index]`` too, and their coefficients, of shape (outputs, features)."""
        index, coefficients = of_index_table(fitted["vector_coefficients"])
        names = [f"{self.vector}[{place}]" for place in index]
        if not self.numbers:
            return names, coefficients
        others, beside = self._plain().named_coefficients(fitted)
        return [*others, *names], np.concatenate([beside, coefficients], axis=1)

    def _plain(self) -> NumberInputs:
        return NumberInputs(self.numbers, self.label, self.weight, self.intercept, self.l1)

    def margins(self, frame: nw.DataFrame[Any], fitted: Fitted) -> tuple[Any, Any]:
        """Return the margins without intercepts, of shape (outputs, rows), and a mask of rows that lack a feature."""
        index, coefficients = of_index_table(fitted["vector_coefficients"])
        matrix, lacking = at_indices(frame, self.vector, index)
        products = np.ascontiguousarray((matrix @ np.ascontiguousarray(coefficients.T)).T)
        margins, missing = (matrices.to_device(each, frames.kind_of(frame)) for each in (products, lacking))
        if not self.numbers:
            return margins, missing
        others, without = self._plain().margins(frame, fitted)
        with np.errstate(over="ignore", invalid="ignore"):
            return margins + others, missing | without
