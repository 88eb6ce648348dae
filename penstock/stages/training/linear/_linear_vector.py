"""Least squares on a sparse vector, alone or beside numbers, by all ranks at once.

The label is a column as the features are, its coefficient -1: so a margin is a residual, and the rows hold nothing but
one matrix. With b a coefficient, s the scale of its feature and t that of the label, looked for is ``v = b * s / t``
times the root of what the penalty adds to a second derivative of 1. All second derivatives are 1 then, with a penalty
or without one, and the mean square of the label too, so that the tolerance does not depend on units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.base import Fitted
from penstock.stages.training._vector_features import at_indices, of_index_table
from penstock.stages.training.exact.design import one_blas_thread
from penstock.stages.training.linear._least_squares import Penalty, quality
from penstock.stages.training.linear._quasi_newton import Course, minimise
from penstock.stages.training.linear._sparse_design import SparseDesign, WeightedMoments
from penstock.stages.training.linear._sparse_features import SparseFeatures
from penstock.statistics import Checks, Statistic
from penstock.statistics.rules import rules_for


@dataclass(frozen=True)
class VectorLeastSquares:
    """The regression of a label on a sparse vector, and on numbers beside it if there are any."""

    features: SparseFeatures
    penalty: Penalty

    def _checks(self) -> Checks:
        label = rules_for((self.features.label,), "null", "infinite", "too_large")
        weight = rules_for(self.features.weights, "null", "infinite", "too_large", "negative")
        return Checks((*self.features.rules(), *label, *weight))

    def statistics(self) -> dict[str, Statistic]:
        """Ask for what is wrong with values, and for the indices of the vector."""
        return {"checks": self._checks(), **self.features.statistics()}

    def learned(self, results: Mapping[str, Any]) -> Fitted:
        """Return what to train with.

        Raises
        ------
        DataValueError
            A value is null, infinite or too large, a weight negative, or none positive; no row has an index.
        """
        results["checks"].refuse()
        if not results["entries"].rows:
            raise DataValueError("no row has a positive weight", column=self.features.label)
        weight = self.features.weight
        largest = float(results["extremes"][weight].max) if weight else 1.0
        return {"largest_weight": largest, **self.features.learned(results)}

    def train(self, rank: Rank, learned: Fitted) -> Fitted:
        """Return coefficients, intercept and summary; every rank calls it."""
        design = self.features.read(rank, learned, None)
        with one_blas_thread():
            moments = design.moments
            units = self._units(moments)
            design.standardise(moments.mean, units.divisors)
            objective = _SquaredError(design, moments.weight, units)
            course = self._minimise(rank, objective)
            error = objective.error(course.x)
        coefficients, intercept = units.unscaled(course.x, moments.mean)
        numbers, vector = np.split(coefficients, [len(self.features.numbers)])
        return {
            "features": list(self.features.numbers),
            "coefficients": numbers.tolist(),
            **self.features.stored(vector[None], learned),
            "intercept": intercept,
            "constant": self.features.named(learned, units.scale == 0),
            "converged": course.converged,
            "iterations": course.iterations,
            "objective_history": course.history,
            "summary": {"num_instances": learned["rows"], **self._quality(error, moments, units)},
        }

    def _units(self, moments: WeightedMoments) -> _Units:
        intercept = self.features.intercept
        units = _Units.of(moments, len(self.features.numbers), self.penalty, intercept=intercept)
        self.penalty.check(self.features.label, units.label_deviation, fit_intercept=intercept)
        return units

    def _minimise(self, rank: Rank, objective: _SquaredError) -> Course:
        course = minimise(
            objective,
            Course.of(rank, np.zeros(len(objective.units.l1))),
            l1=objective.units.l1,
            tol=self.penalty.tol,
            max_iter=self.penalty.max_iter,
            floor=-math.inf,
            measure=1.0,
            after=lambda course: course.report(rank),
        )
        course.report_end(rank)
        return course

    def _quality(self, error: float, moments: WeightedMoments, units: _Units) -> dict[str, float | None]:
        """Return ``rmse`` and ``r2`` from the sum of the squares of residuals, in units of the label's scale."""
        square, weights = units.label_scale**2, (moments.weight, moments.weight_squares)
        whole = moments.weight * square if units.label_varies else 0.0
        return quality(error * square, whole, *weights, fit_intercept=self.features.intercept)

    def values(self, frame: Any, fitted: Fitted) -> tuple[Any, Any]:
        """Return for each row what the vector adds to the prediction, and whether it has none; on the frame's device.

        Raises
        ------
        DataValueError
            Rows hold no vectors of finite numbers.
        """
        index, coefficients = of_index_table(fitted["vector_coefficients"])
        matrix, lacking = at_indices(frame, self.features.vector, index)
        kind = frames.kind_of(frame)
        return matrices.to_device(matrix @ coefficients[0], kind), matrices.to_device(lacking, kind)


@dataclass(frozen=True, eq=False)
class _Units:
    """What coefficients are counted in.

    Attributes
    ----------
    label : int
        The column of the label, which is after the numbers.
    scale : numpy.ndarray
        Of the features: roots of the mean squares, from the mean if there is an intercept; 0 of constant ones.
    roots : numpy.ndarray
        Of the second derivatives, with the penalty.
    label_scale, label_deviation : float
        Likewise of the label, and its standard deviation; a scale that would be 0 is 1.
    label_varies : bool
    l1, l2 : numpy.ndarray
        How much parameters are punished for; the intercept, which is last if there is one, is not.
    """

    label: int
    scale: np.ndarray
    roots: np.ndarray
    label_scale: float
    label_deviation: float
    label_varies: bool
    l1: np.ndarray
    l2: np.ndarray

    @classmethod
    def of(cls, moments: WeightedMoments, label: int, penalty: Penalty, *, intercept: bool) -> Self:
        """Return the units for columns of which one, at `label`, is the label."""
        scales = moments.deviation if intercept else np.sqrt(moments.deviation**2 + moments.mean**2)
        scales = np.where((moments.deviation == 0) & (np.arange(len(scales)) != label), 0.0, scales)
        deviation, scale = (np.delete(each, label) for each in (moments.deviation, scales))
        of_label = float(scales[label]) or 1.0, float(moments.deviation[label])
        l1, l2 = penalty.weights(deviation, np.where(scale == 0, 1.0, scale), of_label[1], of_label[0])
        roots, free = np.sqrt(1.0 + l2), [0.0] * intercept
        weights = np.append(l1 / roots, free), np.append(l2 / (1.0 + l2), free)
        return cls(label, scale, roots, *of_label, bool(scales[label]), *weights)

    @property
    def divisors(self) -> np.ndarray:
        """What to divide columns by, the label's among them."""
        return np.insert(self.scale * self.roots, self.label, self.label_scale)

    def unscaled(self, found: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, float]:
        """Return coefficients, and the intercept, of features as they are; `mean` has the label's too."""
        divisors = np.where(self.scale == 0, np.inf, self.scale * self.roots)
        coefficients = found[: len(divisors)] / divisors * self.label_scale
        beside = found[len(divisors) :] * self.label_scale  # the intercept of what is centred: 0, but for rounding
        taken = -np.delete(mean, self.label) * coefficients
        intercept = math.fsum([*beside, mean[self.label], *taken]) if len(beside) else 0.0
        return coefficients, intercept


@dataclass(frozen=True, eq=False)
class _SquaredError:
    """Half the mean of the squares of the residuals, with the squares in the penalty, and its gradient."""

    design: SparseDesign
    weight: float
    units: _Units

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Evaluate; every rank calls it with the same parameters."""
        loss, gradient = self._sums(parameters)
        l2 = self.units.l2
        return loss / self.weight + float((l2 * parameters**2).sum()) / 2, gradient / self.weight + l2 * parameters

    def error(self, parameters: np.ndarray) -> float:
        """Return the weighted sum of the squares of the residuals; every rank calls it."""
        return 2.0 * self._sums(parameters)[0]

    def _sums(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        coefficients = np.insert(parameters, self.units.label, -1.0)
        most = 2.0 * float((np.abs(coefficients) * self.design.bounds).sum())  # no residual is larger, with rounding
        loss, gradient = self.design.loss_and_gradient(
            coefficients[None], _squares, largest_loss=most**2 / 2, steepest=most
        )
        return loss, np.delete(gradient, self.units.label)


def _squares(margins: Any, _: Any) -> tuple[Any, Any]:
    """Return half the squares of residuals, and the residuals."""
    return margins[0] ** 2 / 2, margins
