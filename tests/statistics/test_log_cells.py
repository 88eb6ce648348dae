"""Cells of logarithms: one for each value, or as many as are allowed, whatever the partitions."""

import numpy as np
import pytest
from gathering import gathered

from penstock.errors import DataValueError
from penstock.statistics.log_cells import LogCells

X = np.random.default_rng(5).lognormal(2, 3, 5000) * np.where(np.arange(5000) % 3, 1, -1)


def cells(statistic, x, parts=1):
    return gathered(statistic, *({"x": part} for part in np.array_split(x, parts)))["x"]


def test_every_value_has_a_cell_while_there_are_few():
    found = cells(LogCells(("x",)), np.repeat(X, 2))
    assert found.sums["rows"].tolist() == [2.0] * 5000
    np.testing.assert_array_equal(found.sums["value"], 2 * np.sort(X))


def test_cells_hold_all_rows_and_add_up_to_their_sum():
    found = cells(LogCells(("x",), most=100), X, 7)
    assert 50 <= len(found.lower) <= 100
    assert (found.sums["rows"].sum(), found.sums["value"].sum()) == (5000, pytest.approx(X.sum(), rel=1e-12))
    means = found.sums["value"] / found.sums["rows"]
    logs = np.sign(means) * np.log1p(np.abs(means))
    assert ((found.lower <= logs) & (logs < found.upper)).all()


def test_unsigned_cells_are_of_the_plain_logarithm_and_refuse_what_has_none():
    found = cells(LogCells(("x",), signed=False), np.array([1e-100, 1.0, 1e100]))
    assert found.sums["value"].tolist() == [1e-100, 1.0, 1e100]
    with pytest.raises(DataValueError, match="column 'x' has 2 values that are not positive"):
        cells(LogCells(("x",), signed=False), np.array([1.0, 0.0, -2.0]), 2)
