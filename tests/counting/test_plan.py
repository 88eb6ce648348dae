"""The way in which each column is counted: chosen from estimates and a budget, told before, and kept to."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from penstock import stages as st
from penstock.devices import memory_limit
from penstock.engines.local import LocalEngine
from penstock.errors import ConfigError
from penstock.pipeline import Pipeline
from penstock.pipeline.cardinality import ColumnCount, CountOptions, estimates
from penstock.pipeline.cardinality.estimates import Estimate
from penstock.statistics import TopK
from penstock.statistics.distinct.footprint import Found, Held

ROWS = 30_000
DISTINCT = 20_000
KEYS = np.random.default_rng(3).permutation(np.arange(ROWS) % DISTINCT)
STATE = DISTINCT * (9 + 4 + 8)  # bytes of "key 12345", its offset and its count
BUDGET = CountOptions(memory_budget=3 * STATE)
KEEP = {"max_categories": 50, "min_frequency": 2}


class Watching(LocalEngine):
    """Notes the label of everything that is read."""

    def __init__(self):
        super().__init__(device="cpu")
        self.labels = []

    def map(self, task, items, *, label="map"):
        self.labels.append(label)
        return super().map(task, items, label=label)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(estimates, "_LEAST", 6_000)


def data(engine, rows=ROWS, fragments=4):
    table = pa.table({"key": [f"key {key}" for key in 10_000 + KEYS[:rows]], "few": KEYS[:rows] % 7})
    return engine.from_arrow(table, fragment_bytes=36 * rows // fragments)


def in_order():
    counted = Counter(f"key {key}" for key in 10_000 + KEYS)
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))


def lines(text, start):
    return [line.strip() for line in text.splitlines() if line.strip().startswith(start)]


def test_of_few_rows_nothing_is_read_to_decide():
    engine = Watching()
    told = Pipeline(st.StringIndexer(["key", "few"])).explain(data(engine))
    assert lines(told, "counts") == ["counts key, few: at most 30,000 values; exact, in one table"]
    assert engine.labels == []


def test_of_many_rows_a_sample_is_read_and_its_estimate_told(small):
    engine = Watching()
    told = Pipeline(st.StringIndexer(["key", "few"])).explain(data(engine), counting=BUDGET)
    key, few = lines(told, "counts")
    assert key.startswith("counts key: about ")
    assert key.endswith(" by 6,000 rows; exact, in one table")
    assert few.startswith("counts few: about 7 values")
    assert lines(told, "budget") == ["budget of counts: 1.2 MiB"]
    assert engine.labels == ["estimate"]


def test_two_fragments_are_enough_for_parts(small):
    engine = Watching()
    engine.in_process = False
    told = Pipeline(st.CountEncoder("key")).explain(data(engine, fragments=2), counting=BUDGET)
    assert lines(told, "counts key")[0].endswith(" parts merged apart")


def test_values_that_a_worker_holds_in_any_case_are_not_estimated():
    engine = Watching()
    engine.in_process = False
    just = CountOptions((engine.arity + 1) * ROWS * (28 + 8))
    assert "at most 30,000 values" in Pipeline(st.CountEncoder("key")).explain(data(engine), counting=just)
    assert engine.labels == []


def test_all_values_of_one_part_come_to_the_driver_and_of_several_those_that_are_kept():
    known = Estimate(DISTINCT, DISTINCT, 13.0, ROWS)
    count = ColumnCount(0, "key", ROWS, 13.0, Held(), estimate=known, keep=TopK(50))
    assert (count.brought_bytes, replace(count, parts=4).brought_bytes) == (STATE, 4 * 50 * (13 + 8))


def test_what_was_found_is_noted_where_it_is_known():
    count = ColumnCount(0, "key", ROWS, 13.0, Held())
    assert count.counted(None) == count
    assert count.counted(Found(7, 2)) == replace(count, found=7, error=2)


@pytest.mark.thorough
def test_workers_count_in_parts_what_is_more_than_one_may_hold(engine, small):
    model = Pipeline(st.CountEncoder(["key", "few"])).fit(data(engine), counting=BUDGET)
    key, few = model.report.counts
    assert (key.column, key.found, few.column, few.found) == ("key", DISTINCT, "few", 7)
    assert (key.parts > 1) == (engine.name != "local")
    assert few.parts == 1
    table = model.fitted[0]["counts"]["key"]
    assert list(zip(*table.to_pydict().values(), strict=True)) == in_order()
    assert model.digest == Pipeline(st.CountEncoder(["key", "few"])).fit(data(LocalEngine(device="cpu"))).digest


KEPT = [
    (st.StringIndexer("key", **KEEP), BUDGET),
    (st.StringIndexer(["key"], min_frequency=2), BUDGET),
    (st.StringIndexer(["key", "few"], max_categories=9, min_frequency=0.1), BUDGET),
    (st.OneHotEncoder("key", max_categories=5), BUDGET),
    (st.Imputer("key", strategy="mode"), BUDGET),
    (st.TargetEncoder("key", label="few", target_type="continuous", num_folds=None), CountOptions(15 * STATE)),
    (st.TargetEncoder("key", label="few", target_type="continuous", num_folds=3, seed=1), CountOptions(15 * STATE)),
    (st.GroupStatistics("few", by="key"), CountOptions(15 * STATE)),
]


@pytest.mark.dask
def test_what_is_kept_or_added_up_by_values_in_parts_makes_the_same_model(engines, small, subtests):
    here, there = (data(engines.get(name)) for name in ("local", "dask"))
    for stage, counting in KEPT:
        with subtests.test(repr(stage)):
            learned = Pipeline(stage).fit(there, counting=counting)
            count = learned.report.counts[0]
            assert count.parts > 1
            assert (count.column, count.found) == ("key", DISTINCT)
            assert learned.digest == Pipeline(stage).fit(here).digest


@pytest.mark.dask
def test_stages_that_keep_otherwise_share_one_count(engines, small):
    for kept, categories in [({"max_categories": 3}, 3), ({"min_frequency": 2}, ROWS - DISTINCT)]:
        stages = [st.StringIndexer("key", **kept, output_columns=["i"]), st.CountEncoder("key")]
        learned = Pipeline(*stages).fit(data(engines.get("dask")), counting=BUDGET)
        assert len(learned.report.counts) == 1
        assert learned.fitted[0]["categories"]["key"].num_rows == categories
        assert learned.fitted[1]["counts"]["key"].num_rows == DISTINCT


@pytest.mark.dask
def test_statistics_that_are_kept_have_rare_values_too(engines, small):
    stage, dataset = st.StringIndexer("key", min_frequency=2), data(engines.get("dask"))
    learned = Pipeline(stage).fit(dataset, counting=CountOptions(6 * STATE), keep_statistics=True)
    assert learned.report.counts[0].parts > 1
    assert learned.fitted[0]["categories"]["key"].num_rows == ROWS - DISTINCT
    twice = learned.refit(dataset, counting=CountOptions(15 * STATE))
    assert twice.fitted[0]["categories"]["key"].num_rows == DISTINCT


@pytest.mark.dask
def test_values_that_are_rare_in_each_column_are_kept_for_a_joint_vocabulary(engines, small):
    table = pa.table({"a": [f"key {key}" for key in range(ROWS)], "b": [f"key {key}" for key in range(ROWS)]})
    dataset = engines.get("dask").from_arrow(table, fragment_bytes=56 * ROWS // 10)
    stage = st.StringIndexer(["a", "b"], joint=True, min_frequency=2)
    learned = Pipeline(stage).fit(dataset, counting=CountOptions(8 * STATE))
    assert learned.report.counts[0].parts > 1
    assert learned.fitted[0]["categories"]["a"].num_rows == ROWS


def test_what_cannot_fit_here_is_refused_before_it_is_read(small):
    message = r"at least \d+\.\d KiB in this process, but the budget is 64\.0 KiB"
    for stage in (st.CountEncoder("key"), st.StringIndexer("key", **KEEP)):
        engine = Watching()
        with pytest.raises(ConfigError, match=message) as error:
            Pipeline(stage).fit(data(engine), counting=CountOptions("64KiB"))
        assert error.value.column == "key"
        assert "HashBucket" in error.value.hint
        assert engine.labels == ["estimate"]


@pytest.mark.dask
def test_a_few_values_of_each_part_fit_where_all_do_not(engines, small):
    dataset, tight = data(engines.get("dask")), CountOptions(STATE)
    with pytest.raises(ConfigError, match="in this process"):
        Pipeline(st.CountEncoder("key")).fit(dataset, counting=tight)
    learned = Pipeline(st.StringIndexer("key", max_categories=20)).fit(dataset, counting=tight)
    assert [value for value, _ in in_order()[:20]] == learned.fitted[0]["categories"]["key"]["value"].to_pylist()


@pytest.mark.dask
def test_what_no_part_makes_small_enough_is_refused(engines, small):
    with pytest.raises(ConfigError, match=r"in a task, but the budget is 16\.0 KiB"):
        Pipeline(st.StringIndexer("key", max_categories=2)).fit(
            data(engines.get("dask")), counting=CountOptions("16KiB")
        )


def test_explaining_tells_what_will_be_refused(small):
    told = Pipeline(st.CountEncoder("key")).explain(data(LocalEngine(device="cpu")), counting=CountOptions("64KiB"))
    assert lines(told, "refused")[0].startswith("refused: counting values takes at least")


def test_what_is_hashed_is_told_as_well():
    told = Pipeline(st.HashBucket("key", num_buckets=100)).explain(data(LocalEngine(device="cpu")))
    assert told.splitlines()[-1] == "hashes key by HashBucket: nothing is counted"


def test_a_later_scan_is_decided_on_when_it_begins():
    stages = [st.Imputer("few", strategy="mode"), st.StringIndexer("few")]
    told = Pipeline(*stages).explain(data(LocalEngine(device="cpu")))
    assert lines(told.split("scan 2")[1], "counts") == ["counts few: in a way that is chosen when the scan begins"]


def test_stages_that_learn_nothing_are_applied_to_the_sample(small):
    stages = [st.HashBucket("key", num_buckets=10, output_columns=["h"]), st.CountEncoder("h")]
    told = Pipeline(*stages).explain(data(LocalEngine(device="cpu")), counting=CountOptions("64KiB"))
    assert lines(told, "counts h")[0].startswith("counts h: about 10 values")


def test_in_one_process_nothing_is_read_where_all_values_could_be_different_and_fit():
    engine = Watching()
    twice = CountOptions(2 * ROWS * (28 + 8))  # of what a string is expected to take, with its count
    told = Pipeline(st.CountEncoder("key")).explain(data(engine), counting=twice)
    assert lines(told, "counts key") == ["counts key: at most 30,000 values; exact, in one table"]
    assert engine.labels == []


def test_a_budget_is_a_size_and_half_of_the_memory_unless_it_is_given():
    for budget in (0, -5, "0B", "much"):
        with pytest.raises(ConfigError):
            CountOptions(budget)
    assert [CountOptions().of(memory) for memory in (2**32, 10)] == [2**31, 5]


def test_the_memory_of_a_task_is_known(engine):
    assert 2**27 < engine.task_memory <= memory_limit()


@pytest.mark.thorough
def test_a_sketch_is_told_and_takes_no_estimate(small):
    engine = Watching()
    stage = st.StringIndexer("key", max_categories=10, sketch_size=100)
    told = Pipeline(stage).explain(data(engine), counting=CountOptions("64KiB"))
    assert lines(told, "counts") == [
        "counts key: a sketch of the 100 most frequent values, 3.5 KiB; counts may be too low"
    ]
    learned = Pipeline(stage).fit(data(engine), counting=CountOptions("64KiB"))
    assert "estimate" not in engine.labels
    assert 0 < learned.report.counts[0].error <= ROWS / 101
    assert str(learned.report.counts[0]).endswith(f"counts may be too low by {learned.report.counts[0].error:,} rows")


@pytest.mark.thorough
def test_a_column_can_be_sketched_and_counted():
    stages = [
        st.StringIndexer("key", max_categories=10, sketch_size=100, output_columns=["top"]),
        st.StringIndexer("key", output_columns=["all"]),
    ]
    sketched, counted = sorted(
        Pipeline(*stages).fit(data(LocalEngine(device="cpu"))).report.counts, key=lambda c: -c.error
    )
    assert (sketched.held.most, sketched.found, counted.found, counted.error) == (100, None, DISTINCT, 0)


@pytest.mark.thorough
def test_a_sketch_of_all_values_learns_what_counting_learns(local):
    exact = Pipeline(st.StringIndexer("key", max_categories=10)).fit(data(local))
    sketched = Pipeline(st.StringIndexer("key", max_categories=10, sketch_size=DISTINCT)).fit(data(local))
    assert sketched.fitted[0]["categories"]["key"].equals(exact.fitted[0]["categories"]["key"])


@pytest.mark.thorough
def test_a_sketch_is_the_same_on_every_engine(distributed_engine, local):
    stage = st.StringIndexer("key", max_categories=40, sketch_size=300, min_frequency=0.00001)
    assert Pipeline(stage).fit(data(distributed_engine)).digest == Pipeline(stage).fit(data(local)).digest


def test_a_sketch_that_does_not_go_with_the_rest_is_refused():
    alone, smaller = {"sketch_size": 10}, {"sketch_size": 10, "max_categories": 11}
    for wrong in (alone, smaller, {"sketch_size": 9, "max_categories": 3, "joint": True}):
        with pytest.raises(ConfigError, match="sketch_size of StringIndexer is"):
            st.StringIndexer("key", **wrong)
