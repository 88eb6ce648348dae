"""Where the time of a run went, by phase, slot, span and driver; oracles are closed forms and a fine grid of time."""

import statistics

import numpy as np
import pytest
from run_samples import empty, full, run, span, task

from penstock.core.errors import ConfigError
from penstock.runs.analysis import find_notable, phase_seconds, process_time, slot_times, slowest_tasks, span_times
from penstock.runs.analysis.intervals import Intervals
from penstock.runs.comparison import compare
from penstock.runs.fields import FieldCondition, flatten, get_field

WORK = {"decode": 2.0, "compute": 1.0}


def test_a_slot_that_works_and_waits_within_a_scan_is_explained_in_full():
    tasks = [task(1.0, WORK, wait=1.0), task(5.0, WORK, wait=1.0)]
    (slot,) = slot_times(run([span("scan", 0.0, 10.0)], tasks))
    assert (slot.wall, slot.busy, slot.wait_for_task, slot.wait_for_others) == (10.0, 6.0, 2.0, 2.0)
    assert slot.phases == {"decode": 4.0, "compute": 2.0}
    assert slot.explained == 1.0


def test_a_query_of_the_engine_is_no_time_of_the_driver_and_no_wait():
    spans = [span("sql", 0.0, 5.0, "step"), span("query", 1.0, 4.0, "query", parent=0), span("scan", 5.0, 10.0)]
    record = run(spans, [task(5.0, {"decode": 5.0}, span=2)])
    (slot,) = slot_times(record)
    assert (slot.query, slot.driver, slot.wait, slot.explained) == (3.0, 2.0, 0.0, 1.0)
    found = process_time(record)
    assert (found.query, found.scan, found.steps) == (3.0, 5.0, {"sql": 2.0})


def test_phases_that_do_not_add_up_and_a_clock_that_is_off_are_not_explained():
    for made, explained in ((task(0.0, {"decode": 7.0}, seconds=10.0), 0.7), (task(60.0, {"decode": 5.0}), 0.5)):
        (slot,) = slot_times(run([span("scan", 0.0, 10.0)], [made]))
        assert slot.explained == pytest.approx(explained)


def test_slots_come_by_worker_and_number_whatever_the_order_of_tasks():
    tasks = [task(0.0, WORK, worker="b:1"), task(0.1, WORK, worker="a:1", slot=1), task(0.2, WORK, worker="a:1")]
    slots = slot_times(run([span("scan", 0.0, 10.0)], tasks))
    assert [(each.worker, each.slot) for each in slots] == [("a:1", 0), ("a:1", 1), ("b:1", 0)]


def test_times_of_slots_are_those_that_a_grid_of_milliseconds_counts():
    drawn, grid = np.random.default_rng(1), np.zeros((3, 20_000), dtype=int)
    spans = [span("step", 1.0, 6.0, "step"), span("one", 2.0, 9.0), span("two", 8.0, 13.0), span("last", 15.0, 16.0)]
    tasks = []
    for slot in range(3):
        free = 2.0
        while free < 11.0:
            start, took = (float(each) for each in np.round(drawn.uniform(0.05, 0.9, 2), 3))
            wait = start
            tasks.append(task(free + start, {"compute": took}, span=1, slot=slot, wait=wait))
            grid[slot, round((free + start) * 1000) : round((free + start + took) * 1000)] = 1
            free = round(free + start + took, 3)
    in_scans, in_spans = np.zeros(20_000, dtype=bool), np.zeros(20_000, dtype=bool)
    for each in spans:
        where = slice(
            round((each.start - spans[0].start + 1) * 1000),
            round((each.start - spans[0].start + 1 + each.seconds) * 1000),
        )
        in_spans[where] = True
        in_scans[where] |= each.kind == "scan"
    for slot, found in enumerate(slot_times(run(spans, tasks, seconds=20.0))):
        busy = grid[slot].astype(bool)
        assert found.wall == pytest.approx(15.0)
        assert found.busy == pytest.approx(busy.sum() / 1000)
        assert found.wait == pytest.approx((in_scans & ~busy).sum() / 1000, abs=1e-5)
        assert found.driver == pytest.approx((in_spans & ~in_scans & ~busy).sum() / 1000, abs=1e-5)
        assert found.unexplained == pytest.approx(2.0, abs=1e-5)


def test_the_driver_counts_each_moment_once():
    spans = [
        span("fit", 0.0, 8.0, "step"),
        span("plan", 0.0, 1.0, "step", parent=0),
        span("scan", 1.0, 4.0, parent=0),
        span("train", 3.0, 7.0, "train", parent=0),
    ]
    found = process_time(run(spans, []))
    assert (found.scan, found.train, found.steps) == (2.0, 4.0, {"fit": 1.0, "plan": 1.0})
    assert (found.outside, found.explained) == (2.0, 0.8)
    assert found.scan + found.train + sum(found.steps.values()) + found.outside == found.wall


def test_a_span_has_the_median_and_the_slowest_of_its_tasks_and_no_merges():
    seconds = [0.5, 1.0, 1.5, 6.0]
    tasks = [task(0.0, {"compute": each}, slot=place) for place, each in enumerate(seconds)]
    tasks.append(task(7.0, {"merge": 3.0}, kind="merge", fragment=None))
    (found,) = span_times(run([span("scan", 0.0, 10.0)], tasks))
    assert (found.tasks, found.median, found.slowest) == (4, statistics.median(seconds), 6.0)
    assert found.skew == 4.8
    assert found.phases == {"compute": 9.0, "merge": 3.0}
    assert (found.rows_in, found.bytes_in) == (50, 500)


def test_phases_are_summed_over_all_tasks_and_steps_are_no_spans_with_tasks():
    assert [each.name for each in span_times(full())] == ["scan 1 of 1", "train XGBoostClassifier"]
    assert phase_seconds(full()) == pytest.approx(
        {"read": 2.0, "decode": 4.0, "compute": 3.0, "merge": 0.3, "train": 6.0, "communicate": 2.0}
    )


def test_the_slowest_tasks_come_first_with_their_multiple_of_the_median():
    tasks = [task(0.0, {"compute": each}, slot=place, fragment=place) for place, each in enumerate([1.0, 4.0, 2.0])]
    found = slowest_tasks(run([span("scan", 0.0, 10.0)], tasks), 2)
    assert [(each["fragment"], each["ratio"]) for each in found] == [(1, 2.0), (2, 1.0)]


def test_a_phase_and_a_task_that_lags_behind_are_worth_a_sentence():
    tasks = [task(0.0, {"decode": 0.6, "compute": 0.4}, slot=place, fragment=place) for place in range(9)]
    tasks.append(task(0.0, {"decode": 6.0}, slot=9, fragment=77))
    found = dict(find_notable(run([span("scan", 0.0, 10.0)], tasks)))
    assert found["decode"] == "takes 76% of the time of tasks: 11.40 of 15.00 s"
    told = "1 task takes 3 times the median or more, of 10; the slowest, of fragment 77"
    assert found["scan"] == f"{told}, takes 6.00 s, 6.0 times the median"


def test_what_stands_out_is_named_and_tasks_alike_are_not():
    scan, half = span("scan", 0.0, 10.0), span("scan", 0.0, 5.0)
    waits, fills = task(4.0, {"compute": 6.0}, wait=4.0), task(0.0, {"compute": 10.0}, peak_memory=15 * 2**30)
    for spans, tasks, subject, text in (
        ([half], [], "driver", "5.00 of 10.00 s"),
        ([half, span("save", 5.0, 10.0, "step")], [], "save", "5.00 of 10.00 s"),
        ([scan], [waits], "wait", "40% of the time for a task"),
        ([scan], [fills], "memory", "15.0 GiB, of 16.0"),
    ):
        assert text in dict(find_notable(run(spans, tasks)))[subject]
    tasks = [task(0.0, {"compute": 10.0}, slot=place, cpu_seconds=10.0) for place in range(4)]
    found = find_notable(run([span("scan", 0.0, 10.0)], tasks))
    assert [each.subject for each in found] == ["compute"]


def test_a_run_without_a_task_has_no_numbers_and_no_error():
    nothing = empty()
    assert slot_times(nothing) == span_times(nothing) == slowest_tasks(nothing) == []
    assert phase_seconds(nothing) == {}
    assert process_time(nothing).explained == 1.0
    assert [each.subject for each in find_notable(nothing)] == ["error"]


def test_the_union_of_intervals_is_what_a_grid_counts():
    drawn = np.random.default_rng(2)
    starts = drawn.integers(0, 900, 40)
    ends = starts + drawn.integers(0, 60, 40)
    grid = np.zeros(1000, dtype=bool)
    for start, end in zip(starts, ends, strict=True):
        grid[start:end] = True
    union = Intervals.of(starts, ends)
    assert union.length == grid.sum()
    assert union.until(np.arange(1001)).tolist() == np.concatenate([[0], np.cumsum(grid)]).tolist()


def test_a_comparison_names_what_differs_with_a_ratio_for_what_both_have():
    one, other = full(), full()
    changed = {**other.info, "run_id": "x", "started": 0.0, "seconds": 20.0, "metrics": {"areaUnderROC": 0.5}}
    changed["inputs"] = [{**each, "mtime": 1.0} for each in other.info["inputs"][:1]] + other.info["inputs"][1:]
    found = compare(one, type(other)(changed, other.tasks))
    assert {each.field: (each.one, each.other) for each in found.differences} == {
        "metrics.areaUnderROC": (0.75, 0.5),
        "inputs.s3://lake/day=0/part.parquet.mtime": (0.0, 1.0),
    }
    assert found.totals[0].ratio == 2.0
    spans = [span("scan", 0.0, 10.0)]
    both = compare(
        run(spans, [task(0.0, {"read": 1.0, "decode": 2.0})]), run(spans, [task(0.0, {"decode": 3.0, "compute": 1.0})])
    )
    assert [(each.name, each.one, each.other, each.ratio) for each in both.phases] == [
        ("read", 1.0, None, None),
        ("decode", 2.0, 3.0, 1.5),
        ("compute", None, 1.0, None),
    ]


def test_conditions_compare_numbers_as_numbers_and_others_as_texts_and_others_are_refused():
    true = "kind=fit name=cli* seconds>9.5 seconds<=10 metrics.areaUnderROC>=0.75 inputs.0.rows==10 nothing!=1"
    false = "kind!=fit seconds<9.5 nothing=1"
    assert [each for each in true.split() if not FieldCondition.parse(each).holds(full().info)] == []
    assert [each for each in false.split() if FieldCondition.parse(each).holds(full().info)] == []
    for text in ("kind", "=fit", ""):
        with pytest.raises(ConfigError, match="expected a condition on a field"):
            FieldCondition.parse(text)


def test_a_key_with_dots_is_found_and_flattened():
    values = {"metrics": {"tree.rmse": 0.5}}
    assert get_field(values, "metrics.tree.rmse") == 0.5
    assert dict(flatten(values)) == {"metrics.tree.rmse": 0.5}
