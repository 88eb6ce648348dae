"""How far two samples are apart, by their counts in the same cells."""

from __future__ import annotations

import numpy as np

LEAST_SHARE = 1e-4
"""What stands for the share of an empty cell, of which there is no logarithm."""


def psi(reference: np.ndarray, current: np.ndarray) -> float:
    """Return the population stability index: the sum over cells of ``(b - a) * log(b / a)``, a and b being shares.

    Parameters
    ----------
    reference, current : array of shape (n_cells,)
        Counts; at least one of each sample. Cells that are empty in both are left out, and 0.0001 stands for a share of
        0 in one.

    Notes
    -----
    It is the divergence of Kullback and Leibler added up in both directions: Jeffreys, "An invariant form for the prior
    probability in estimation problems", Proceedings of the Royal Society A 186, 1946.

    Examples
    --------
    >>> round(psi(np.array([50, 50]), np.array([25, 75])), 6)
    0.274653
    """
    occupied = (reference > 0) | (current > 0)
    a, b = (np.where(side > 0, side / side.sum(), LEAST_SHARE)[occupied] for side in (reference, current))
    return float(((b - a) * np.log(b / a)).sum())


def jensen_shannon(reference: np.ndarray, current: np.ndarray) -> float:
    """Return the distance of Jensen and Shannon: the square root of their divergence, in nats; from 0 to 0.8326.

    Parameters
    ----------
    reference, current : array of shape (n_cells,)
        Counts; at least one of each sample.

    Notes
    -----
    Lin, "Divergence measures based on the Shannon entropy", IEEE Transactions on Information Theory 37, 1991; Endres
    and Schindelin, "A new metric for probability distributions", 49, 2003. As scipy's ``jensenshannon``.

    Examples
    --------
    >>> round(jensen_shannon(np.array([1, 0]), np.array([0, 1])) ** 2, 6)
    0.693147
    """
    a, b = (side / side.sum() for side in (reference, current))
    middle = (a + b) / 2
    return float(np.sqrt(max(0.0, (_relative_entropy(a, middle) + _relative_entropy(b, middle)) / 2)))


def _relative_entropy(a: np.ndarray, b: np.ndarray) -> float:
    occupied = a > 0
    return float((a[occupied] * np.log(a[occupied] / b[occupied])).sum())


def kolmogorov_smirnov(reference: np.ndarray, current: np.ndarray) -> float:
    """Return the largest distance between the distribution functions of two samples, at the ends of ordered cells.

    Parameters
    ----------
    reference, current : array of shape (n_cells,)
        Counts in ascending cells; at least one of each sample.

    Examples
    --------
    >>> kolmogorov_smirnov(np.array([1, 1, 2]), np.array([0, 1, 3]))
    0.25
    """
    a, b = (np.cumsum(side) / side.sum() for side in (reference, current))
    return float(np.abs(a - b).max())


def chi_square(reference: np.ndarray, current: np.ndarray) -> float:
    """Return Pearson's statistic of whether two samples have the same shares in all cells, without a correction.

    Parameters
    ----------
    reference, current : array of shape (n_cells,)
        Counts; at least one of each sample. Cells that are empty in both are left out.

    Notes
    -----
    Pearson, "On the probability that two independent distributions of frequency are really samples from the same
    population", Biometrika 8, 1911. As scipy's ``chi2_contingency`` of the two rows.

    Examples
    --------
    >>> round(chi_square(np.array([3, 1]), np.array([1, 3])), 12)
    2.0
    """
    counts = np.stack([reference, current]).astype(np.float64)
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())
