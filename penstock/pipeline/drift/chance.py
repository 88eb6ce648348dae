"""What chance alone does: to two samples of one distribution, of so many rows each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_EXPECTED = 5.0
"""Rows expected in a cell at least, for the test of Pearson: Cochran, "Some methods for strengthening the common
chi-squared tests", Biometrics 10, 1954."""


@dataclass(frozen=True)
class Chance:
    """What a measure is of two samples of one distribution.

    Attributes
    ----------
    expected : float
        On average.
    limit : float
        Larger in a share `level` of all cases.
    p_value : float or None
        How likely one is that is as large as what was measured; None of measures that are not tested.
    """

    expected: float
    limit: float
    p_value: float | None = None


def of_chi_square(statistic: float, cells: int, level: float) -> Chance:
    """Return what chance gives of Pearson's statistic over so many cells.

    Examples
    --------
    >>> chance = of_chi_square(2.0, 2, 0.05)
    >>> chance.expected, round(chance.limit, 6), round(chance.p_value, 6)
    (1.0, 3.841459, 0.157299)
    """
    from scipy import special  # slow to import

    freedom = cells - 1
    if freedom < 1:
        return Chance(0.0, 0.0, 1.0)
    return Chance(
        float(freedom), float(special.chdtri(freedom, level)), float(special.chdtrc(freedom, max(0.0, statistic)))
    )


def of_psi(rows: tuple[int, int], cells: int, level: float) -> Chance:
    """Return what chance gives of the population stability index.

    Notes
    -----
    Times ``n * m / (n + m)`` it is distributed as chi-squared with one degree of freedom less than cells, as the
    samples grow: Yurdakul and Naranjo, "Statistical properties of the population stability index", Journal of Risk
    Model Validation 14, 2020.

    Examples
    --------
    >>> round(of_psi((1000, 1000), 10, 0.01).expected, 6)
    0.018
    """
    of_cells, scale = of_chi_square(0.0, cells, level), _spread(rows)
    return Chance(scale * of_cells.expected, scale * of_cells.limit)


def of_jensen_shannon(rows: tuple[int, int], cells: int, level: float) -> Chance:
    """Return what chance gives of the distance of Jensen and Shannon.

    Notes
    -----
    Its square is an eighth of the index of `of_psi`, as the samples grow; the mean is that of a chi distribution.

    Examples
    --------
    >>> round(of_jensen_shannon((1000, 1000), 10, 0.01).limit ** 2 * 8 / of_psi((1000, 1000), 10, 0.01).limit, 12)
    1.0
    """
    freedom, scale = cells - 1, math.sqrt(_spread(rows) / 8)
    if freedom < 1:
        return Chance(0.0, 0.0)
    mean = math.sqrt(2) * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    return Chance(scale * mean, scale * math.sqrt(of_chi_square(0.0, cells, level).limit))


def of_kolmogorov_smirnov(distance: float, rows: tuple[int, int], level: float) -> Chance:
    """Return what chance gives of the largest distance of two distribution functions, continuous ones at most.

    Notes
    -----
    By the distribution of Kolmogorov, which the statistic times ``sqrt(n * m / (n + m))`` has as the samples grow:
    Smirnov, "Table for estimating the goodness of fit of empirical distributions", Annals of Mathematical Statistics
    19, 1948. Of small samples, where values are tied, and at the ends of few cells, distances are smaller by chance, so
    that the p-value is too large.

    Examples
    --------
    >>> chance = of_kolmogorov_smirnov(0.1, (1000, 1000), 0.01)
    >>> round(chance.expected, 4), round(chance.limit, 4), chance.p_value < 1e-4
    (0.0389, 0.0728, True)
    """
    from scipy import special

    scale = math.sqrt(_spread(rows))
    mean, p_value = math.sqrt(math.pi / 2) * math.log(2), float(special.kolmogorov(distance / scale))
    return Chance(scale * mean, scale * float(special.kolmogi(level)), p_value)


def of_mean(rows: tuple[int, int], level: float) -> Chance:
    """Return what chance gives of the distance of two means in standard deviations, of so many rows that it is normal.

    Examples
    --------
    >>> chance = of_mean((1000, 1000), 0.05)
    >>> round(chance.expected, 4), round(chance.limit, 4)
    (0.0357, 0.0877)
    """
    return _of_normal(math.sqrt(_spread(rows)), level)


def _of_normal(deviation: float, level: float, p_value: float | None = None) -> Chance:
    from scipy import special

    return Chance(math.sqrt(2 / math.pi) * deviation, float(-special.ndtri(level / 2)) * deviation, p_value)


def of_share(counts: tuple[int, int], rows: tuple[int, int], level: float) -> Chance:
    """Return what chance gives of the difference of a share; see `share_p_values`.

    Examples
    --------
    >>> chance = of_share((10, 30), (1000, 1000), 0.01)
    >>> round(chance.limit, 4), round(chance.p_value, 4)
    (0.0161, 0.0022)
    """
    share = sum(counts) / sum(rows)
    rarer = counts if share <= 0.5 else (rows[0] - counts[0], rows[1] - counts[1])
    p_value = float(share_p_values(np.array(rarer[0]), np.array(rarer[1]), rows))
    return _of_normal(math.sqrt(share * (1 - share) * _spread(rows)), level, p_value)


def share_p_values(reference: np.ndarray, current: np.ndarray, rows: tuple[int, int]) -> np.ndarray:
    """Return how likely counts are that differ as much, of values in two samples of one distribution; two-sided.

    Notes
    -----
    Of all rows with a value, those of today are binomial: Przyborowski and Wilenski, "Homogeneity of results in testing
    samples from Poisson series", Biometrika 31, 1940. Of a value that is not rare the p-value is too large: of one half
    of the rows, as if the difference were smaller by the square root of 2.

    Examples
    --------
    >>> share_p_values(np.array([0]), np.array([3]), (100, 100)).tolist()
    [0.25]
    """
    from scipy import special

    # Of today's rows at most so many: the other tail of the same distribution.
    at_most = np.where(reference > 0, special.betaincc(current + 1, np.maximum(reference, 1), rows[1] / sum(rows)), 1.0)
    return np.minimum(1.0, 2 * np.minimum(more_p_values(reference, current, rows), at_most))


def more_p_values(reference: np.ndarray, current: np.ndarray, rows: tuple[int, int]) -> np.ndarray:
    """Return the same for more rows today alone: one-sided."""
    from scipy import special

    chances = special.betainc(np.maximum(current, 1), reference + 1, rows[1] / sum(rows))
    return np.where(current > 0, chances, 1.0)


def at_most_p_values(count: int, totals: np.ndarray, rows: tuple[int, int]) -> np.ndarray:
    """Return how likely the second of two samples has at most `count` rows of a value that both together have so often.

    Examples
    --------
    >>> at_most_p_values(0, np.array([0, 1, 3]), (100, 100)).tolist()
    [1.0, 0.5, 0.125]
    """
    from scipy import special

    chances = special.betaincc(count + 1, np.maximum(totals - count, 1), rows[1] / sum(rows))
    return np.where(totals > count, chances, 1.0)


def of_range(counts: tuple[int, int], rows: tuple[int, int], level: float) -> Chance:
    """Return what chance gives of the share of today's values that are beyond all of the reference, on either side.

    Parameters
    ----------
    counts : (int, int)
        Values beyond; of the reference those that are infinite.

    Notes
    -----
    That the largest k of all values are of one sample has at most the probability of its share to the power of k; there
    are k + 1 ways for k values to be on two sides.

    Examples
    --------
    >>> of_range((0, 3), (100, 100), 0.01).p_value
    0.5
    """
    p_value = min(1.0, (counts[1] + 1) * float(more_p_values(np.array(counts[0]), np.array(counts[1]), rows)))
    share, most = math.log(rows[1] / sum(rows)), 0.0
    for _ in range(50):  # up to where (k + 1) * share ** k is the level
        most = (math.log(level) - math.log1p(most)) / share
    expected = 2 / (rows[0] + 1)
    return Chance(expected, max(expected, math.ceil(most) / rows[1]), p_value)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values of several tests so that the smallest is as likely to be below a level as the level says.

    Notes
    -----
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979. It
    holds whatever the tests have to do with each other.

    Examples
    --------
    >>> holm([0.5, 0.25, 0.125])
    [0.5, 0.5, 0.375]
    """
    order = np.argsort(p_values, kind="stable")
    ascending = np.asarray(p_values, dtype=np.float64)[order]
    raised = np.maximum.accumulate(np.minimum(1.0, ascending * np.arange(len(order), 0, -1)))
    adjusted = np.empty(len(order))
    adjusted[order] = raised
    return adjusted.tolist()


def pooled(reference: np.ndarray, current: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of cells, in which those are one that are too rare to be tested by themselves.

    They are the rarest of both samples together, so that which they are says nothing of either.

    Examples
    --------
    >>> [side.tolist() for side in pooled(np.array([90, 4, 3, 3]), np.array([90, 3, 4, 3]))]
    [[90, 10], [90, 10]]
    """
    totals = reference + current
    expected = totals * (min(reference.sum(), current.sum()) / totals.sum())
    order = np.argsort(-expected, kind="stable")
    frequent = int(np.sum(expected >= LEAST_EXPECTED))
    if expected[order[frequent:]].sum() < LEAST_EXPECTED and frequent < len(order):
        frequent = max(0, frequent - 1)
    kept, rare = np.sort(order[:frequent]), order[frequent:]
    one, other = (np.append(side[kept], side[rare].sum() if len(rare) else []) for side in (reference, current))
    return one.astype(np.int64), other.astype(np.int64)


def _spread(rows: tuple[int, int]) -> float:
    """Return the variance of a difference of two means, in that of a row."""
    return 1 / rows[0] + 1 / rows[1]
