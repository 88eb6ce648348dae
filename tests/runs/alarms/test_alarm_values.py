"""Numbers of a run, against what is worked out by hand."""

from alarm_runs import run_of, task

from penstock.runs.alarms.values import VALUES, value_of

EVEN, SKEWED = ([task(span=span, seconds=s) for s in seconds] for span, seconds in ((0, [2, 2]), (1, [1, 1, 1, 9])))
ON_A = [task(worker="a:1", peak_memory=20), task(worker="a:1", peak_memory=30), task(worker="a:2", peak_memory=40)]
ON_B = task(host="b", worker="b:1", peak_memory=60)
OUTPUTS = [{"dropped": {"drop_nulls": 3}, "quarantined": {}}, {"dropped": {}, "quarantined": {"rule": 4}}]
ENERGY = {"measured": {"a/package-0": 3.6e6}, "estimated": {}, "assumptions": [], "intensity": 100.0}
RECORD = {"metrics": {"rmse": 2, "auc": None}, "machine": {"cores": 4, "host": "a"}}

CASES = {
    "skew of the most skewed scan": (run_of([*EVEN, *SKEWED]), {"skew": 9.0}),
    "merges are no part of skew": (run_of([task(), task(), task(kind="merge", seconds=50.0)]), {"skew": 1.0}),
    "one task has no skew": (run_of([task()]), {"skew": None}),
    "a wait is a share of slots": (run_of([task(seconds=3.0, wait=1.0)] * 2), {"wait_share": 0.25}),
    "all workers of the fullest": (run_of([*ON_A, ON_B], machine={"memory": 100}), {"peak_memory_share": 0.7}),
    "all tasks": (run_of([task(cpu_seconds=1.5), task(cpu_seconds=2.0)]), {"cpu_seconds": 3.5}),
    "attempts before a result": (run_of([task(attempt=each) for each in (0, 2, 1)]), {"retries": 3.0}),
    "rows left out": (run_of(result={"dropped": {"filter": 5}, "scored": OUTPUTS}), {"rows_lost": 12}),
    "alarms of drift": (run_of(kind="drift", result={"alarms": ["x"]}), {"drift": 1.0}),
    "no alarm of drift": (run_of(kind="score", result={"drift": {"alarms": []}}), {"drift": 0.0}),
    "no drift": (run_of(kind="score", result={"drift": None}), {"drift": None}),
    "nothing": (run_of(), {"drift": None, "failed": 0.0}),
    "failed": (run_of(status="failed"), {"failed": 1.0}),
    "energy of the record": (run_of(energy=ENERGY), {"energy": 3.6e6, "co2_grams": 100.0}),
    "metrics": (run_of(**RECORD), {"metric:rmse": 2.0, "metric:auc": None, "metric:f1": None}),
    "the record": (run_of(**RECORD), {"info:machine.cores": 4.0, "info:machine.host": None, "info:a.b": None}),
}


def test_a_value_is_what_is_worked_out_by_hand(subtests):
    for case, (run, values) in CASES.items():
        with subtests.test(case):
            assert {name: value_of(run, name) for name in values} == values


def test_rows_lost_without_a_result_are_those_read_and_not_written():
    for written, lost in (([70, 10], 20.0), ([200], 0.0), ([None], None), ([], None)):
        run = run_of(inputs=[{"rows": 60}, {"rows": 40}], outputs=[{"rows": rows} for rows in written])
        assert value_of(run, "rows_lost") == lost, written


def test_a_run_without_tasks_has_a_number_or_none_of_every_value():
    assert all(isinstance(value_of(run_of(), name), float | None) for name in VALUES)
