"""What chance alone gives: closed forms and scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from penstock.pipeline.drift import chance
from penstock.pipeline.drift.chance import holm, pooled
from penstock.statistics import divergences

ROWS = (900, 1600)
SPREAD = 1 / 900 + 1 / 1600


def test_chi_square_has_the_distribution_of_its_name():
    for statistic, cells in [(31.0, 12), (5.0, 2)]:
        told, law = chance.of_chi_square(statistic, cells, 0.01), stats.chi2(cells - 1)
        expected = (cells - 1, law.isf(0.01), law.sf(statistic))
        assert (told.expected, told.limit, told.p_value) == pytest.approx(expected, rel=1e-12)


def test_psi_is_chi_square_of_as_many_rows():
    told, law = chance.of_psi(ROWS, 10, 0.05), stats.chi2(9, scale=SPREAD)
    assert (told.expected, told.limit) == pytest.approx((law.mean(), law.isf(0.05)), rel=1e-12)


def test_jensen_shannon_is_a_chi_variable():
    told, law = chance.of_jensen_shannon(ROWS, 10, 0.05), stats.chi(9, scale=math.sqrt(SPREAD / 8))
    assert (told.expected, told.limit) == pytest.approx((law.mean(), law.isf(0.05)), rel=1e-9)


def test_kolmogorov_smirnov_has_the_limit_of_kolmogorov():
    told, law = chance.of_kolmogorov_smirnov(0.05, ROWS, 0.01), stats.kstwobign(scale=math.sqrt(SPREAD))
    assert (told.expected, told.limit, told.p_value) == pytest.approx(
        (law.mean(), law.isf(0.01), law.sf(0.05)), rel=1e-9
    )


TOLD = {
    "psi": lambda _: chance.of_psi(ROWS, 8, 0.1),
    "jensen_shannon": lambda _: chance.of_jensen_shannon(ROWS, 8, 0.1),
    "chi_square": lambda value: chance.of_chi_square(value, 8, 0.1),
    "kolmogorov_smirnov": lambda value: chance.of_kolmogorov_smirnov(value, ROWS, 0.1),
}


@pytest.mark.parametrize("measure", TOLD)
def test_samples_of_one_distribution_exceed_the_limit_as_often_as_the_level_says(measure):
    rng, share = np.random.default_rng(3), np.arange(1, 9) / 36
    draws = 2000
    above, total = 0, 0.0
    for one, other in zip(rng.multinomial(ROWS[0], share, draws), rng.multinomial(ROWS[1], share, draws), strict=True):
        value = getattr(divergences, measure)(one, other)
        told = TOLD[measure](value)
        above += value > told.limit
        total += value / told.expected
    least = 0 if measure == "kolmogorov_smirnov" else stats.binom.ppf(1e-4, draws, 0.1)  # smaller over few cells
    assert least <= above <= stats.binom.ppf(1 - 1e-4, draws, 0.1)
    assert total / draws <= 1.03
    assert measure == "kolmogorov_smirnov" or total / draws >= 0.97


def test_the_distance_of_means_is_normal():
    told, law = chance.of_mean(ROWS, 0.05), stats.halfnorm(scale=math.sqrt(SPREAD))
    assert (told.expected, told.limit) == pytest.approx((law.mean(), law.isf(0.05)), rel=1e-9)


def test_the_share_of_a_value_is_tested_by_the_binomial_of_its_rows():
    for before, now in [(0, 5), (3, 0), (7, 9), (0, 0), (40, 10)]:
        law = stats.binom(before + now, ROWS[1] / sum(ROWS))
        expected = min(1.0, 2 * min(law.cdf(now), law.sf(now - 1)))
        found = chance.share_p_values(np.array([before]), np.array([now]), ROWS)[0]
        assert found == pytest.approx(expected, rel=1e-12)


def test_a_share_of_most_rows_is_tested_by_the_others():
    many, few = (ROWS[0] - 5, ROWS[1] - 30), (5, 30)
    one, other = (chance.of_share(counts, ROWS, 0.01) for counts in (many, few))
    assert (one.p_value, one.limit) == pytest.approx((other.p_value, other.limit), rel=1e-12)
    assert one.p_value == pytest.approx(2 * stats.binom.sf(29, 35, ROWS[1] / sum(ROWS)), rel=1e-12)


def test_at_most_so_many_rows_of_a_value_are_as_likely_as_the_binomial_says():
    totals = np.arange(8)
    found = chance.at_most_p_values(3, totals, ROWS)
    assert found == pytest.approx(stats.binom.cdf(3, totals, ROWS[1] / sum(ROWS)), rel=1e-12)


def test_values_beyond_the_range_are_no_likelier_than_the_test_says():
    def exact(beyond: int) -> float:
        """Of n values of the reference and m of today, that so many of today's are outside, whatever the side."""
        n, m = 20, 30
        inside = [math.comb(n + m - outside - 2, n - 2) * (outside + 1) for outside in range(m + 1)]
        return sum(inside[beyond:]) / math.comb(n + m, n)

    for beyond in range(31):
        assert chance.of_range((0, beyond), (20, 30), 0.01).p_value >= exact(beyond) * (1 - 1e-12)


def test_the_limit_of_values_beyond_the_range_is_the_first_number_below_the_level():
    told = chance.of_range((0, 0), (20, 30), 0.01)
    least = next(k for k in range(31) if (k + 1) * 0.6**k <= 0.01)
    assert (told.expected, told.limit) == pytest.approx((2 / 21, least / 30), rel=1e-12)


def test_holm_multiplies_each_by_those_that_are_left():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_rare_cells_are_one_that_is_expected_often_enough():
    one, other = pooled(np.array([50, 1, 2, 30, 1]), np.array([40, 2, 1, 40, 0]))
    assert (one.tolist(), other.tolist()) == ([50, 34], [40, 43])
    one, other = pooled(np.array([50, 50]), np.array([50, 50]))
    assert (one.tolist(), other.tolist()) == ([50, 50], [50, 50])
