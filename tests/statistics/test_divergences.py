"""How far two samples are apart: closed forms and scipy."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import distance

from penstock.statistics.divergences import LEAST_SHARE, chi_square, jensen_shannon, kolmogorov_smirnov, psi

DRAWN = np.random.default_rng(5)
PAIRS = [
    (DRAWN.multinomial(1000, DRAWN.dirichlet(np.ones(cells))), DRAWN.multinomial(700, DRAWN.dirichlet(np.ones(cells))))
    for cells in (2, 3, 10, 64, 200)
]


def test_distances_are_those_of_scipy():
    for one, other in PAIRS:
        occupied = one + other > 0
        expected = stats.chi2_contingency(np.stack([one, other])[:, occupied], correction=False).statistic
        assert chi_square(one, other) == pytest.approx(expected, rel=1e-12)
        assert jensen_shannon(one, other) == pytest.approx(distance.jensenshannon(one, other), rel=1e-12)
        samples = (np.repeat(np.arange(len(side)), side) for side in (one, other))
        expected = stats.ks_2samp(*samples, method="asymp").statistic
        assert kolmogorov_smirnov(one, other) == pytest.approx(expected, abs=1e-12)


def test_psi_is_the_divergence_of_kullback_and_leibler_both_ways():
    for one, other in PAIRS[:2]:
        assert (one > 0).all()
        assert (other > 0).all()
        expected = stats.entropy(one, other) + stats.entropy(other, one)
        assert psi(one, other) == pytest.approx(expected, rel=1e-12)


def test_an_empty_cell_of_psi_has_a_small_share():
    expected = (0.5 - LEAST_SHARE) * np.log(0.5 / LEAST_SHARE) + (0.5 - 1.0) * np.log(0.5)
    assert psi(np.array([10, 0, 0]), np.array([5, 5, 0])) == pytest.approx(expected, rel=1e-12)


def test_equal_shares_are_no_distance():
    for measure in (psi, jensen_shannon, kolmogorov_smirnov, chi_square):
        assert measure(np.array([3, 0, 5]), np.array([6, 0, 10])) == 0.0
