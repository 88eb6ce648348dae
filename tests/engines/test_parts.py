"""Reductions in parts: the tree of each, and counts of which no worker has more than a part."""

import os
from collections import Counter
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from parts_bodies import Dies, Letters, Watched, in_brackets

from penstock.dataset.tasks import Probe
from penstock.engines.base import TreeReduction
from penstock.statistics import Counts, TopK, ValueCounts
from penstock.statistics.distinct.elements import ElementCounts

FRAGMENTS = 10
ROWS = 20_000
DISTINCT = 12_000
KEYS = np.arange(ROWS) * 7919 % DISTINCT  # each value twice or once, scattered over all fragments


def tree(letter, count):
    reduction = TreeReduction(in_brackets)
    for item in range(count):
        reduction.push(letter + str(item))
    return reduction.result()


def parts_of(letters, count):
    return [tree(letter, count) + "!" for letter in letters]


def test_a_reduction_and_every_part_of_one_has_the_tree_of_a_whole(engine):
    every = (1, 8, 9, 20, 65) if engine.name == "local" else (1, 65)  # the least and the most depth
    for count in every:
        assert engine.reduce_partitioned(Letters(), range(count)) == parts_of("abc", count)
    for count in every[:-1] if engine.name == "local" else (9,):
        assert engine.reduce(str, in_brackets, range(count)) == tree("", count)
    assert engine.reduce_partitioned(Letters(parts=1), range(9)) == parts_of("a", 9)


@pytest.mark.faults
@pytest.mark.parametrize("name", [pytest.param(each, marks=getattr(pytest.mark, each)) for each in ("dask", "spark")])
def test_a_worker_that_dies_while_it_merges_is_not_noticed(engines, name, tmp_path):
    work = Dies(marker=str(tmp_path / "died"))
    assert engines.get(name).reduce_partitioned(work, range(20)) == parts_of("abc", 20)
    assert (tmp_path / "died").exists()


def data(engine, column=None):
    values = pa.array([f"key {key}" for key in KEYS]) if column is None else column
    table = pa.table({"key": values, "small": pa.array(KEYS % 5), "x": pa.array(KEYS * 0.5)})
    fragment_bytes = 44 * ROWS // FRAGMENTS
    return engine.from_arrow(table, fragment_bytes=fragment_bytes)


def counted(dataset, parts, values=ValueCounts, **keep):
    statistics = (values(("key", "small")), Counts(("x",)))
    (states,), log = dataset.probe([Probe(0, statistics, keep, parts)])
    return [statistic.finish(state) for statistic, state in zip(statistics, states, strict=True)], log


def rows(found):
    return list(zip(found.table["value"].to_pylist(), found.table["count"].to_pylist(), strict=True))


def expected(values):
    known = Counter(value for value in values if value is not None)
    return sorted(known.items(), key=lambda item: (-item[1], item[0]))


def test_counts_are_those_of_a_counter_whatever_the_parts_and_no_worker_merges_more_than_one(engine, tmp_path):
    most = []
    for parts in ({}, {"key": 16, "small": 2}):
        (found, counts), log = counted(data(engine), parts, partial(Watched, folder=str(tmp_path)))
        assert rows(found["key"]) == expected(f"key {key}" for key in KEYS)
        assert rows(found["small"]) == expected((KEYS % 5).tolist())
        assert (counts["x"].rows, log.read, log.kept) == (ROWS, ROWS, ROWS)
        of_driver = [] if engine.name == "local" else list(tmp_path.glob(f"*-{os.getpid()}"))
        noted = {path: int(path.read_text()) for path in tmp_path.iterdir()}
        most.append(max(count for path, count in noted.items() if path not in of_driver))
        for path in noted:
            path.unlink()
    assert most[1] < 1.3 * DISTINCT / 16
    assert most[0] > DISTINCT / 2  # on Spark the last eight are merged by the driver


def test_there_are_as_many_parts_as_shards_at_most(local):
    (found, _), _ = counted(data(local), {"key": 64})
    assert rows(found["key"]) == expected(f"key {key}" for key in KEYS)


def test_values_of_every_type_can_be_cut(local, subtests):
    for column in (
        pa.array([f"\xe9{key}" for key in KEYS]),
        pa.array(KEYS - DISTINCT // 2),
        pa.array((KEYS - DISTINCT // 2) * 0.5),
        pa.array(KEYS % 2 == 0),
        pa.array(KEYS, mask=KEYS % 3 == 0),
        pa.array((KEYS % 1000).astype(np.int32), pa.int32()).cast(pa.date32()),  # no hash: stay whole
    ):
        with subtests.test(type=str(column.type), nulls=column.null_count):
            (found, _), _ = counted(data(local, column), {"key": 8})
            assert rows(found["key"]) == expected(column.to_pylist())
            assert found["key"].nulls == column.null_count


@pytest.mark.thorough
def test_parts_of_shards_are_those_of_a_table(local, monkeypatch):
    monkeypatch.setattr("penstock.statistics.distinct.shards.LIMIT", 100)
    (found, _), _ = counted(data(local), {"key": 4})
    assert rows(found["key"]) == expected(f"key {key}" for key in KEYS)


@pytest.mark.one_cluster
def test_what_is_kept_of_parts_is_what_is_kept_of_the_whole(engine):
    each = (TopK(top=7), TopK(at_least=2)) if engine.name == "local" else ()
    for keep in (*each, TopK(top=3000, at_least=2)):
        (found, _), _ = counted(data(engine), {"key": 8}, key=keep)
        wanted = [pair for pair in expected(f"key {key}" for key in KEYS) if pair[1] >= keep.at_least][: keep.top]
        key = found["key"]
        assert rows(key.at_least(keep.at_least).top(keep.top or DISTINCT)) == wanted
        assert len(wanted) <= key.table.num_rows <= 8 * len(wanted)
        assert (key.distinct, key.total) == (DISTINCT, ROWS)


@pytest.mark.one_cluster
def test_elements_of_lists_are_counted_in_parts(engine):
    lists = pa.array([[f"w{key % 900}", f"w{key % 7}"] if key % 11 else None for key in KEYS])
    statistic = ElementCounts(("key",))
    dataset = engine.from_arrow(pa.table({"key": lists}), fragment_bytes=28 * ROWS // 10)
    known = [each for each in lists.to_pylist() if each is not None]
    for parts in ({}, {"key": 8}) if engine.name == "local" else ({"key": 8},):
        ((state,),), _ = dataset.probe([Probe(0, (statistic,), {}, parts)])
        found = statistic.finish(state)["key"]
        assert rows(found) == expected(word for words in known for word in words)
        assert (found.lists, found.nulls) == (len(known), lists.null_count)
