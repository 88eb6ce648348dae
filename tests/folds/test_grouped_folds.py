"""Folds by group: the rows of a group are in one fold, and folds have about as many rows."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold

import penstock as ps
from penstock.dataset import Dataset
from penstock.dataset.folds import dealing
from penstock.errors import ConfigError, EmptyInputError, SchemaError

ENGINE = ps.LocalEngine(device="cpu")


def of_groups(groups: Sequence[object], kind: pa.DataType | None = None) -> Dataset:
    table = pa.table({"row": range(len(groups)), "group": pa.array(groups, kind)})
    return ENGINE.from_arrow(table, fragment_bytes=6 * max(50, len(groups)))


def fold_of_each_row(data: Dataset, num_folds: int, **how: object) -> np.ndarray:
    folds = np.full(data.count(), -1)
    for fold in data.folds(num_folds, **{"group": "group", **how}):
        rows = fold.validation.to_arrow()["row"].to_numpy()
        assert (folds[rows] == -1).all()
        folds[rows] = fold.index
    assert (folds >= 0).all()
    return folds


@pytest.mark.thorough
@settings(max_examples=25)
@given(st.lists(st.sampled_from([*range(12), None]), min_size=4, max_size=80), st.integers(2, 4), st.integers())
def test_the_rows_of_a_group_are_in_one_fold(groups, num_folds, seed):
    groups = [*groups, *range(num_folds)]
    folds = fold_of_each_row(of_groups(groups, pa.int32()), num_folds, seed=seed)
    assert set(folds) == set(range(num_folds))
    assert len({*zip(groups, folds.tolist(), strict=True)}) == len(set(groups))


def test_folds_are_as_even_as_those_of_scikit_learn():
    groups = np.random.default_rng(1).geometric(0.05, 2000)
    for num_folds in (2, 3, 7):
        found = np.bincount(fold_of_each_row(of_groups(groups), num_folds))
        splits = GroupKFold(num_folds).split(groups, groups=groups)
        assert sorted(found) == sorted(len(test) for _, test in splits)


@pytest.mark.thorough
def test_of_very_many_groups_sets_are_dealt_and_folds_are_even(monkeypatch):
    monkeypatch.setattr(dealing, "MOST_GROUPS", 64)
    groups = np.random.default_rng(1).integers(0, 1500, 6000)
    data = of_groups(groups)
    folds = fold_of_each_row(data, 4)
    assert len({*zip(groups.tolist(), folds.tolist(), strict=True)}) == len(set(groups.tolist()))
    assert np.ptp(np.bincount(folds)) < 100
    whole = ENGINE.from_arrow(data.to_arrow())
    assert (fold_of_each_row(whole, 4) == folds).all()
    assert len(data.folds(4, group="group").dealer.hashes) <= 64


def test_groups_by_several_columns_are_those_that_agree_in_all():
    first, second = np.random.default_rng(3).integers(0, 6, (2, 400))
    data = ENGINE.from_arrow(pa.table({"row": range(400), "a": first, "b": second.astype(str)}))
    folds = fold_of_each_row(data, 3, group=["a", "b"])
    assert len({*zip(first.tolist(), second.tolist(), folds.tolist(), strict=True)}) == 36
    assert len({*zip(first.tolist(), folds.tolist(), strict=True)}) > 6


def test_values_of_every_plain_type_are_groups_and_null_is_one(subtests):
    for values, kind in [
        ([True, False, None], pa.bool_()),
        (["", "a", None], pa.string()),
        ([0.5, -1.0, None], pa.float32()),
        ([datetime.date(1969, 12, 31), datetime.date(1970, 1, 1), None], pa.date32()),
        ([datetime.datetime(1969, 12, 31), datetime.datetime(1970, 1, 1), None], pa.timestamp("ns")),
        ([2**64 - 1, 0, None], pa.uint64()),
    ]:
        with subtests.test(kind=kind):
            folds = fold_of_each_row(of_groups(values * 5, kind), 3)
            assert sorted(folds[:3]) == [0, 1, 2]
            assert folds.tolist() == folds[:3].tolist() * 5


def test_another_seed_deals_otherwise():
    dealt = [fold_of_each_row(of_groups(range(40)), 2, seed=seed).tolist() for seed in (0, 2, 4, 2**63)]
    assert len({*map(tuple, dealt)}) == 4


def test_zeros_of_both_signs_are_one_group():
    folds = fold_of_each_row(of_groups([0.0, -0.0, 1.0] * 4), 2)
    assert (folds[0::3] == folds[1::3]).all()


@pytest.mark.thorough
def test_a_group_is_in_the_same_fold_whatever_the_width_of_its_type():
    groups = list(range(40))
    small, large = (fold_of_each_row(of_groups(groups, kind), 5) for kind in (pa.int8(), pa.int64()))
    assert (small == large).all()


def test_what_cannot_be_groups_is_refused(subtests):
    lists = of_groups([[1], [2]], pa.list_(pa.int8()))
    for data, num_folds, group, error, problem in [
        (of_groups(["a", None] * 9), 3, "group", EmptyInputError,
         r"there are 2 group\(s\) by 'group', expected one for each of 3 folds"),
        (lists, 2, "group", SchemaError, "by which folds cannot group"),
        (of_groups([1, 2]), 2, [], ConfigError, "selects no column"),
        (of_groups([1, 2]), 2, ["group", "group"], ConfigError, "twice"),
        (of_groups([1, 2]), 2, 3, ConfigError, "named by"),
    ]:  # fmt: skip
        with subtests.test(problem), pytest.raises(error, match=problem):
            data.folds(num_folds, group=group)
