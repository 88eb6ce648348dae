"""What is gathered for each value is the same to the bit in one table, in shards and in parts that are merged apart."""

import math

import numpy as np
import pyarrow as pa
import pytest
from gathering import states_of

from penstock import frames
from penstock.frames import ROW
from penstock.statistics import Counts, Folded, NullIf, TopK, ValueCounts
from penstock.statistics.distinct import shards
from penstock.statistics.distinct.elements import ElementCounts
from penstock.statistics.distinct.partitionable import as_partitionable
from penstock.statistics.grouped.before_after import BEYOND, UP_TO, BeforeAfter
from penstock.statistics.grouped.group_moments import GroupMoments
from penstock.statistics.grouped.group_sums import GroupSums

RNG = np.random.default_rng(23)
ROWS = 1500
Y = RNG.normal(size=ROWS) * 10.0 ** RNG.integers(-12, 13, ROWS)
S = [f"key {key}" if key % 50 else None for key in RNG.integers(0, 250, ROWS).tolist()]
TABLE = pa.table(
    {
        "s": S,
        "i": pa.array(RNG.integers(-90, 90, ROWS), pa.int16()),
        "w": [[each, "b"] for each in S],
        "y": Y,
        "day": np.arange(ROWS) % 9,
        ROW: np.arange(ROWS),
    }
)
PIECES = [TABLE.slice(start, 350) for start in range(0, ROWS, 350)]
SUMS = GroupSums(("s", "i"), "y", "infinite")
MOMENTS = GroupMoments(("s", "y"))


def summarised(statistic, tables=PIECES):
    return states_of(statistic, *tables)


def in_parts(statistic, parts, tables=PIECES):
    partitioned = [statistic.partition(state, parts) for state in summarised(statistic, tables)]
    return statistic.concat([statistic.merge(list(pieces)) for pieces in zip(*partitioned, strict=True)])


@pytest.fixture(params=["tables", "shards"])
def form(request, monkeypatch):
    """The form of states: very many values are in shards."""
    if request.param == "shards":
        monkeypatch.setattr(shards, "LIMIT", 20)


@pytest.mark.thorough
def test_sums_of_wild_numbers_are_correctly_rounded_but_for_a_last_digit_and_have_the_same_bits_in_any_form(form):
    whole = SUMS.finish(SUMS.merge(summarised(SUMS)))
    exact = [math.fsum(y for s, y in zip(S, Y, strict=True) if s == each) for each in whole["s"].values.to_pylist()]
    assert len(exact) == len(set(S))
    np.testing.assert_array_max_ulp(whole["s"].sums[:, 0], np.array(exact), maxulp=1)
    for parts in ({}, {"s": 4}, {"s": 16, "i": 2}):
        found = SUMS.finish(in_parts(SUMS, parts))
        for name in ("s", "i"):
            np.testing.assert_array_equal(found[name].sums, whole[name].sums)


def test_groups_in_parts_have_the_bits_of_groups_together():
    whole = MOMENTS.finish(in_parts(MOMENTS, {"s": 1}))
    for parts in (2, 16):
        found = MOMENTS.finish(in_parts(MOMENTS, {"s": parts}))
        assert whole.keys.equals(found.keys)
        for name, values in whole.parts["y"].items():
            np.testing.assert_array_equal(found.parts["y"][name], values, err_msg=name)


def test_no_value_is_in_two_parts():
    parts = SUMS.partition(summarised(SUMS)[0], {"s": 8, "i": 8})
    for name in ("s", "i"):
        held = [value for part in parts for value in part[name]["table"]["value"].to_pylist()]
        assert len(held) == len(set(held)) > 100
        assert sum(part[name]["table"].num_rows > 0 for part in parts) == 8


@pytest.mark.thorough
def test_elements_are_sharded_and_partitioned_like_other_values(form):
    statistic = ElementCounts(("w",))
    found = statistic.finish(in_parts(statistic, {"w": 4}))["w"]
    known = [each for each in S if each is not None]
    expected = {"b": ROWS, **{each: known.count(each) for each in known}}
    told = dict(zip(found.table["value"].to_pylist(), found.table["count"].to_pylist(), strict=True))
    assert (told, found.lists, found.nulls) == (expected, ROWS, 0)


@pytest.mark.thorough
def test_folds_in_parts_have_the_bits_of_folds_together(form):
    folded = Folded.of([SUMS, Counts(("y",))], num_folds=2, seed=2)
    whole, found = (folded.finish(in_parts(folded, parts)) for parts in ({}, {"s": 4, "i": 2}))
    assert whole.keys() == found.keys()
    for key, (sums, *others) in whole.items():
        assert others == list(found[key][1:])
        for name, each in sums.items():
            assert each.values.equals(found[key][0][name].values)
            np.testing.assert_array_equal(each.sums, found[key][0][name].sums)


def test_rows_that_are_refused_are_told_once_for_all_parts():
    early, late = PIECES[0], PIECES[1]
    bad = late.set_column(3, "y", pa.array([math.inf, *Y[351:700]]))
    merged = in_parts(SUMS, {"s": 8, "i": 4}, [early, bad])
    with pytest.raises(ValueError, match="'y' has 1 values that are infinite"):
        SUMS.finish(merged)


@pytest.mark.thorough
def test_sides_in_parts_are_those_together():
    parted = BeforeAfter.of("day", 4, [Counts(("y",)), ValueCounts(("s",))])
    whole, found = (parted.finish(in_parts(parted, parts)) for parts in ({}, {"s": 8}))
    for side in (UP_TO, BEYOND):
        assert whole[side][0] == found[side][0]
        assert whole[side][1]["s"].table.equals(found[side][1]["s"].table)
        assert whole[side][1]["s"].nulls == found[side][1]["s"].nulls


@pytest.mark.thorough
def test_counts_that_are_read_off_are_those_that_are_counted(form, subtests):
    counts = ValueCounts(("s", "i"))
    counted = counts.finish(counts.merge(summarised(counts)))
    sides = BeforeAfter.of("day", 2, [ValueCounts(("i",)), ValueCounts(("s",))])
    for statistic in (SUMS, Folded.of([SUMS], num_folds=2), sides):
        with subtests.test(repr(statistic)):
            read = counts.finish(statistic.value_counts(in_parts(statistic, {"s": 2}), ("s", "i")))
            for name in ("s", "i"):
                assert read[name].nulls == counted[name].nulls == TABLE[name].null_count
                assert read[name].table.equals(counted[name].table)


def test_the_footprint_of_a_value_is_that_in_all_folds():
    assert Folded.of([SUMS], num_folds=4).footprints()["s"].of(10.0) == 4 * (10 + 8 + 16)
    assert GroupSums(("s",), "c", "not_in", ("a", "b", "c")).footprints()["s"].bytes == 8 + 3 * 16
    assert MOMENTS.footprints()["s"].of(10.0) == 10 + 8 * 8
    assert GroupMoments(("s", "i", "y"), keys=2).footprints() == {}


def test_a_value_that_stands_for_null_is_as_null_in_any_form(form):
    statistic = NullIf.of(ValueCounts(("s", "i"), keep=TopK(top=2)), "key 7").with_columns(("s",))
    nulls = pa.table({"s": [None if each == "key 7" else each for each in S]})
    oracle = ValueCounts(("s",)).finish(ValueCounts(("s",)).summarise(frames.from_arrow(nulls)))["s"]
    counts = as_partitionable(statistic)
    states = [counts.partition(state, {"s": 4}) for state in summarised(statistic)]
    merged = [counts.merge_consuming(list(pieces)) for pieces in zip(*states, strict=True)]
    assert statistic.finish(counts.concat(merged))["s"].table.equals(oracle.table)
    pruned = [counts.prune(state, counts.retention()) for state in merged]
    kept = statistic.finish(counts.concat(pruned))["s"]
    assert (kept.table.slice(0, 2).equals(oracle.table.slice(0, 2)), kept.nulls) == (True, oracle.nulls)
    assert kept.table.num_rows < oracle.table.num_rows
