"""GroupSums against sums in fractions."""

import math

import numpy as np
import pyarrow as pa
import pytest
from gathering import cut, gathered

from penstock.statistics.grouped.group_sums import GroupSums

RNG = np.random.default_rng(17)


@pytest.mark.thorough
def test_sums_of_wild_numbers_are_correctly_rounded_however_the_rows_are_cut():
    y = RNG.normal(size=3000) * 10.0 ** RNG.integers(-12, 13, 3000)
    c = RNG.choice(["a", "b", None, "ccc"], 3000)
    table = pa.table({"c": c, "y": y})
    expected = {each: math.fsum(y[c == each]) for each in ("a", "b", "ccc", None)}
    for places in [(), (0, 1, 1, 700), tuple(range(50, 3000, 50))]:
        order = RNG.permutation(3000)
        found = gathered(GroupSums(("c",), "y", "infinite"), *cut(table.take(order), *places))["c"]
        assert found.values.to_pylist() == ["a", "b", "ccc", None]
        assert dict(zip(found.values.to_pylist(), found.sums[:, 0].tolist(), strict=True)) == expected


def test_what_cancels_leaves_the_small_part():
    near = pa.table({"c": ["a"] * 4, "y": [1e16, 1.0, -1e16, 1e-3]})
    assert gathered(GroupSums(("c",), "y", "infinite"), *cut(near, 1, 2))["c"].sums.tolist() == [[1.001]]


def test_classes_are_counted_in_each_category():
    table = pa.table({"c": [1, 2, 1, 1], "d": [True, True, None, False], "y": ["u", "v", "v", "u"]})
    found = gathered(GroupSums(("c", "d"), "y", "not_in", ("u", "v", "w")), *cut(table, 2))
    assert found["c"].sums.tolist() == [[2.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    assert (found["d"].values.to_pylist(), found["d"].counts.tolist()) == ([False, True, None], [1, 2, 1])
    assert found["d"].means.tolist() == [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]


def test_empty_partitions_and_nulls_of_any_type():
    for kind in (pa.string(), pa.int8(), pa.bool_(), pa.null()):
        table = pa.table({"c": pa.nulls(3, kind), "y": [1, 0, 1]})
        found = gathered(GroupSums(("c",), "y", "not_binary"), *cut(table, 0, 3))["c"]
        assert (found.values.to_pylist(), found.counts.tolist(), found.sums.tolist()) == ([None], [3], [[2.0]])
