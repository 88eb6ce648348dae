"""A replicate of the bootstrap is the statistic of rows repeated as often as they were drawn."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from penstock import frames
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


def replicates(weight, pieces, count=5, seed=3):
    errors = RegressionErrors(("prediction", "label", WEIGHT))
    resampled = Resampled.of([errors], weight=weight, replicates=count, seed=seed)
    found = resampled.finish(resampled.merge([resampled.summarise(frames.from_arrow(piece)) for piece in pieces]))
    return [each.mse for (each,) in found.values()]


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_replicate_repeats_rows_as_often_as_they_are_drawn(weight):
    error = (TABLE["label"].to_numpy() - TABLE["prediction"].to_numpy()) ** 2
    own = np.ones(ROWS) if weight is None else TABLE["w"].to_numpy()
    for number, mse in enumerate(replicates(weight, [TABLE])):
        times = draws(np.arange(ROWS, dtype=np.uint64), 3, number)
        assert mse == pytest.approx(np.average(error, weights=times * own), rel=1e-12)


@pytest.mark.thorough
def test_partitions_and_their_order_change_nothing():
    shuffled = TABLE.take(np.random.default_rng(1).permutation(ROWS))
    pieces = [shuffled.slice(0, 3), shuffled.slice(3, 0), shuffled.slice(3, 400), shuffled.slice(403)]
    assert replicates("w", pieces) == pytest.approx(replicates("w", [TABLE]), rel=1e-12)


@pytest.mark.thorough
def test_seeds_and_replicates_draw_differently():
    first, second = replicates(None, [TABLE]), replicates(None, [TABLE], seed=4)
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


@pytest.mark.thorough
def test_the_spread_of_the_replicates_is_the_standard_error_of_a_mean():
    label = np.random.default_rng(2).normal(size=2000)
    table = pa.table({"prediction": np.zeros(2000), "label": label, ROW: np.arange(2000)})
    errors = RegressionErrors(("prediction", "label", WEIGHT))
    resampled = Resampled.of([errors], weight=None, replicates=400, seed=0)
    means = [each.mse for (each,) in resampled.finish(resampled.summarise(frames.from_arrow(table))).values()]
    assert np.std(means) == pytest.approx(np.std(label**2) / np.sqrt(2000), rel=0.15)
