"""Iteratively reweighted least squares over the rows of all ranks.

Each step is one of Fisher's scoring, Green, "Iteratively reweighted least squares for maximum likelihood estimation,
and some robust and resistant alternatives", J. R. Statist. Soc. B 46, 1984. It is halved while it leads to means that
the family cannot have, or makes the fit worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from penstock.frames import matrices
from penstock.spmd import Rank
from penstock.stages.training.exact.design import Rows, Scaling, linear
from penstock.stages.training.exact.gram import GramDesign, label_and_weight
from penstock.stages.training.linear._coordinate_descent import SMALLEST_PIVOT, is_regular
from penstock.stages.training.linear._families import Family
from penstock.stages.training.linear._links import Link
from penstock.stages.training.linear._separation import collapsed, moving

_HALVINGS = 30
_NOISE = 1e-10
_STILL = 1e-28
"""The square of a relative change of the means that is rounding."""


@dataclass(frozen=True, eq=False)
class Point:
    """What all rows say of some coefficients.

    Attributes
    ----------
    coefficients : numpy.ndarray of shape (n,)
        Of the terms that take part.
    information : numpy.ndarray of shape (n, n)
        Fisher's, for a dispersion of 1.
    score : numpy.ndarray of shape (n,)
        The gradient of the log-likelihood, for a dispersion of 1.
    weight, deviance, chi_square, size : float
        Sums over the rows: of the working weights, of deviances, of squared Pearson residuals, and of squared means in
        units of the standard deviations that they imply.
    """

    coefficients: np.ndarray
    information: np.ndarray
    score: np.ndarray
    weight: float
    deviance: float
    chi_square: float
    size: float


@dataclass
class Course:
    """Where the iteration is; ``point.coefficients``, and how many steps were taken, decide how it goes on."""

    point: Point
    iterations: int = 0
    converged: bool = False
    unbounded: np.ndarray | None = None
    """Which terms have coefficients that grow without bound; see `Likelihood.look_beyond`."""

    def report(self, rank: Rank) -> None:
        """Tell how far it is, and keep it in a checkpoint now and then."""
        rank.report(self.iterations, f"deviance {self.point.deviance:.8g}")
        if self.iterations % rank.checkpoint_interval == 0:
            rank.save(self.iterations, self.point.coefficients.astype("<f8").tobytes())


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The likelihood of the coefficients of some terms, those of the other terms being fixed.

    Parameters
    ----------
    design : GramDesign
    family : Family
    link : Link
    fixed : numpy.ndarray
        Coefficients of all terms: 1 for an offset, 0 for what takes no part.
    used : numpy.ndarray of int
        Terms whose coefficients are sought.
    penalties : numpy.ndarray
        Factors of half the square of these coefficients, per unit of working weight.
    """

    design: GramDesign
    family: Family
    link: Link
    fixed: np.ndarray
    used: np.ndarray
    penalties: np.ndarray

    @classmethod
    def of(
        cls, design: GramDesign, family: Family, link: Link, scaling: Scaling, penalties: np.ndarray, offset: bool
    ) -> Self:
        """Return the likelihood of all features that vary, and of the intercept if the scaling has one.

        Parameters
        ----------
        penalties : numpy.ndarray of shape (features,)
        offset : bool
            Whether the last feature is an offset, which has no coefficient.
        """
        free = scaling.scale > 0
        fixed = np.zeros(len(free) + scaling.intercept)
        if offset:
            free[-1], fixed[len(free) - 1] = False, 1.0
        used = np.append(np.flatnonzero(free), [len(free)] * scaling.intercept).astype(int)
        return cls(design, family, link, fixed, used, np.append(penalties[free], [0.0] * scaling.intercept))

    def resumed(self, rank: Rank) -> Course | None:
        """Return the course that the checkpoint of a rank has; None where there is none."""
        if rank.checkpoint is None:
            return None
        point = self.at(np.frombuffer(rank.checkpoint.data, dtype="<f8").astype(float))
        assert point is not None, "these coefficients were possible when they were saved"
        return Course(point, rank.checkpoint.rounds)

    def at(self, coefficients: np.ndarray) -> Point | None:
        """Return what the rows say; None where means, or weights, are impossible. Every rank calls it."""
        count = len(self.used)
        found = self.design.gram(lambda rows: self._terms(rows, coefficients), count + 4)
        if found is None:
            return None
        weight, residual, deviance, mean = range(count, count + 4)
        return Point(
            coefficients,
            found[:count, :count],
            found[:count, residual],
            *(float(found[place, place]) for place in (weight, deviance, residual, mean)),
        )

    def _terms(self, rows: Rows, coefficients: np.ndarray) -> Any:
        """Return the weighted features, and the roots of what is added up besides; NaN where a mean is impossible."""
        label, weight = label_and_weight(rows)
        with np.errstate(all="ignore"):
            mean = self.means(rows, coefficients)
            precision = np.sqrt(weight / self.family.variance(mean))
            slope = self.link.derivative(mean)
            deviance = np.sqrt(np.maximum(weight * self.family.deviance(label, mean), 0.0))
            root = precision / np.abs(slope)
            parts = [root, np.sign(slope) * precision * (label - mean), deviance, precision * mean]
            return self._stacked(rows, [np.where(weight > 0, part, 0.0) for part in parts])

    def _stacked(self, rows: Rows, parts: list[Any]) -> Any:
        """Return the features times the first of the parts, and below them the parts."""
        used = matrices.to_device(self.used, self.design.kind)
        return np.concatenate([rows.x[used] * parts[0], np.stack(parts)])

    def means(self, rows: Rows, coefficients: np.ndarray) -> Any:
        """Return the mean of each row, where the rows are; NaN where none is possible."""
        whole = self.fixed.copy()
        whole[self.used] = coefficients
        return self.family.possible(self.link.inverse(self._predictor(rows, whole)))

    def _predictor(self, rows: Rows, coefficients: np.ndarray) -> Any:
        """Return the linear predictor of each row, from coefficients of all terms."""
        return linear(rows.x, matrices.to_device(coefficients[None], self.design.kind))[0]

    def null(self, mean: float, fit_intercept: bool, tol: float, max_iter: int) -> Point | None:
        """Return the fit without features; None where it is impossible. The last term is the intercept, if any is.

        Parameters
        ----------
        mean : float
            That of the labels.
        """
        without = self._only(self.used[len(self.used) - fit_intercept :])
        if not fit_intercept:
            return without.at(np.zeros(0))
        with np.errstate(all="ignore"):
            start = without.at(self.link(self.family.trimmed(np.array([mean])))) or without.near_labels()
        return start and without.iterate(Course(start), tol, max_iter).point

    def start(self, null: Point | None) -> Point | None:
        """Return the better of two points to begin at: near the labels, and without features."""
        candidates = [self.near_labels(), None if null is None else self.at(self._constant(null))]
        possible = [point for point in candidates if point is not None]
        return min(possible, key=lambda point: point.deviance, default=None)

    def _only(self, used: np.ndarray) -> Likelihood:
        """Return the likelihood of other terms, without a penalty."""
        return replace(self, used=used, penalties=np.zeros(len(used)))

    def near_labels(self) -> Point | None:
        """Return the point that weighted least squares give for means near the labels; None if it is impossible."""
        count = len(self.used)

        def terms(rows: Rows) -> Any:
            label, weight = label_and_weight(rows)
            with np.errstate(all="ignore"):
                mean = self.family.possible(self.family.start(label, weight))
                root = np.sqrt(weight / self.family.variance(mean)) / np.abs(self.link.derivative(mean))
                parts = [root, root * (self.link(mean) - self._predictor(rows, self.fixed))]
                return self._stacked(rows, [np.where(weight > 0, part, 0.0) for part in parts])

        found = self.design.gram(terms, count + 2)
        if found is None:
            return None
        inverse, _ = inverted(found[:count, :count] + np.diag(self.penalties * found[count, count]))
        return self.at(self.design.agreed(inverse @ found[:count, count + 1]))

    def inverse_information(self, point: Point) -> tuple[np.ndarray, bool]:
        """Return the inverse of the information with the penalty, and whether it is a true one."""
        return inverted(point.information + np.diag(self.penalties * point.weight))

    def iterate(
        self, course: Course, tol: float, max_iter: int, after: Callable[[Course], None] = lambda course: None
    ) -> Course:
        """Take steps until one is small or there were `max_iter`; the course given is changed. Every rank calls it."""
        course.converged = course.converged or not len(self.used)
        while course.iterations < max_iter and not course.converged:
            point = course.point
            step = self._step(point)
            square = float(step @ point.information @ step)
            small = square <= max(tol**2 * point.deviance, _STILL * point.size)
            reached = self.at(point.coefficients + step) if small else self._search(point, step)
            course.converged = small
            if reached is not None:
                course.point = reached
            elif not small:
                break
            course.iterations += 1
            after(course)
        return course

    def look_beyond(self, course: Course, null: Point | None) -> None:
        """Ask whether coefficients grow without bound, which have not converged then. Every rank calls it."""
        step = self._step(course.point)
        moves = moving(course.point.coefficients, step)
        first = self.at(self._constant(null)) if moves.any() and not self.penalties.any() else None
        if first and collapsed(*(float(step @ point.information @ step) for point in (course.point, first))):
            course.unbounded, course.converged = moves, False

    def _constant(self, null: Point | None) -> np.ndarray:
        """Return the coefficients of a fit without features."""
        constant = np.zeros(len(self.used))
        if null is not None:
            constant[len(constant) - len(null.coefficients) :] = null.coefficients
        return constant

    def _step(self, point: Point) -> np.ndarray:
        inverse, _ = self.inverse_information(point)
        return self.design.agreed(inverse @ (point.score - self.penalties * point.weight * point.coefficients))

    def _search(self, point: Point, step: np.ndarray) -> Point | None:
        """Return the first point, halving the step each time, that is possible and no worse."""
        worst = self._cost(point, point) * (1 + _NOISE)
        for _ in range(_HALVINGS):
            reached = self.at(point.coefficients + step)
            if reached is not None and self._cost(reached, point) <= worst:
                return reached
            step = step / 2
        return None

    def _cost(self, point: Point, before: Point) -> float:
        """Return the deviance with the penalty that was in force when the step was made."""
        return point.deviance + float((self.penalties * before.weight * point.coefficients**2).sum())


def inverted(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the inverse of a positive semidefinite matrix and True, or if there is none its pseudo-inverse and False.

    Whether there is one is decided where the diagonal is of ones.

    Examples
    --------
    >>> inverted(np.array([[4.0, 0.0], [0.0, 0.5]]))
    (array([[0.25, 0.  ],
           [0.  , 2.  ]]), True)
    """
    scale = np.sqrt(np.diag(matrix))
    scale = np.where(scale > 0, scale, 1.0)
    equal = matrix / scale[:, None] / scale
    regular = is_regular(equal)
    inverse = np.linalg.inv(equal) if regular else np.linalg.pinv(equal, rtol=SMALLEST_PIVOT, hermitian=True)
    return inverse / scale[:, None] / scale, regular
