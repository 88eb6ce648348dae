"""Moments and extremes by group against pandas, however the rows are cut."""

import statistics

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from gathering import cut, gathered

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


@pytest.mark.parametrize("by", [("k",), ("i", "k")])
def test_groups_are_those_of_pandas(by):
    found = gathered(GroupMoments((*by, "x"), keys=len(by)), *cut(TABLE, 10, 10, 400, 899))
    groups = TABLE.to_pandas().groupby(list(by), dropna=False)["x"]
    oracle = groups.agg(list(NAMES)).reset_index()
    oracle["std"] = groups.agg(lambda x: statistics.stdev(x.dropna())).to_numpy()  # that of pandas loses 7 digits here
    assert found.keys.to_pylist() == pa.Table.from_pandas(oracle[list(by)], preserve_index=False).to_pylist()
    for name in NAMES:
        made = found.of("x", name).to_numpy(zero_copy_only=False)
        np.testing.assert_allclose(made.astype(float), oracle[name].to_numpy(float), rtol=1e-12, err_msg=name)


def test_a_group_without_values_has_a_count_and_a_sum_and_nothing_else():
    table = pa.table({"k": [1, 1, 2, 2], "x": [None, None, 4.0, None]})
    found = gathered(GroupMoments(("k", "x")), *cut(table, 1, 2))
    made = [found.of("x", name).to_pylist() for name in NAMES]
    assert made == [[0, 1], [0.0, 4.0], [None, 4.0], [None, None], [None, 4.0], [None, 4.0]]


def test_the_whole_has_all_rows_and_known_groups_have_no_null():
    found = gathered(GroupMoments(("i", "k", "x"), keys=2), *cut(TABLE, 500))
    series = pd.Series(TABLE["x"].to_pandas()).dropna()
    assert found.whole().of("x", "count").to_pylist() == [len(series)]
    assert found.whole().of("x", "std").to_pylist() == [pytest.approx(series.std(), rel=1e-12)]
    assert found.known().keys.num_rows == 20
    assert found.known().keys["k"].null_count == 0
