"""BeforeAfter: the statistics of each part are those of its rows alone."""

import numpy as np
import pyarrow as pa
import pytest
from gathering import cut, demand_refused, gathered

from penstock.statistics import Moments, Quantiles
from penstock.statistics.counts import RowCount
from penstock.statistics.grouped.before_after import BEYOND, UP_TO, BeforeAfter

RNG = np.random.default_rng(29)
TABLE = pa.table({"x": RNG.normal(size=100), "t": RNG.integers(0, 10, 100)})


def test_each_part_has_the_statistics_of_its_rows():
    for at in (-1, 3, 3.5, 9):
        parted = BeforeAfter.of("t", at, [RowCount(), Moments(("x",)), Quantiles(("x",))])
        found = gathered(parted, *cut(TABLE, 0, 40, 41))
        x, early = TABLE["x"].to_numpy(), TABLE["t"].to_numpy() <= at
        for key, rows in ((UP_TO, early), (BEYOND, ~early)):
            count, moments, quantiles = found[key]
            assert count == rows.sum()
            assert quantiles["x"].values.tolist() == sorted(x[rows])
            assert moments["x"].mean == (pytest.approx(x[rows].mean(), rel=1e-12) if rows.any() else None)


def test_it_reads_what_its_statistics_read_and_the_column_that_parts_the_rows():
    assert BeforeAfter.of("t", 0, [Moments(("x", "y")), Moments(("y",))]).columns == ("x", "y", "t")


def test_rows_that_are_on_no_side_are_refused():
    for value, told in [(None, "null"), (float("inf"), "infinite")]:
        parts = cut({"t": [0.0, value, value, 1.0]}, 2)
        demand_refused(BeforeAfter.of("t", 0.5, [RowCount()]), f"'t' has 2 values that are {told}", *parts)
