"""Contingencies against pandas' cross tabulation."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from gathering import cut, gathered

from penstock.errors import DataValueError
from penstock.statistics.contingency import Contingencies

RNG = np.random.default_rng(23)
TABLE = pa.table(
    {
        "label": RNG.integers(-1, 3, 500),
        "s": RNG.choice(["a", "b", None, "\u00e9"], 500),
        "i": RNG.integers(0, 40, 500).astype(np.int8),
        "b": pa.array(RNG.random(500) < 0.2, mask=RNG.random(500) < 0.1),
    }
)


def test_counts_are_those_of_a_cross_tabulation():
    found = gathered(Contingencies(("label", "s", "i", "b")), *cut(TABLE, 0, 1, 1, 250))
    for name, table in found.items():
        values = table.values.to_pylist()
        known = [value for value in values if value is not None]
        assert values == sorted(known) + [None] * (len(values) - len(known))
        assert table.classes.to_pylist() == [-1, 0, 1, 2]
        codes = [values.index(value) for value in TABLE[name].to_pylist()]
        assert table.counts.tolist() == pd.crosstab(pd.Series(codes), TABLE["label"].to_numpy()).to_numpy().tolist()


def test_empty_partitions_and_columns_of_nulls():
    for kind in (pa.string(), pa.int8(), pa.bool_(), pa.null()):
        table = pa.table({"label": ["x", "y", "x"], "c": pa.nulls(3, kind)})
        found = gathered(Contingencies(("label", "c")), *cut(table, 0, 3))["c"]
        assert (found.values.to_pylist(), found.classes.to_pylist()) == ([None], ["x", "y"])
        assert found.counts.tolist() == [[2, 1]]


def test_minus_zero_is_the_class_zero():
    parts = [pa.table({"label": labels, "c": ["a", "a"]}) for labels in ([0.0, -0.0], [-0.0, 1.0])]
    found = gathered(Contingencies(("label", "c")), *parts)["c"]
    assert (found.classes.to_pylist(), found.counts.tolist()) == ([0.0, 1.0], [[3, 1]])


@pytest.mark.parametrize("name", ["label", "c"])
def test_too_many_values_are_refused_also_when_several_partitions_have_them_together(name):
    halves = [pa.table({"label": [0, 0], "c": [0, 0], name: values}) for values in ([1, 2], [2, 3])]
    assert gathered(Contingencies(("label", "c"), limit=3), *halves)
    with pytest.raises(DataValueError, match=f"'{name}' has 3 or more distinct values, expected at most 2"):
        gathered(Contingencies(("label", "c"), limit=2), *halves)
