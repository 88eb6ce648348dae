"""Statistics of folds: every row is held out once, and the rest is the others, however rows are cut to partitions."""

import numpy as np
import pyarrow as pa
import pytest
from gathering import demand_refused, gathered

from penstock.frames import ROW
from penstock.statistics import Counts, Folded, Moments
from penstock.statistics.grouped.folds import folds

ROWS = 1000
X = np.random.default_rng(0).normal(size=ROWS)
TABLE = pa.table({"x": X, ROW: np.arange(ROWS)})


def test_each_row_is_held_out_once_and_learned_from_in_the_other_folds():
    results = gathered(Folded.of([Moments(("x",))], num_folds=4, seed=3), TABLE)
    fold = folds(np.arange(ROWS, dtype=np.uint64), 4, 3)
    for number in range(4):
        (held,), (rest,) = results["held out", number], results["rest", number]
        assert held["x"].mean == pytest.approx(X[fold == number].mean(), rel=1e-12)
        assert rest["x"].mean == pytest.approx(X[fold != number].mean(), rel=1e-12)
        assert rest["x"].std(ddof=1) == pytest.approx(X[fold != number].std(ddof=1), rel=1e-12)
    (whole,) = results["all",]
    assert whole["x"].mean == pytest.approx(X.mean(), rel=1e-12)


def test_rows_are_dealt_evenly():
    sizes = np.bincount(folds(np.arange(100_000, dtype=np.uint64), 5, 0), minlength=5)
    assert sizes.sum() == 100_000
    np.testing.assert_allclose(sizes, 20_000, atol=5 * np.sqrt(100_000 * 0.2 * 0.8))


def test_another_seed_deals_other_folds():
    rows = np.arange(ROWS, dtype=np.uint64)
    assert (folds(rows, 2, 0) != folds(rows, 2, 1)).mean() == pytest.approx(0.5, abs=0.1)


def test_rows_that_a_split_kept_are_dealt_evenly_too(local):
    for seed in (0, 7):
        train, _ = local.from_arrow(pa.table({"x": X})).split([0.5, 0.5], seed=seed)
        (state,), _ = train.gather([folded := Folded.of([Counts(("x",))], num_folds=5, seed=seed)])
        sizes = [folded.finish(state)["held out", number][0]["x"].rows for number in range(5)]
        assert min(sizes) > 60


def test_a_number_that_is_no_fold_is_refused_with_column_and_count():
    folded = Folded.of([Counts(("x",))], num_folds=2, fold="f")
    for stray in (2, -1, None):
        rows = {"x": [1.0, 2.0, 4.0], "f": [1, stray, stray]}
        demand_refused(folded, "column 'f' has 2 values that are no fold, expected 0 to 1", rows)
