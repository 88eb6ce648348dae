"""Linear least squares from means and products of columns: no row is looked at again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from penstock.core.errors import DataValueError
from penstock.stages.training.linear._coordinate_descent import SMALLEST_PIVOT, Descent, ElasticNet, is_regular
from penstock.statistics.gram import CrossProducts


@dataclass(frozen=True)
class Penalty:
    """The penalty of MLlib's LinearRegression, and how long to look for the minimum where it has corners."""

    reg_param: float
    elastic_net_param: float = 0.0
    standardization: bool = True
    max_iter: int = 1000
    tol: float = 1e-6

    def weights(
        self, deviation: np.ndarray, scale: np.ndarray, label_deviation: float, label_scale: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what the sizes of ``u = b * scale / label_scale`` cost, and half their squares.

        MLlib divides the part of the squares by the label's deviation.
        """
        sizes = deviation if self.standardization else np.ones(len(scale))
        l1 = self.reg_param * self.elastic_net_param * sizes / (scale * label_scale)
        l2 = self.reg_param * (1 - self.elastic_net_param) / (label_deviation or 1.0) * (sizes / scale) ** 2
        return l1, l2

    def check(self, label: str, label_deviation: float, *, fit_intercept: bool) -> None:
        """Raise DataValueError for a penalty in units of a deviation of 0, with no intercept to be the answer."""
        if not self.reg_param or label_deviation or fit_intercept:
            return
        raise DataValueError(
            f"label {label!r} is constant, so that a penalty has no scale without an intercept",
            hint="Fit an intercept, or set reg_param to 0.",
            column=label,
        )


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """``|y - Xb|^2 / 2`` per unit of weight, as a function of ``u = b * scale / label_scale``: ``u'Nu/2 - r'u + ...``.

    Features that are constant take no part. In terms of u, N has a diagonal of ones and the label a mean square of 1,
    so that every threshold has a meaning that does not depend on units.

    Attributes
    ----------
    gram : CrossProducts
        Of the features and, last, the label.
    fit_intercept : bool
    used : numpy.ndarray of int
        Positions of the features that vary.
    scale, deviation : numpy.ndarray
        Of those, the root of the mean square (about the mean if there is an intercept), and the standard deviation.
    label_scale, label_deviation : float
        Likewise of the label; where its scale would be 0, it is 1.
    normal, right : numpy.ndarray
        N and r.
    """

    gram: CrossProducts
    fit_intercept: bool
    used: np.ndarray
    scale: np.ndarray
    deviation: np.ndarray
    label_scale: float
    label_deviation: float
    normal: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, gram: CrossProducts, *, fit_intercept: bool) -> Self:
        """Return the equations of a regression of the last column of `gram` on the others.

        Raises
        ------
        DataValueError
            No row has a positive weight.
        """
        if not gram.weight:
            raise DataValueError("no row has a positive weight", column=gram.columns[-1])
        second = gram.covariance()
        deviations = np.sqrt(np.diag(second))
        if not fit_intercept:
            second = second + np.outer(gram.mean, gram.mean)
        scales = np.sqrt(np.diag(second))
        used = np.flatnonzero(deviations[:-1])
        scale, label_scale = scales[used], float(scales[-1]) or 1.0
        normal = second[np.ix_(used, used)] / scale[:, None] / scale
        np.fill_diagonal(normal, 1.0)
        right = second[used, -1] / scale / label_scale
        spread = deviations[used], label_scale, float(deviations[-1])
        return cls(gram, fit_intercept, used, scale, *spread, normal, right)

    def minimise(self, penalty: Penalty, start: np.ndarray | None = None) -> Descent:
        """Return the u of the minimum; where features explain each other, that of least norm.

        Raises
        ------
        DataValueError
            The penalty is in units of the label's deviation, which is 0, and there is no intercept to be the answer.
        """
        penalty.check(self.gram.columns[-1], self.label_deviation, fit_intercept=self.fit_intercept)
        l1, l2 = penalty.weights(self.deviation, self.scale, self.label_deviation, self.label_scale)
        if l1.any():
            begin = np.zeros(len(self.used)) if start is None else start
            return ElasticNet(self.normal, self.right, l1, l2).minimise(begin, penalty.max_iter, penalty.tol)
        return Descent(_solve(self.normal + np.diag(l2), self.right), 0, True)

    def coefficients(self, found: np.ndarray) -> tuple[np.ndarray, float]:
        """Return coefficients of all features, 0 of those that are constant, and the intercept."""
        coefficients = np.zeros(len(self.gram.columns) - 1)
        coefficients[self.used] = found * self.label_scale / self.scale
        means = self.gram.mean
        intercept = math.fsum([means[-1], *(-means[:-1] * coefficients)]) if self.fit_intercept else 0.0
        return coefficients, intercept

    def squared_error(self, found: np.ndarray) -> float:
        """Return the weighted sum of the squared residuals; rounded to about 1e-15 of that of the label itself."""
        share = bool(self._label_square()) - 2 * self.right @ found + found @ self.normal @ found
        return float(max(share, 0.0)) * self.label_scale**2 * self.gram.weight

    def _label_square(self) -> float:
        label = float(self.gram.cross[-1, -1])
        return label if self.fit_intercept else label + self.gram.weight * float(self.gram.mean[-1]) ** 2

    def quality(self, found: np.ndarray) -> dict[str, float | None]:
        """Return ``rmse`` and ``r2``, see `quality`."""
        weights = self.gram.weight, self.gram.weight_squares
        return quality(self.squared_error(found), self._label_square(), *weights, fit_intercept=self.fit_intercept)

    def inference(self, found: np.ndarray) -> dict[str, Any]:
        """Return standard errors, t and p values of an ordinary fit, the intercept's last; None where undefined.

        That is for constant features, for all where features explain each other, and where no degree of freedom is left
        or no error.
        """
        regular = is_regular(self.normal)
        freedom = max(self.gram.count - self._rank(regular) - self.fit_intercept, 0)
        coefficients, intercept = self.coefficients(found)
        estimates = [*coefficients.tolist(), *([intercept] if self.fit_intercept else [])]
        variance = self.squared_error(found) / freedom if freedom and regular else 0.0
        variances = [variance * each for each in self._unit_variances(regular)]
        return {"degrees_of_freedom": freedom, **significance(estimates, variances, freedom)}

    def _rank(self, regular: bool) -> int:
        if regular:
            return len(self.used)
        return int(np.linalg.matrix_rank(self.normal, rtol=SMALLEST_PIVOT, hermitian=True))

    def _unit_variances(self, regular: bool) -> list[float]:
        """Return the variances of the estimates for errors of variance 1; 0 for a constant feature's."""
        variances = np.zeros(len(self.gram.columns) - 1)
        inverse = np.linalg.inv(self.normal) if regular else np.zeros_like(self.normal)
        variances[self.used] = np.diag(inverse) / self.scale**2 / self.gram.weight
        means = self.gram.mean[self.used] / self.scale
        of_intercept = [(1 + means @ inverse @ means) / self.gram.weight] if self.fit_intercept and regular else [0.0]
        return [*variances.tolist(), *(of_intercept if self.fit_intercept else [])]


def significance(
    estimates: Sequence[float], variances: Sequence[float], freedom: int | None
) -> dict[str, list[float | None]]:
    """Return standard errors, t and p values of estimates; None where a variance is 0.

    Parameters
    ----------
    estimates, variances : sequence of float
    freedom : int or None
        Degrees of freedom of Student's distribution; None for the normal one, of variances that are known.

    Examples
    --------
    >>> significance([2.0], [1.0], None)["p_values"]
    [0.04550026389635839]
    """
    from scipy.special import ndtr, stdtr

    errors = [math.sqrt(each) or None for each in variances]
    values = [error and estimate / error for estimate, error in zip(estimates, errors, strict=True)]
    tail = ndtr if freedom is None else partial(stdtr, freedom)
    p_values = [None if each is None else float(2 * tail(-abs(each))) for each in values]
    return {"coefficient_standard_errors": errors, "t_values": values, "p_values": p_values}


def quality(
    error: float, whole: float, weight: float, weight_squares: float, *, fit_intercept: bool
) -> dict[str, float | None]:
    """Return ``rmse`` and ``r2``; the second as MLlib has it, None where the label does not vary.

    Without an intercept the label is compared with 0. With weights, MLlib's r2 is not the textbook's, see
    `penstock.statistics.Errors.r2`.

    Parameters
    ----------
    error, whole : float
        Weighted sums of the squares of residuals, and of the label (from its mean, if there is an intercept).
    weight, weight_squares : float
        Sums of the weights and of their squares.

    Examples
    --------
    >>> quality(8.0, 10.0, 2.0, 2.0, fit_intercept=True)
    {'rmse': 2.0, 'r2': 0.19999999999999996}
    """
    if fit_intercept:
        unbiased = weight - weight_squares / weight
        whole = whole / unbiased * (weight - 1) if unbiased > 0 else 0.0
    return {"rmse": math.sqrt(error / weight), "r2": 1 - error / whole if whole else None}


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of a symmetric system, that of least norm where there are many."""
    if is_regular(matrix):
        return np.linalg.solve(matrix, right)
    values, vectors = np.linalg.eigh(matrix)
    kept = values > SMALLEST_PIVOT * values[-1]
    return vectors[:, kept] @ (vectors[:, kept].T @ right / values[kept])
