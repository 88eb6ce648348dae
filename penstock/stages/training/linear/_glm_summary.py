"""What can be said of a generalised linear model besides its coefficients; named as in MLlib's training summary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from penstock.stages.training.exact.design import Rows
from penstock.stages.training.exact.gram import GramDesign, label_and_weight
from penstock.stages.training.linear._irls import Likelihood, Point
from penstock.stages.training.linear._least_squares import significance


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over the rows of all ranks that have a weight above 0.

    Attributes
    ----------
    rows : int
    weight : float
    mean, deviation : float
        Weighted, of the label, or of the label without its offset.
    feature_variances : numpy.ndarray
        Weighted, of the terms of the design that are no intercept.
    """

    rows: int
    weight: float
    mean: float
    deviation: float
    feature_variances: np.ndarray

    @classmethod
    def of(cls, design: GramDesign, count: int, origin: float, offset: int | None) -> Self:
        """Add them up; every rank calls it.

        Parameters
        ----------
        count : int
            How many terms are no intercept.
        origin : float
            A number near the labels.
        offset : int or None
            Which term to take from the label.
        """

        def terms(rows: Rows) -> Any:
            label, weight = label_and_weight(rows)
            label = label - (0.0 if offset is None else rows.x[offset])
            root = np.sqrt(weight)
            parts = [root, (weight > 0).astype(float), root * (label - origin)]
            return np.concatenate([rows.x[:count] * root, np.stack(parts)])

        found = design.gram(terms, count + 3)
        assert found is not None, "weights, labels and features were checked to be finite, and not too large"
        weight = float(found[count, count])
        means = found[count] / weight
        variances = np.maximum(np.diag(found) / weight - means**2, 0.0)
        apart, deviation = float(means[count + 2]), math.sqrt(variances[count + 2])
        return cls(round(found[count + 1, count + 1]), weight, origin + apart, deviation, variances[:count])


def summary(
    likelihood: Likelihood, point: Point, totals: Totals, null: Point | None, estimates: np.ndarray, raw: np.ndarray,
    *, fit_intercept: bool, known_dispersion: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return the statistics of coefficients at the end of a training; every rank calls it.

    Parameters
    ----------
    likelihood : Likelihood
    point : Point
    totals : Totals
    null : Point or None
        That of the model without features.
    estimates : numpy.ndarray
        Coefficients of the features as they are, the intercept's last.
    raw : numpy.ndarray
        The matrix that makes `estimates` of the coefficients of the point.
    fit_intercept : bool
    known_dispersion : bool
        The dispersion is 1, and is not estimated.
    """
    inverse, regular = likelihood.inverse_information(point)
    rank = len(inverse) if regular else int(np.linalg.matrix_rank(inverse, hermitian=True))
    freedom = max(totals.rows - rank, 0)
    dispersion = 1.0 if known_dispersion else point.chi_square / freedom if freedom else None
    variances = np.einsum("ij,jk,ik->i", raw, inverse, raw) * (dispersion or 0.0) * regular
    tests = estimates.tolist(), np.maximum(variances, 0.0).tolist(), None if known_dispersion else freedom
    return {
        "num_instances": totals.rows,
        "rank": rank,
        "degrees_of_freedom": freedom,
        "residual_degree_of_freedom_null": totals.rows - fit_intercept,
        "deviance": point.deviance,
        "null_deviance": None if null is None else null.deviance,
        "dispersion": dispersion,
        "aic": _aic(likelihood, point, totals, rank),
        **significance(*tests),
    }


def _aic(likelihood: Likelihood, point: Point, totals: Totals, rank: int) -> float | None:
    family = likelihood.family
    dispersion = family.likely_dispersion(point.deviance, totals.rows, totals.weight)
    if not dispersion:
        return None

    def terms(rows: Rows) -> Any:
        label, weight = label_and_weight(rows)
        with np.errstate(all="ignore"):
            mean = likelihood.means(rows, point.coefficients)
            each = family.log_likelihood(label, mean, weight, dispersion)
        return np.stack([np.ones_like(label), np.where(weight > 0, each, 0.0)])

    found = likelihood.design.gram(terms, 2)
    return None if found is None else -2 * float(found[0, 1]) + 2 * (rank + family.has_dispersion)
