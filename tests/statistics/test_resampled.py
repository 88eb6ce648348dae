"""A replicate of the bootstrap is the statistic of rows repeated as often as they were drawn."""

import numpy as np
import pyarrow as pa
import pytest
from gathering import gathered
from scipy import stats

from penstock.frames import ROW
from penstock.statistics import RegressionErrors
from penstock.statistics.grouped.bootstrap import WEIGHT, Resampled, draws

ROWS = 500
DRAW = np.random.default_rng(6)
TABLE = pa.table(
    {
        "prediction": DRAW.normal(size=ROWS),
        "label": DRAW.normal(size=ROWS),
        "w": DRAW.integers(0, 4, ROWS).astype(float),
        ROW: np.arange(ROWS),
    }
)


def replicates(table, weight=None, count=5, seed=3):
    errors = RegressionErrors(("prediction", "label", WEIGHT))
    found = gathered(Resampled.of([errors], weight=weight, replicates=count, seed=seed), table)
    return [each.mse for (each,) in found.values()]


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_replicate_repeats_rows_as_often_as_they_are_drawn(weight):
    error = (TABLE["label"].to_numpy() - TABLE["prediction"].to_numpy()) ** 2
    own = np.ones(ROWS) if weight is None else TABLE["w"].to_numpy()
    for number, mse in enumerate(replicates(TABLE, weight)):
        times = draws(np.arange(ROWS, dtype=np.uint64), 3, number)
        assert mse == pytest.approx(np.average(error, weights=times * own), rel=1e-12)


@pytest.mark.thorough
def test_seeds_and_replicates_draw_differently():
    first, second = replicates(TABLE), replicates(TABLE, seed=4)
    assert len({*first, *second}) == 10


def test_rows_are_drawn_as_a_poisson_variable_of_mean_one():
    seen = np.bincount(draws(np.arange(100_000, dtype=np.uint64), 0, 0).astype(int), minlength=6)
    counts = np.append(seen[:6], seen[6:].sum())
    shares = np.append(stats.poisson.pmf(range(6), 1), stats.poisson.sf(5, 1))
    assert stats.chisquare(counts, shares * 100_000).pvalue > 1e-3


def test_replicates_are_independent_of_each_other_and_of_their_neighbours():
    rows = np.arange(100_000, dtype=np.uint64)
    one, other = draws(rows, 0, 0), draws(rows, 0, 1)
    for left, right in ((one, other), (one[1:], other[:-1]), (one[:-1], other[1:]), (one[1:], one[:-1])):
        assert abs(np.corrcoef(left, right)[0, 1]) < 5 / np.sqrt(len(rows))


def test_the_spread_of_the_replicates_is_the_standard_error_of_a_mean():
    label = np.random.default_rng(2).normal(size=2000)
    rows = np.arange(2000, dtype=np.uint64)
    means = [np.average(label**2, weights=draws(rows, 0, number)) for number in range(400)]
    assert np.std(means) == pytest.approx(np.std(label**2) / np.sqrt(2000), rel=0.15)
