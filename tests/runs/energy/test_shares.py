"""Counters shared among tasks, against what is worked out by hand."""

import pytest
from energy_records import task

from penstock.core.recording import Span
from penstock.runs.run_recording import task_table
from penstock.runs.shares import CounterReading, energy_readings, shared


def readings(*each: tuple[int, str, float, float]) -> list[CounterReading]:
    return [CounterReading(*values) for values in each]


SHARED = {
    "alone": (readings((0, "x", 5.0, 8.0), (1, "x", 8.0, 9.0)), {0: 3.0, 1: 1.0}),
    "all at once": (readings((0, "x", 2.0, 8.0), (1, "x", 2.0, 8.0), (2, "x", 2.0, 8.0)), {0: 2.0, 1: 2.0, 2: 2.0}),
    "inside another": (readings((0, "x", 0.0, 10.0), (1, "x", 4.0, 6.0)), {0: 9.0, 1: 1.0}),
    "apart": (readings((0, "x", 0.0, 1.0), (1, "x", 5.0, 7.0)), {0: 1.0, 1: 2.0}),
    "other counters": (readings((0, "x", 0.0, 4.0), (1, "y", 0.0, 4.0), (1, "z", 1.0, 2.0)), {0: 4.0, 1: 5.0}),
    "stood still": (readings((0, "x", 3.0, 3.0), (1, "x", 3.0, 5.0)), {0: 0.0, 1: 2.0}),
    "set back": (readings((0, "x", 3.0, 1.0), (1, "x", 3.0, 5.0)), {0: 0.0, 1: 2.0}),
}


def test_what_a_counter_says_is_shared_by_those_that_run_meanwhile(subtests: pytest.Subtests) -> None:
    for case, (read, shares) in SHARED.items():
        with subtests.test(case):
            assert shared(read) == shares


def test_processes_of_a_machine_share_its_counter_and_machines_have_their_own() -> None:
    one, other = (task(0, 2, {"package-0": (0.0, 10.0)}, pid=pid) for pid in (1, 2))
    assert shared(energy_readings([one, other])) == {0: 5.0, 1: 5.0}
    assert shared(energy_readings([one, task(0, 2, {"package-0": (0.0, 10.0)}, host="b")])) == {0: 10.0, 1: 10.0}


def test_a_process_that_began_before_the_counter_did_again_is_on_the_scale_of_the_others() -> None:
    around = {"package-0.range": (100.0, 100.0)}
    tasks = [
        task(0, 4, {"package-0": (190.0, 194.0)} | around, pid=1),
        task(2, 4, {"package-0": (92.0, 96.0)} | around, pid=2),
        task(7, 1, {"package-0": (197.0, 198.0)} | around, pid=1),
    ]
    assert shared(energy_readings(tasks)) == pytest.approx({0: 3.0, 1: 3.0, 2: 1.0})


def test_an_idle_gpu_is_none_of_a_task_on_the_cpu() -> None:
    read = {"gpu-0": (0.0, 70.0), "package-0": (0.0, 3.0)}
    assert shared(energy_readings([task(0, 1, read)])) == {0: 3.0}
    assert shared(energy_readings([task(0, 1, read, device="gpu")])) == {0: 73.0}


def test_the_table_has_the_shares_of_each_task() -> None:
    tasks = [
        task(0, 10, {"package-0": (0.0, 100.0)}, cpu=(0.0, 15.0)),
        task(5, 5, {"package-0": (50.0, 100.0)}, cpu=(5.0, 15.0)),
        task(0, 1, host="b", cpu=(3.0, 4.0)),
    ]
    table = task_table(tasks, [Span("scan", "scan", 0.0, 10.0)])
    rows = {(row["host"], row["seconds"]): (row["cpu_seconds"], row["energy"]) for row in table.to_pylist()}
    assert rows == {("a", 10.0): (10.0, 75.0), ("a", 5.0): (5.0, 25.0), ("b", 1.0): (1.0, None)}
