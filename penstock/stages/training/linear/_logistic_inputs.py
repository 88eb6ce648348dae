"""Features of a logistic regression: numbers, and a sparse vector beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted
from penstock.stages.training._finite import finite_matrix
from penstock.stages.training._vector_features import at_indices, of_index_table
from penstock.stages.training.exact.design import Scaling, ToRows, Totals, linear
from penstock.stages.training.exact.products import ProductDesign
from penstock.stages.training.linear._curvature import (
    affordable,
    diagonal_inverse,
    inverse_hessian,
    second_moments,
    times,
)
from penstock.stages.training.linear._quasi_newton import Inverse
from penstock.stages.training.linear._sparse_design import SparseDesign
from penstock.stages.training.linear._sparse_features import SparseFeatures
from penstock.statistics import CrossProducts, Extreme, Extremes, Gram, Moment, Moments, Statistic
from penstock.statistics.rules import Rule, rules_for


@dataclass(frozen=True)
class NumberInputs:
    """Features that are all numbers: a dense matrix.

    `VectorInputs`, of features with a sparse vector, has the same methods; the stage knows no more of either.

    Parameters
    ----------
    numbers : tuple of str
    label : str
    weight : str or None
    intercept : bool
    l1 : bool
        Whether there is an L1 penalty.
    """

    numbers: tuple[str, ...]
    label: str
    weight: str | None
    intercept: bool
    l1: bool

    def rules(self) -> Sequence[tuple[str, Rule]]:
        """Return what features must be, besides what their statistics refuse themselves."""
        return rules_for(self.numbers, "null")

    def statistics(self) -> dict[str, Statistic]:
        """Ask for what there is to know before training; of the weight at least its ``extremes``."""
        weight = (self.weight,) if self.weight else ()
        together = Gram((*self.numbers, *weight), weighted=bool(weight)) if self._inverts else Moments(self.numbers)
        return {"moments": together, "extremes": Extremes((*self.numbers, *weight))}

    @property
    def _inverts(self) -> bool:
        """Whether it starts from the inverse of a Hessian. Where L1 keeps coefficients at 0, it would mislead."""
        return not self.l1 and affordable(1, len(self.numbers) + 1)

    def learned(self, results: Mapping[str, Any]) -> Fitted:
        """Return what to train with: means, scales and bounds."""
        ranges = [results["extremes"][name] for name in self.numbers]
        return {
            "low": [float(extreme.min) for extreme in ranges],
            "high": [float(extreme.max) for extreme in ranges],
            **(self._together if self._inverts else self._apart)(results["moments"], ranges),
        }

    def _apart(self, moments: Mapping[str, Moment], ranges: Sequence[Extreme]) -> dict[str, Any]:
        """Return means and scales of features that were looked at one by one."""
        found = [moments[name] for name in self.numbers]
        scales = [
            0.0 if extreme.min == extreme.max else moment.std(ddof=1)
            for moment, extreme in zip(found, ranges, strict=True)
        ]
        return {"mean": [moment.mean for moment in found], "scale": scales, "covariance": None}

    def _together(self, products: CrossProducts, ranges: Sequence[Extreme]) -> dict[str, Any]:
        """Return means, scales and covariances; of rows that have weights, of a weight above 0."""
        freedom = products.weight - products.weight_squares / products.weight
        scale = np.sqrt(np.diag(products.cross) / freedom) if freedom > 0 else np.zeros(len(products.mean))
        covariance = {"covariance": products.covariance().ravel().tolist()}
        return {"mean": products.mean.tolist(), "scale": scale.tolist(), **covariance}

    def read(self, rank: Rank, learned: Fitted, classes: tuple[Any, ...]) -> ProductDesign:
        """Return the design of this rank, its rows in memory; `standardise` comes next."""
        convert = ToRows(self.numbers, self.label, classes, self.weight, self._scaling(learned))
        return ProductDesign(rank, convert, learned["rows"], learned["largest_weight"])

    def _scaling(self, learned: Fitted) -> Scaling:
        mean, scale, low, high = (np.array(learned[name]) for name in ("mean", "scale", "low", "high"))
        return Scaling(mean, scale, low, high, self.intercept)

    def standardise(self, design: ProductDesign, learned: Fitted, classes: int) -> tuple[Scaling, Totals]:
        """Return how features are standardised, and sums over all rows; every rank calls it, once."""
        scaling = self._scaling(learned)
        return scaling, Totals.of(design, scaling, classes)

    def inverse(self, learned: Fitted, scaling: Scaling, probabilities: np.ndarray, l2: np.ndarray) -> Inverse | None:
        """Return what multiplies by about the inverse of the Hessian at the start; None where it is not worth its time.

        Parameters
        ----------
        probabilities : numpy.ndarray of shape (classes,)
            Of the classes at the start.
        l2 : numpy.ndarray of shape (outputs, width)
        """
        if learned["covariance"] is None or not affordable(*l2.shape):
            return None
        moments = second_moments(np.array(learned["covariance"]).reshape(len(scaling.mean), -1), scaling)
        return times(inverse_hessian(moments, probabilities, l2))

    def named(self, learned: Fitted, chosen: np.ndarray) -> list[str]:
        """Return the names of the features that are chosen, a mask in the order of coefficients."""
        return [name for name, taken in zip(self.numbers, chosen, strict=True) if taken]

    def stored(self, coefficients: np.ndarray, learned: Fitted) -> Fitted:
        """Return the coefficients, of shape (outputs, features), as a model has them."""
        return {"coefficients": pa.table(dict(zip(self.numbers, coefficients.T, strict=True)))}

    def named_coefficients(self, fitted: Fitted) -> tuple[list[str], np.ndarray]:
        """Return the names of features, and their coefficients, of shape (outputs, features)."""
        columns = [fitted["coefficients"][name].to_numpy() for name in self.numbers]
        return list(self.numbers), np.stack(columns, axis=1)

    def margins(self, frame: nw.DataFrame[Any], fitted: Fitted) -> tuple[Any, Any]:
        """Return the margins without intercepts, of shape (outputs, rows), and a mask of rows that lack a feature."""
        matrix = finite_matrix(frame, self.numbers, "float64")
        coefficients = matrices.to_device(self.named_coefficients(fitted)[1], frames.kind_of(frame))
        with np.errstate(over="ignore", invalid="ignore"):
            return linear(matrix.T, coefficients), np.isnan(matrix).any(axis=1)


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


def scaled_coefficients(start: Mapping[str, Any], names: Sequence[str], scaling: Scaling) -> np.ndarray:
    """Return coefficients of features as they are, in terms of standardised ones, the intercept last if there is one.

    A minimisation goes on from them. Of features that are constant, and of those that had none, they are 0.

    Parameters
    ----------
    start : mapping
        ``features``, and of each row of coefficients these and the intercept: ``coefficients``, ``intercepts``.
    names : sequence of str
        The features.

    Examples
    --------
    >>> start = {"features": ["a", "b"], "coefficients": [[2.0, 5.0]], "intercepts": [1.0]}
    >>> scaling = Scaling(np.array([3.0, 4.0]), np.array([0.5, 2.0]), np.zeros(2), np.ones(2))
    >>> scaled_coefficients(start, ["a", "c"], scaling).tolist()
    [1.0, 0.0, 7.0]
    """
    of_name = dict(zip(start["features"], np.array(start["coefficients"]).T, strict=True))
    none = np.zeros(len(start["intercepts"]))
    coefficients = np.stack([of_name.get(name, none) for name in names], axis=1) * (scaling.scale > 0)
    scaled: np.ndarray = coefficients * scaling.scale
    if scaling.intercept:
        intercepts = np.array(start["intercepts"]) + (coefficients * scaling.shift).sum(axis=1)
        scaled = np.column_stack([scaled, intercepts])
    return scaled.ravel()
