"""Amdahl's law, the universal scalability law, and the least squares that they are fitted by."""

import math

import numpy as np
import pytest

from penstock.core.errors import ConfigError
from penstock.runs.scaling import Amdahl, UniversalScalability
from penstock.runs.scaling.least_squares import LeastSquares

WORKERS = [1, 2, 4, 8, 16, 32]


def test_amdahl_finds_the_serial_part_that_times_were_made_with_and_knows_a_largest_speedup():
    law = Amdahl.fit(WORKERS, [3.0 + 60.0 / workers for workers in WORKERS])
    assert (law.serial, law.parallel) == pytest.approx((3.0, 60.0))
    assert law.most_speedup == pytest.approx(21.0)
    law = Amdahl(serial=0.0, parallel=10.0)
    assert law.most_speedup == math.inf
    assert law.efficiency(50) == pytest.approx(1.0)


def test_the_universal_law_finds_contention_and_coherence_and_the_best_number_of_workers():
    truth = UniversalScalability(one=100.0, contention=0.03, coherence=0.0004)
    law = UniversalScalability.fit(WORKERS, [truth.seconds(workers) for workers in WORKERS])
    assert (law.one, law.contention, law.coherence) == pytest.approx((100.0, 0.03, 0.0004))
    law = UniversalScalability(one=100.0, contention=0.03, coherence=0.0004)
    tried = range(1, 500)
    assert tried[np.argmin([law.seconds(each) for each in tried])] == round(law.best_workers)


def test_without_coherence_the_universal_law_is_amdahls():
    universal = UniversalScalability(one=100.0, contention=0.05)
    amdahl = Amdahl(serial=5.0, parallel=95.0)
    assert [universal.seconds(each) for each in WORKERS] == pytest.approx([amdahl.seconds(each) for each in WORKERS])
    assert universal.best_workers == math.inf


def test_points_that_say_nothing_are_refused():
    for workers, seconds in (([1, 1], [2.0, 2.0]), ([1, 2], [1.0]), ([0, 2], [1.0, 1.0])):
        with pytest.raises(ConfigError, match="expected"):
            Amdahl.fit(workers, seconds)


def test_errors_in_proportion_do_not_bend_a_line():
    x = np.repeat(np.arange(1.0, 200.0), 2)
    noise = np.tile([0.7, 1.3], 199)  # of mean 1 at each point
    line = LeastSquares.fit(np.column_stack([x, np.ones_like(x)]), (2.0 * x + 5.0) * noise)
    assert line.coefficients == pytest.approx((2.0, 5.0), rel=1e-6)


def test_deviations_are_those_of_weighted_least_squares():
    x = np.column_stack([np.arange(1.0, 9.0), np.ones(8)])
    y = x @ (3.0, 4.0)
    line = LeastSquares.fit(x, y)
    covariance = np.linalg.inv(x.T @ np.diag(y**-2.0) @ x)
    assert line.deviation((20.0, 1.0)) == pytest.approx(math.sqrt(np.array([20.0, 1.0]) @ covariance @ (20.0, 1.0)))


def test_of_columns_that_say_the_same_the_first_is_taken():
    assert LeastSquares.fit([(2.0, 1.0), (4.0, 2.0)], [6.0, 12.0]).coefficients == pytest.approx((3.0, 0.0))
