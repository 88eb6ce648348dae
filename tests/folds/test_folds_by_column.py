"""Folds of groups of rows, and folds in the order of time."""

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

import penstock as ps
from penstock.dataset import Dataset
from penstock.dataset.folds import dealing
from penstock.errors import ConfigError, DataValueError, EmptyInputError, SchemaError

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


DAY = datetime.timedelta(days=1)


def timed(times: Any, kind: pa.DataType | None = None) -> Dataset:
    table = pa.table({"row": range(len(times)), "time": pa.array(times, kind)})
    return ENGINE.from_arrow(table, fragment_bytes=5 * max(60, len(times)))


def rows_of(data: Dataset) -> list[int]:
    return data.to_arrow()["row"].to_pylist()


def pairs(data: Dataset, num_folds: int, **how: Any) -> list[tuple[list[int], list[int]]]:
    return [(rows_of(fold.train), rows_of(fold.validation)) for fold in data.folds(num_folds, time="time", **how)]


def shuffled(number: int) -> np.ndarray:
    return np.random.default_rng(number).permutation(number)


def of_scikit_learn(times: np.ndarray, num_folds: int, **how: Any) -> list[tuple[list[int], list[int]]]:
    order = np.argsort(times)
    splits = TimeSeriesSplit(num_folds, **how).split(order)
    return [(sorted(order[train].tolist()), sorted(order[test].tolist())) for train, test in splits]


@pytest.mark.thorough
def test_of_different_times_folds_are_those_of_scikit_learn():
    for rows, num_folds, gap in [(12, 2, 0), (31, 4, 0), (50, 5, 3), (200, 9, 11)]:
        times = shuffled(rows)
        assert pairs(timed(times), num_folds, gap=gap) == of_scikit_learn(times, num_folds, gap=gap)


def test_a_sliding_window_is_that_of_scikit_learn():
    for rows, num_folds in [(12, 2), (31, 4)]:
        times = shuffled(rows)
        expected = of_scikit_learn(times, num_folds, max_train_size=rows // (num_folds + 1))
        assert pairs(timed(times), num_folds, window="sliding") == expected
        assert pairs(timed(times), num_folds, window=1) == expected


def test_a_window_of_some_spans_is_as_long_for_every_fold():
    found = pairs(timed(range(50)), 3, window=2)
    assert found == [(list(range(low, low + 20)), list(range(low + 20, low + 30))) for low in (0, 10, 20)]


def nearest_begin(values: np.ndarray, rank: int) -> int:
    """Return the time that begins a span at a rank, or as near to it as whole times can."""
    ordered = np.sort(values)
    first, last = np.searchsorted(ordered, ordered[rank], "left"), np.searchsorted(ordered, ordered[rank], "right")
    return int(ordered[rank]) + (rank - first > last - rank)


@pytest.mark.thorough
@settings(max_examples=25)
@given(
    times=st.lists(st.integers(-40, 40), min_size=8, max_size=60),
    num_folds=st.integers(2, 4),
    window=st.sampled_from(["expanding", "sliding", 2]),
    gap=st.integers(0, 6),
)
def test_whatever_the_times_no_row_is_trained_on_that_is_not_earlier(times, num_folds, window, gap):
    data, values = timed(times, pa.int16()), np.array(times)
    try:
        found = pairs(data, num_folds, window=window, gap=gap)
    except EmptyInputError:
        return
    before = {"expanding": None, "sliding": 1}.get(window, window)
    spans = num_folds + (before or 1)
    size = len(times) // spans
    begins = [nearest_begin(values, len(times) - size * span) for span in range(spans, 0, -1)]
    for place, (train, held) in enumerate(found):
        first = place + (before or 1)
        end = begins[first + 1] if first + 1 < spans else 99
        low = -99 if before is None else begins[place]
        assert held == [row for row, time in enumerate(times) if begins[first] <= time < end]
        assert train == [row for row, time in enumerate(times) if low <= time < begins[first] - gap]
        assert train
        assert held


MOMENTS = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=6 * place) for place in range(40)]


def test_timestamps_of_every_unit_are_the_same_folds():
    for kind in (*map(pa.timestamp, ("s", "ms", "us", "ns")), pa.timestamp("us", "Europe/Berlin")):
        train, held = pairs(timed(MOMENTS, kind), 3, gap=datetime.timedelta(hours=12))[1]
        assert (train, held) == (list(range(18)), list(range(20, 30))), kind


def test_a_gap_of_part_of_a_day_leaves_out_the_dates_that_are_so_near():
    dates = [datetime.date(2024, 2, 20) + DAY * place for place in range(12)]
    assert pairs(timed(dates), 2, gap=DAY)[0] == ([0, 1, 2], [4, 5, 6, 7])
    assert pairs(timed(dates), 2, gap=1.5 * DAY)[0] == ([0, 1, 2], [4, 5, 6, 7])
    assert pairs(timed(dates), 2, gap=0.5 * DAY)[0] == ([0, 1, 2, 3], [4, 5, 6, 7])


def test_integers_of_every_width_are_times():
    for kind in (pa.int8(), pa.uint8(), pa.uint64(), pa.int64()):
        assert pairs(timed(range(9), kind), 2, gap=1) == [([0, 1], [3, 4, 5]), ([0, 1, 2, 3, 4], [6, 7, 8])], kind


def test_the_ends_of_the_range_of_integers_are_times():
    times = [-(2**63), -1, 0, 2**63 - 1]
    assert pairs(timed(times), 2)[1] == ([0, 1, 2], [3])
    unsigned = [0, 1, 2**63, 2**64 - 1]
    assert pairs(timed(unsigned, pa.uint64()), 2, gap=1)[1] == ([0, 1, 2], [3])


def test_a_horizon_is_the_length_of_what_is_validated_with():
    dates = [datetime.date(2024, 1, 1) + DAY * place for place in (0, 1, 2, 3, 3, 3, 4, 20, 21, 22, 30)]
    data = timed(dates)
    assert pairs(data, 2, horizon=10 * DAY) == [([*range(7)], [7]), ([*range(8)], [8, 9, 10])]
    sliding = pairs(data, 2, horizon=10 * DAY, window=2)
    assert sliding == [([*range(7)], [7]), ([*range(1, 8)], [8, 9, 10])]


def test_rows_of_one_time_are_never_parted():
    assert pairs(timed([5, 1, 1, 1, 5, 5, 9, 9, 1]), 2) == [([1, 2, 3, 8], [0, 4, 5]), ([0, 1, 2, 3, 4, 5, 8], [6, 7])]


@pytest.mark.thorough
def test_times_are_cut_exactly_where_there_are_very_many():
    number = 300_000
    times = np.random.default_rng(2).integers(-(2**60), 2**60, number)
    times[:3] = [-(2**63), 2**63 - 1, 2**63 - 2]
    data = ENGINE.from_arrow(pa.table({"row": range(number), "time": times}), fragment_bytes=2**20)
    folds = data.folds(4, time="time")
    assert [fold.validation.count() for fold in folds] == [60_000] * 4
    assert [fold.train.count() for fold in folds] == [60_000, 120_000, 180_000, 240_000]
    ends = [int(np.sort(times)[60_000 * place]) for place in range(1, 5)]
    assert [min(fold.validation.to_arrow()["time"].to_pylist()) for fold in folds] == ends


# What is refused


def test_a_time_that_is_null_is_told_with_count_file_and_row(tmp_path):
    for name, values in (("a", [3, 4, 5, 6]), ("b", [1, None, 7, None])):
        pq.write_table(pa.table({"time": pa.array(values, pa.int64())}), tmp_path / f"{name}.parquet")
    data = ENGINE.read_parquet(tmp_path, allow_unmanifested=True)
    with pytest.raises(DataValueError, match=r"'time', the time that folds go by, is null in 2 row\(s\)") as caught:
        data.folds(2, time="time")
    assert (caught.value.path, caught.value.row, caught.value.column) == (str(tmp_path / "b.parquet"), 1, "time")


def test_a_fold_that_would_be_empty_is_refused(subtests):
    for times, how, problem in [
        ([], {}, "folds found no rows"),
        ([1, 2], {}, r"2 row\(s\) cannot be cut into 3 spans of time"),
        ([1, 2, 3], {"window": 2}, r"3 row\(s\) cannot be cut into 4 spans of time"),
        ([1] * 9, {}, "fold 0 of 2 has no row to"),
        (range(9), {"gap": 3}, "fold 0 of 2 has no row to train on"),
        (range(9), {"gap": 2**70}, "fold 0 of 2 has no row to train on"),
        ([0, 1, 2, 30], {"horizon": 10}, "fold 0 of 2 has no row to validate with"),
    ]:
        with subtests.test(problem, how=how), pytest.raises(EmptyInputError, match=problem):
            timed(list(times), pa.int64()).folds(2, time="time", **how)


def test_a_wrong_option_is_refused(subtests):
    for kind, how, problem in [
        (pa.int64(), {"gap": DAY}, "gap is datetime.timedelta, expected an integer, since column 'time' is int64"),
        (pa.date32(), {"gap": 3}, "gap is int, expected a datetime.timedelta, since column 'time' is date32"),
        (pa.date32(), {"horizon": "7d"}, "horizon is str, expected a datetime.timedelta"),
        (pa.int64(), {"gap": -1}, "gap is -1, expected one that is not negative"),
        (pa.int64(), {"gap": True}, "gap is bool, expected an integer"),
        (pa.int64(), {"horizon": 0}, "horizon is 0, expected at least one step"),
        (pa.date32(), {"horizon": DAY / 2}, "expected at least one step of column 'time'"),
        (pa.int64(), {"window": "growing"}, "window is 'growing', expected 'expanding', 'sliding' or a positive"),
        (pa.int64(), {"window": 0}, "window is 0"),
        (pa.int64(), {"window": True}, "window is True"),
    ]:
        data = timed([1, 2, 3, 4], pa.int32()).map_partitions(lambda frame: frame, {"time": kind})
        with subtests.test(problem), pytest.raises(ConfigError, match=problem):
            data.folds(2, time="time", **how)


def test_a_column_that_is_no_time_is_refused():
    for kind in (pa.string(), pa.float64(), pa.bool_(), pa.time64("us"), pa.duration("s")):
        with pytest.raises(SchemaError, match="which is no time that folds can go by"):
            ENGINE.from_arrow(pa.table({"time": pa.nulls(4, kind)})).folds(2, time="time")
