"""Cells of logarithms: one for each value, or as many as are allowed, whatever the partitions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.statistics.log_cells import LogCells

X = np.random.default_rng(5).lognormal(2, 3, 5000) * np.where(np.arange(5000) % 3, 1, -1)


def gathered(statistic, x, parts=1):
    pieces = [frames.from_arrow(pa.table({"x": part})) for part in np.array_split(x, parts)]
    return statistic.finish(statistic.merge([statistic.summarise(piece) for piece in pieces]))["x"]


def test_every_value_has_a_cell_while_there_are_few():
    found = gathered(LogCells(("x",)), np.repeat(X, 2))
    assert found.sums["rows"].tolist() == [2.0] * 5000
    np.testing.assert_array_equal(found.sums["value"], 2 * np.sort(X))


@pytest.mark.parametrize("parts", [1, 7])
def test_cells_hold_all_rows_and_add_up_to_their_sum(parts):
    found = gathered(LogCells(("x",), most=100), X, parts)
    assert 50 <= len(found.lower) <= 100
    assert (found.sums["rows"].sum(), found.sums["value"].sum()) == (5000, pytest.approx(X.sum(), rel=1e-12))
    means = found.sums["value"] / found.sums["rows"]
    logs = np.sign(means) * np.log1p(np.abs(means))
    assert ((found.lower <= logs) & (logs < found.upper)).all()


def test_partitions_do_not_show_in_the_cells():
    whole, cut = (gathered(LogCells(("x",), most=64), X, parts) for parts in (1, 9))
    np.testing.assert_array_equal(whole.lower, cut.lower)
    np.testing.assert_array_equal(whole.sums["rows"], cut.sums["rows"])


def test_unsigned_cells_are_of_the_plain_logarithm_and_refuse_what_has_none():
    found = gathered(LogCells(("x",), signed=False), np.array([1e-100, 1.0, 1e100]))
    assert found.sums["value"].tolist() == [1e-100, 1.0, 1e100]
    with pytest.raises(DataValueError, match="column 'x' has 2 values that are not positive"):
        gathered(LogCells(("x",), signed=False), np.array([1.0, 0.0, -2.0]), 2)


def test_fewer_than_two_cells_are_refused():
    with pytest.raises(ConfigError, match="most is 1, expected at least 2"):
        LogCells(("x",), most=1)
