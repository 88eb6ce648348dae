"""Moments and extremes by group against pandas, however the rows are cut."""

from __future__ import annotations

import itertools
import statistics

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import ConfigError, DataValueError
from penstock.statistics.grouped.group_moments import GroupMoments

RNG = np.random.default_rng(11)
N = 900
TABLE = pa.table(
    {
        "k": pa.array(RNG.choice(["a", "b", "größe", "d"], N), mask=RNG.random(N) < 0.1),
        "i": RNG.integers(0, 5, N),
        "x": pa.array(1e8 + RNG.normal(size=N), mask=RNG.random(N) < 0.3),
    }
)
NAMES = ("count", "sum", "mean", "std", "min", "max")


def gathered(statistic, table, cuts=()):
    ends = [0, *cuts, table.num_rows]
    pieces = [table.slice(start, end - start) for start, end in itertools.pairwise(ends)]
    states = [statistic.summarise(frames.from_arrow(piece)) for piece in pieces]
    return statistic.finish(statistic.merge(states))


@pytest.mark.parametrize("by", [("k",), ("i", "k")])
@pytest.mark.parametrize("cuts", [(), (10, 10, 400, 899)])
def test_groups_are_those_of_pandas(by, cuts):
    found = gathered(GroupMoments((*by, "x"), keys=len(by)), TABLE, cuts)
    groups = TABLE.to_pandas().groupby(list(by), dropna=False)["x"]
    oracle = groups.agg(list(NAMES)).reset_index()
    oracle["std"] = groups.agg(lambda x: statistics.stdev(x.dropna())).to_numpy()  # that of pandas loses 7 digits here
    assert found.keys.to_pylist() == pa.Table.from_pandas(oracle[list(by)], preserve_index=False).to_pylist()
    for name in NAMES:
        made = found.of("x", name).to_numpy(zero_copy_only=False)
        np.testing.assert_allclose(made.astype(float), oracle[name].to_numpy(float), rtol=1e-12, err_msg=name)


def test_cuts_and_order_do_not_show():
    statistic, order = GroupMoments(("k", "x")), np.random.default_rng(1).permutation(N)
    whole, cut = gathered(statistic, TABLE), gathered(statistic, TABLE.take(order), (1, 300, 301))
    assert whole.keys.equals(cut.keys)
    for name in NAMES:
        rounded = {"sum": 3e-16, "mean": 3e-16, "std": 1e-13}.get(name, 0.0)
        found, expected = (each.of("x", name).to_numpy() for each in (cut, whole))
        np.testing.assert_allclose(found, expected, rtol=rounded, err_msg=name)


def test_a_group_without_values_has_a_count_and_a_sum_and_nothing_else():
    table = pa.table({"k": [1, 1, 2, 2], "x": [None, None, 4.0, None]})
    found = gathered(GroupMoments(("k", "x")), table, (1, 2))
    made = [found.of("x", name).to_pylist() for name in NAMES]
    assert made == [[0, 1], [0.0, 4.0], [None, 4.0], [None, None], [None, 4.0], [None, 4.0]]


def test_the_whole_has_all_rows_and_known_groups_have_no_null():
    found = gathered(GroupMoments(("i", "k", "x"), keys=2), TABLE, (500,))
    series = pd.Series(TABLE["x"].to_pandas()).dropna()
    assert found.whole().of("x", "count").to_pylist() == [len(series)]
    assert found.whole().of("x", "std").to_pylist() == [pytest.approx(series.std(), rel=1e-12)]
    assert found.known().keys.num_rows == 20
    assert found.known().keys["k"].null_count == 0


def test_infinities_and_large_numbers_are_refused_with_their_rows():
    for bad, told in [(np.inf, "infinite"), (-1e151, "too large")]:
        table = pa.table({"k": [True, False], "x": [1.0, bad]})
        with pytest.raises(DataValueError, match=f"column 'x' has 1 values that are {told}") as caught:
            gathered(GroupMoments(("k", "x")), table)
        assert frames.from_arrow(table).filter(caught.value.predicate)["x"].to_list() == [bad]


def test_keys_and_values_are_both_needed():
    with pytest.raises(ConfigError, match="keys is 2 of 2 columns"):
        GroupMoments(("a", "b"), keys=2)
