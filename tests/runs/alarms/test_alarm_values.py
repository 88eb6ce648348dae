"""Numbers of a run, against what is worked out by hand."""

from __future__ import annotations

from alarm_runs import run_of, task

from penstock.runs.alarms.values import VALUES, value_of


def test_skew_is_that_of_the_most_skewed_scan() -> None:
    even, skewed = ([task(span=span, seconds=s) for s in seconds] for span, seconds in ((0, [2, 2]), (1, [1, 1, 1, 9])))
    assert value_of(run_of([*even, *skewed]), "skew") == 9.0


def test_merges_are_no_part_of_skew_and_one_task_has_none() -> None:
    assert value_of(run_of([task(), task(), task(kind="merge", seconds=50.0)]), "skew") == 1.0
    assert value_of(run_of([task()]), "skew") is None


def test_waiting_is_a_share_of_the_time_of_slots() -> None:
    assert value_of(run_of([task(seconds=3.0, wait=1.0), task(seconds=3.0, wait=1.0)]), "wait_share") == 0.25


def test_memory_is_that_of_all_workers_of_the_fullest_machine() -> None:
    tasks = [task(worker="a:1", peak_memory=20), task(worker="a:1", peak_memory=30), task(worker="a:2", peak_memory=40)]
    other = task(host="b", worker="b:1", peak_memory=60)
    assert value_of(run_of([*tasks, other], machine={"memory": 100}), "peak_memory_share") == 0.7


def test_cpu_seconds_are_those_of_all_tasks_and_retries_the_attempts_before_a_result() -> None:
    assert value_of(run_of([task(cpu_seconds=1.5), task(cpu_seconds=2.0)]), "cpu_seconds") == 3.5
    assert value_of(run_of([task(attempt=0), task(attempt=2), task(attempt=1)]), "retries") == 3.0


def test_rows_lost_are_those_left_out_and_without_a_result_those_read_and_not_written() -> None:
    outputs = [{"dropped": {"drop_nulls": 3}, "quarantined": {}}, {"dropped": {}, "quarantined": {"rule": 4}}]
    assert value_of(run_of(result={"dropped": {"filter": 5}, "scored": outputs}), "rows_lost") == 12
    for written, lost in (([70, 10], 20.0), ([200], 0.0), ([None], None), ([], None)):
        run = run_of(inputs=[{"rows": 60}, {"rows": 40}], outputs=[{"rows": rows} for rows in written])
        assert value_of(run, "rows_lost") == lost, written


def test_drift_is_how_many_alarms_of_it_there_were() -> None:
    assert value_of(run_of(kind="drift", result={"alarms": ["x"]}), "drift") == 1.0
    assert value_of(run_of(kind="score", result={"drift": {"alarms": []}}), "drift") == 0.0
    assert value_of(run_of(kind="score", result={"drift": None}), "drift") is value_of(run_of(), "drift") is None


def test_a_run_that_failed_is_one() -> None:
    assert [value_of(run_of(status=status), "failed") for status in ("done", "failed")] == [0.0, 1.0]


def test_energy_is_that_of_the_record() -> None:
    energy = {"measured": {"a/package-0": 3.6e6}, "estimated": {}, "assumptions": [], "intensity": 100.0}
    run = run_of(energy=energy)
    assert (value_of(run, "energy"), value_of(run, "co2_grams")) == (3.6e6, 100.0)


def test_a_metric_and_any_number_of_the_record_are_values() -> None:
    run = run_of(metrics={"rmse": 2, "auc": None}, machine={"cores": 4, "host": "a"})
    names = ("metric:rmse", "metric:auc", "metric:f1", "info:machine.cores", "info:machine.host", "info:a.b")
    assert [value_of(run, name) for name in names] == [2.0, None, None, 4.0, None, None]


def test_a_run_without_tasks_has_a_number_or_none_of_every_value() -> None:
    assert all(isinstance(value_of(run_of(), name), float | None) for name in VALUES)
