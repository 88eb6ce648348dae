"""BeforeAfter: the statistics of each part are those of its rows alone."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import DataValueError
from penstock.statistics import Moments, Quantiles
from penstock.statistics.counts import RowCount
from penstock.statistics.grouped.before_after import BEYOND, UP_TO, BeforeAfter

RNG = np.random.default_rng(29)
TABLE = pa.table({"x": RNG.normal(size=100), "t": RNG.integers(0, 10, 100)})


def gathered(statistic, *tables):
    states = [statistic.summarise(frames.from_arrow(table)) for table in tables]
    return statistic.finish(statistic.merge(states))


@pytest.mark.thorough
@pytest.mark.parametrize("places", [(), (0, 40, 41), tuple(range(100))])
@pytest.mark.parametrize("at", [-1, 3, 3.5, 9])
def test_each_part_has_the_statistics_of_its_rows(places, at):
    edges = [0, *places, 100]
    parts = [TABLE.slice(start, stop - start) for start, stop in itertools.pairwise(edges)]
    found = gathered(BeforeAfter.of("t", at, [RowCount(), Moments(("x",)), Quantiles(("x",))]), *parts)
    x, early = TABLE["x"].to_numpy(), TABLE["t"].to_numpy() <= at
    for key, rows in ((UP_TO, early), (BEYOND, ~early)):
        count, moments, quantiles = found[key]
        assert count == rows.sum()
        assert quantiles["x"].values.tolist() == sorted(x[rows])
        assert moments["x"].mean == (pytest.approx(x[rows].mean(), rel=1e-12) if rows.any() else None)


def test_it_reads_what_its_statistics_read_and_the_column_that_parts_the_rows():
    assert BeforeAfter.of("t", 0, [Moments(("x", "y")), Moments(("y",))]).columns == ("x", "y", "t")


@pytest.mark.parametrize(("value", "told"), [(None, "null"), (float("inf"), "infinite")])
def test_rows_that_are_on_no_side_are_refused(value, told):
    table = pa.table({"t": [0.0, value, value, 1.0]})
    with pytest.raises(DataValueError, match=f"'t' has 2 values that are {told}") as caught:
        gathered(BeforeAfter.of("t", 0.5, [RowCount()]), table.slice(0, 2), table.slice(2))
    assert frames.from_arrow(table).filter(caught.value.predicate)["t"].to_list() == [value] * 2
