"""Stratified folds and splits, and samples: of every class its share, as near as whole rows can be."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from unittest.mock import Mock

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.dataset import Dataset
from penstock.dataset.folds.blocks import DealBlocks, InBlocks
from penstock.dataset.folds.keys import RowHash
from penstock.dataset.folds.order_statistics import LAST, order_statistics
from penstock.dataset.folds.stratified import allocate
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, EmptyInputError, SchemaError

ENGINE = ps.LocalEngine(device="cpu")


def labelled(labels: Sequence[object], kind: pa.DataType | None = None, engine: Engine = ENGINE) -> Dataset:
    """Rows with labels, in four fragments or fewer."""
    table = pa.table({"row": range(len(labels)), "label": pa.array(labels, kind)})
    return engine.from_arrow(table, fragment_bytes=9 * max(40, len(labels)))


def counts(data: Dataset) -> Counter[object]:
    return Counter(data.to_arrow()["label"].to_pylist())


def rows_of(data: Dataset) -> list[int]:
    return data.to_arrow()["row"].to_pylist()


# Folds


@pytest.mark.thorough
@settings(max_examples=25)
@given(st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=2, max_size=60), st.integers(2, 7), st.integers())
def test_each_fold_has_its_share_of_every_class_and_of_all_rows(labels, num_folds, seed):
    num_folds = min(num_folds, len(labels))
    folds = labelled(labels, pa.string()).folds(num_folds, seed=seed, stratify="label")
    held = [counts(fold.validation) for fold in folds]
    for label, number in Counter(labels).items():
        assert {each[label] for each in held} <= {number // num_folds, -(-number // num_folds)}
    assert {each.total() for each in held} <= {len(labels) // num_folds, -(-len(labels) // num_folds)}
    assert sorted(row for fold in folds for row in rows_of(fold.validation)) == list(range(len(labels)))


def test_classes_are_of_any_plain_type(subtests):
    for values, kind in [
        ([3, -1, None], pa.int8()),
        ([2**64 - 1, 0, None], pa.uint64()),
        ([True, False, None], pa.bool_()),
        ([0.5, -0.0, None], pa.float32()),
        (["é", "", None], pa.string()),
        ([None], pa.null()),
    ]:
        with subtests.test(kind=kind):
            folds = labelled(values * 20, kind).folds(4, stratify="label")
            assert [counts(fold.validation) for fold in folds] == [Counter(dict.fromkeys(values, 5))] * 4


def test_zeros_of_both_signs_are_one_class():
    folds = labelled([0.0, -0.0] * 6).folds(4, stratify="label")
    assert [counts(fold.validation).total() for fold in folds] == [3] * 4


def test_a_seed_deals_other_rows_of_the_same_numbers():
    data = labelled(["a", "b"] * 100)
    one, other = (rows_of(data.folds(4, seed=seed, stratify="label")[0].validation) for seed in (1, 2))
    assert len(one) == len(other) == 50
    assert len(set(one) & set(other)) < 25


def test_rows_of_a_class_are_drawn_from_all_over_the_dataset():
    rows = rows_of(labelled(["a"] * 4000).folds(4, stratify="label")[0].validation)
    thirds = np.histogram(rows, bins=4, range=(0, 4000))[0]
    assert thirds.min() > 200  # of 250 on average: 4.3 standard deviations


def test_stratified_folds_are_not_those_by_row():
    data = labelled(["a"] * 2000)
    by_row, by_class = (set(rows_of(data.folds(4, **how)[0].validation)) for how in ({}, {"stratify": "label"}))
    assert len(by_row & by_class) < 200  # of 500, a quarter of which are shared by chance


def test_very_many_classes_are_refused():
    data = ENGINE.from_arrow(pa.table({"label": range(10_001)}))
    with pytest.raises(DataValueError, match="'label' has 10001 or more classes, expected at most 10000"):
        data.folds(2, stratify="label")


def test_a_column_of_lists_has_no_classes():
    with pytest.raises(SchemaError, match=r"'label' is list<.*>, by which folds cannot stratify"):
        labelled([[1], [2]], pa.list_(pa.int64())).folds(2, stratify="label")


def test_steps_that_give_other_classes_when_they_are_run_again_are_told():
    dealer = labelled(["a", "b"] * 5).folds(2, stratify="label").dealer
    other = labelled(["a"] * 9 + ["z"]).with_step(DealBlocks(dealer)).with_step(InBlocks((0,)))
    with pytest.raises(DataValueError, match="'label' has classes that were not there") as caught:
        other.count()
    assert caught.value.row == 9


# Order statistics, which all this rests on


@pytest.mark.parametrize("rows, limit, scans", [(1, 4, 1), (100, 100, 1), (700, 4, 16), (700, 64, 3)])
def test_rows_at_ranks_are_found_exactly_in_however_many_scans(monkeypatch, rows, limit, scans):
    monkeypatch.setattr("penstock.dataset.folds.order_statistics.MOST_KEYS", limit)
    labels = ["abc"[row % 11 % 3] if row % 7 else None for row in range(rows)]
    hashes = RowHash(4).values(nw.from_native(pa.table({"__row__": range(rows)}), eager_only=True))
    expected = {
        label: sorted(int(each) for each, other in zip(hashes, labels, strict=True) if other == label)
        for label in set(labels)
    }
    data, gather = labelled(labels, pa.string()), Mock(wraps=Dataset.gather)
    monkeypatch.setattr(Dataset, "gather", lambda *arguments, **options: gather(*arguments, **options))
    found = order_statistics(data, RowHash(4), lambda _, sizes: [[0, n // 3, n // 2, n - 1, n] for n in sizes], "label")
    assert gather.call_count == scans
    assert dict(zip(found.classes, found.rows, strict=True)) == {label: len(of) for label, of in expected.items()}
    for label, keys in zip(found.classes, found.keys, strict=True):
        of = expected[label]
        assert keys == (of[0], of[len(of) // 3], of[len(of) // 2], of[-1], LAST)


# Allocation


@pytest.mark.thorough
@given(st.lists(st.integers(0, 10**12), max_size=20), st.lists(st.integers(1, 1000), min_size=1, max_size=6))
@example([121, 6], [1, 221, 461, 700])  # a share of a whole number of rows, in a part that is most behind
def test_an_allocation_is_within_one_row_of_every_share(rows, weights):
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    allocated = allocate(rows, shares)
    for number, parts in zip(rows, allocated, strict=True):
        assert sum(parts) == number
        assert all(abs(part - number * share) < 1 for part, share in zip(parts, shares, strict=True))
    totals = [sum(parts) for parts in zip(*allocated, strict=True)] or [0] * len(shares)
    assert all(abs(total - sum(rows) * share) < len(shares) for total, share in zip(totals, shares, strict=True))


@pytest.mark.thorough
@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.data())
def test_of_two_parts_the_first_has_exactly_its_share_if_it_is_whole(rows, data):
    total = max(1, sum(rows))
    n = data.draw(st.integers(0, total))
    if sum(rows):
        first = sum(parts[0] for parts in allocate(rows, [Fraction(n, total), 1 - Fraction(n, total)]))
        assert first == n


# Splits


@pytest.mark.thorough
@settings(max_examples=25)
@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=80),
    st.lists(st.sampled_from([0.2, 0.8, 1, 3, 0.1]), min_size=1, max_size=4),
)
def test_parts_of_a_stratified_split_have_their_shares_of_each_class(labels, weights):
    parts = labelled(labels).split(weights, seed=2, stratify="label")
    assert sorted(row for part in parts for row in rows_of(part)) == list(range(len(labels)))
    for weight, part in zip(weights, parts, strict=True):
        for label, number in Counter(labels).items():
            exact = number * weight / math.fsum(weights)
            assert abs(counts(part)[label] - exact) < 1 + 1e-9


def test_a_split_of_a_stratified_split_is_dealt_anew():
    half = labelled(["a", "b"] * 2000).split([1, 1], seed=4, stratify="label")[0]
    quarters = half.split([1, 1], seed=4, stratify="label")
    assert [part.count() for part in quarters] == [1000, 1000]
    assert 400 < half.split([1, 1], seed=4)[0].folds(2, seed=4, stratify="label")[0].validation.count() < 600


def test_a_stratified_split_and_samples_are_the_same_on_every_engine(distributed_engine):
    labels = ["ab"[row % 5 == 0] for row in range(300)]
    here, there = (labelled(labels, engine=engine) for engine in (ENGINE, distributed_engine))
    expected = [rows_of(part) for part in here.split([2, 1], seed=1, stratify="label")]
    assert [len(rows) for rows in expected] == [200, 100]
    assert [rows_of(part) for part in there.split([2, 1], seed=1, stratify="label")] == expected
    assert rows_of(there.sample(n=17, seed=1)) == rows_of(here.sample(n=17, seed=1))
    here, there = (data.sample({"a": 0.2, "b": 0.1}, seed=3, stratify="label") for data in (here, there))
    assert rows_of(there) == rows_of(here)


# Samples


@pytest.mark.parametrize("stratify", [None, "label"])
def test_a_sample_has_exactly_so_many_rows_in_their_order(stratify):
    for n in (1, 7, 99, 200):
        rows = rows_of(labelled(["a", "b", "b", None] * 50).sample(n=n, seed=3, stratify=stratify))
        assert len(rows) == n
        assert rows == sorted(rows)


def test_a_sample_is_drawn_from_all_over_the_dataset():
    rows = rows_of(labelled(["a"] * 4000).sample(n=1000, seed=0))
    assert np.histogram(rows, bins=4, range=(0, 4000))[0].min() > 190


def test_samples_of_a_seed_grow_row_by_row():
    data = labelled(["a"] * 300)
    assert set(rows_of(data.sample(n=20, seed=1))) < set(rows_of(data.sample(n=50, seed=1)))


def test_a_sample_by_share_reads_nothing_and_is_the_first_part_of_the_split():
    data = labelled(["a"] * 300)
    assert data.sample(0.3, seed=6).steps == ()
    assert rows_of(data.sample(0.3, seed=6)) == rows_of(data.split([0.3, 0.7], seed=6)[0])


def test_a_stratified_sample_has_its_share_of_each_class():
    data = labelled(["a"] * 150 + [None] * 50 + ["c"] * 4)
    assert counts(data.sample(0.1, seed=1, stratify="label")) == {"a": 15, None: 5}
    assert counts(data.sample(n=51, seed=1, stratify="label")) == {"a": 38, None: 12, "c": 1}


@pytest.mark.thorough
def test_a_sample_of_a_sample_is_drawn_anew():
    half = labelled(["a"] * 2000).sample(n=1000, seed=1)
    folds = half.folds(2, seed=1, stratify="label")
    assert len(rows_of(half.sample(n=500, seed=1))) == 500
    assert 200 < len(set(rows_of(half.sample(n=500, seed=1))) & set(rows_of(folds[0].validation))) <= 500


def test_a_sample_of_filtered_rows_is_of_these():
    data = labelled(["a", "b"] * 100).filter(nw.col("label") == "b")
    assert counts(data.sample(n=30, seed=1)) == {"b": 30}


@pytest.mark.thorough
def test_a_sample_and_folds_of_one_seed_have_nothing_to_do_with_each_other():
    data = labelled(["a"] * 2000)
    sizes = [fold.validation.count() for fold in data.sample(n=500, seed=0).folds(5, seed=0)]
    assert min(sizes) > 60


def test_a_sample_that_cannot_be_is_refused(subtests):
    for how, problem in [
        ({}, "a fraction of the rows or their number"),
        ({"fraction": 0.5, "n": 3}, "a fraction of the rows or their number"),
        ({"fraction": 0}, "fraction is 0, expected a number above 0 and up to 1"),
        ({"fraction": 1.5}, "fraction is 1.5"),
        ({"fraction": float("nan")}, "fraction is nan"),
        ({"fraction": True}, "fraction is True"),
        ({"n": 0}, "n is 0, expected an integer of at least 1"),
        ({"n": 2.0}, "n is 2.0"),
        ({"n": 11}, r"n is 11, but there are 10 row\(s\) to draw from"),
        ({"n": 1, "seed": "x"}, "seed is 'x', expected an integer"),
        ({"fraction": {"a": 0.5}}, "fraction is .*, by class, and there is no column of classes"),
        ({"fraction": {"a": 1.5}, "stratify": "label"}, "fraction of class 'a' is 1.5, expected a number from 0 to 1"),
        ({"fraction": {7: 0.5}, "stratify": "label"}, "names the class 7, which column 'label' of type string cannot"),
    ]:
        with subtests.test(problem, how=how), pytest.raises(ConfigError, match=problem):
            labelled(["a"] * 10).sample(**{"seed": 1, **how})


def test_a_sample_of_no_rows_is_refused():
    with pytest.raises(EmptyInputError, match="sample found no rows"):
        labelled(["a"]).filter(nw.col("label") == "z").sample(n=1, seed=1)


def test_a_sample_of_rows_without_numbers_is_refused():
    data = labelled(["a"] * 4).map_partitions(lambda frame: frame, {"row": "int64", "label": "string"})
    for how in ({"n": 1}, {"fraction": 0.5}):
        with pytest.raises(ConfigError, match="rows have no numbers"):
            data.sample(seed=1, **how)


# Samples by class


@pytest.mark.thorough
@settings(max_examples=20)
@given(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=60), st.floats(0, 1), st.integers(0, 9))
def test_of_each_class_its_own_fraction_is_drawn_to_within_half_a_row(labels, fraction, seed):
    found = counts(labelled(labels, pa.string()).sample({"a": fraction, None: 1.0}, seed=seed, stratify="label"))
    rows = Counter(labels)
    assert found[None] == rows[None]
    assert found["b"] == 0
    assert abs(found["a"] - fraction * rows["a"]) <= 0.5


@pytest.mark.thorough
def test_a_larger_fraction_has_the_rows_of_a_smaller_one_in_any_partitions():
    labels = ["a", "b", "b", "b"] * 100
    small, large = ({"a": 0.2, "b": 0.1}, {"a": 0.9, "b": 0.3})
    table = pa.table({"row": range(400), "label": labels})
    one, other = (ENGINE.from_arrow(table, fragment_bytes=size) for size in (500, 10**6))
    drawn = [rows_of(data.sample(each, seed=3, stratify="label")) for data in (one, other) for each in (small, large)]
    assert drawn[:2] == drawn[2:]
    assert set(drawn[0]) < set(drawn[1])
    assert (len(drawn[0]), len(drawn[1])) == (50, 180)


def test_a_class_that_no_row_has_draws_none():
    assert counts(labelled(["a"] * 10).sample({"a": 0.5, "z": 1.0}, seed=1, stratify="label")) == {"a": 5}
