"""Contingencies against pandas' cross tabulation."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock import frames
from penstock.errors import ConfigError, DataValueError
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


def gathered(statistic, *tables):
    states = [statistic.summarise(frames.from_arrow(table)) for table in tables]
    return statistic.finish(statistic.merge(states))


@pytest.mark.parametrize("places", [(), (0, 1, 1, 250), tuple(range(7, 500, 7))])
def test_counts_are_those_of_a_cross_tabulation_however_the_rows_are_cut(places):
    edges = [0, *places, 500]
    parts = [TABLE.slice(start, stop - start) for start, stop in itertools.pairwise(edges)]
    found = gathered(Contingencies(("label", "s", "i", "b")), *parts)
    for name, table in found.items():
        values = table.values.to_pylist()
        known = [value for value in values if value is not None]
        assert values == sorted(known) + [None] * (len(values) - len(known))
        assert table.classes.to_pylist() == [-1, 0, 1, 2]
        codes = [values.index(value) for value in TABLE[name].to_pylist()]
        assert table.counts.tolist() == pd.crosstab(pd.Series(codes), TABLE["label"].to_numpy()).to_numpy().tolist()


@pytest.mark.parametrize("kind", [pa.string(), pa.int8(), pa.bool_(), pa.null()])
def test_empty_partitions_and_columns_of_nulls(kind):
    table = pa.table({"label": ["x", "y", "x"], "c": pa.nulls(3, kind)})
    found = gathered(Contingencies(("label", "c")), table.slice(0, 0), table, table.slice(0, 0))["c"]
    assert (found.values.to_pylist(), found.classes.to_pylist(), found.counts.tolist()) == (
        [None],
        ["x", "y"],
        [[2, 1]],
    )


def test_minus_zero_is_the_class_zero():
    parts = [pa.table({"label": labels, "c": ["a", "a"]}) for labels in ([0.0, -0.0], [-0.0, 1.0])]
    found = gathered(Contingencies(("label", "c")), *parts)["c"]
    assert (found.classes.to_pylist(), found.counts.tolist()) == ([0.0, 1.0], [[3, 1]])


@pytest.mark.parametrize(
    ("labels", "told"),
    [([1, None, 2], "1 values that are null"), ([1.5, 2.0, 0.25], "2 values that are not whole")],
)
def test_labels_that_are_no_classes_are_refused(labels, told):
    with pytest.raises(DataValueError, match=f"'label' has {told}") as caught:
        gathered(Contingencies(("label", "c")), pa.table({"label": labels, "c": ["a", "b", "c"]}))
    assert caught.value.column == "label"


@pytest.mark.parametrize("name", ["label", "c"])
def test_too_many_values_are_refused_also_when_several_partitions_have_them_together(name):
    halves = [pa.table({"label": [0, 0], "c": [0, 0], name: values}) for values in ([1, 2], [2, 3])]
    assert gathered(Contingencies(("label", "c"), limit=3), *halves)
    with pytest.raises(DataValueError, match=f"'{name}' has 3 or more distinct values, expected at most 2"):
        gathered(Contingencies(("label", "c"), limit=2), *halves)


def test_a_label_alone_and_a_limit_of_0_are_refused():
    with pytest.raises(ConfigError, match=r"expected \(label, column, \.\.\.\)"):
        Contingencies(("label",))
    with pytest.raises(ConfigError, match="limit is 0"):
        Contingencies(("label", "c"), limit=0)
