"""The lasso and the elastic net, one coefficient at a time, from normal equations alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SMALLEST_PIVOT = 1e-12
"""A feature of which others leave less than this share of its variance unexplained counts as explained by them: the
rounding of the normal equations is not far below."""


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a descent ended: coefficients, sweeps, and whether the conditions of a minimum hold."""

    coefficients: np.ndarray
    sweeps: int
    converged: bool


@dataclass(frozen=True, eq=False)
class ElasticNet:
    """``u'Nu/2 - r'u + sum(l1 |u|) + sum(l2 u^2)/2``, to be minimised over u.

    Cyclic coordinate descent after Friedman, Hastie and Tibshirani, "Regularization paths for generalized linear models
    via coordinate descent", Journal of Statistical Software 33, 2010, with covariance updates: a sweep costs p^2
    whatever the number of rows. Once a sweep leaves all signs as they were, the equations of the coefficients that are
    not 0 are solved for these signs; where the solution meets the conditions of a minimum it is the minimum, exact to
    rounding, and not only to a tolerance.

    Parameters
    ----------
    normal : numpy.ndarray of shape (n, n)
        N, with a diagonal of ones.
    right, l1, l2 : numpy.ndarray of shape (n,)
    """

    normal: np.ndarray
    right: np.ndarray
    l1: np.ndarray
    l2: np.ndarray

    def minimise(self, start: np.ndarray, max_iter: int, tol: float) -> Descent:
        """Return the minimum, from `start`, after `max_iter` sweeps at most."""
        found, tried = start.copy(), None
        for sweep in range(1, max_iter + 1):
            signs = np.sign(found)
            self._sweep(found)
            if np.array_equal(np.sign(found), signs) and not (tried is not None and np.array_equal(signs, tried)):
                exact, tried = self._exact(signs), signs
                if exact is not None:
                    return Descent(exact, sweep, True)
            if self._breach(found) <= tol:
                return Descent(found, sweep, True)
        return Descent(found, max_iter, False)

    def _sweep(self, found: np.ndarray) -> None:
        """Minimise over each coefficient in turn, in place."""
        slope = self.right - self.normal @ found
        for place, old in enumerate(found):
            pull = slope[place] + old
            new = np.sign(pull) * max(abs(pull) - self.l1[place], 0.0) / (1.0 + self.l2[place])
            if new != old:
                slope += self.normal[place] * (old - new)
                found[place] = new

    def _exact(self, signs: np.ndarray) -> np.ndarray | None:
        """Return the minimum if it has these signs."""
        used = np.flatnonzero(signs)
        matrix = self.normal[np.ix_(used, used)] + np.diag(self.l2[used])
        if not is_regular(matrix):
            return None
        found = np.zeros(len(signs))
        found[used] = np.linalg.solve(matrix, self.right[used] - self.l1[used] * signs[used])
        right_signs = np.array_equal(np.sign(found), signs)
        return found if right_signs and self._breach(found) <= SMALLEST_PIVOT else None

    def _breach(self, found: np.ndarray) -> float:
        """Return by how much the conditions of a minimum are missed, at most over the coefficients."""
        slope = self.right - self.normal @ found - self.l2 * found
        at_zero = np.maximum(np.abs(slope) - self.l1, 0.0)
        missed = np.where(found == 0, at_zero, np.abs(slope - self.l1 * np.sign(found)))
        return float(missed.max(initial=0.0))


def is_regular(matrix: np.ndarray) -> bool:
    """Return whether a symmetric matrix with a diagonal of about 1 can be inverted without losing all digits.

    Examples
    --------
    >>> is_regular(np.array([[1.0, 0.5], [0.5, 1.0]])), is_regular(np.ones((2, 2)))
    (True, False)
    """
    try:
        pivots = np.diag(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        return False
    return bool((pivots * pivots > SMALLEST_PIVOT).all())
