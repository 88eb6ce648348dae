"""Counters shared among tasks, against what is worked out by hand."""

from __future__ import annotations

import pytest
from energy_records import task

from penstock.core.recording import Span
from penstock.runs.shares import CounterReading, energy_readings, shared
from penstock.runs.task_table import task_table


def test_what_one_task_reads_alone_is_its_own() -> None:
    assert shared([CounterReading(0, "x", 5.0, 8.0), CounterReading(1, "x", 8.0, 9.0)]) == {0: 3.0, 1: 1.0}


def test_tasks_at_the_same_time_have_equal_parts() -> None:
    assert shared([CounterReading(place, "x", 2.0, 8.0) for place in range(3)]) == {0: 2.0, 1: 2.0, 2: 2.0}


def test_a_task_inside_another_takes_half_of_what_was_used_meanwhile() -> None:
    assert shared([CounterReading(0, "x", 0.0, 10.0), CounterReading(1, "x", 4.0, 6.0)]) == {0: 9.0, 1: 1.0}


def test_what_is_used_between_tasks_is_nobodys() -> None:
    assert sum(shared([CounterReading(0, "x", 0.0, 1.0), CounterReading(1, "x", 5.0, 7.0)]).values()) == 3.0


def test_other_counters_are_apart() -> None:
    assert shared(
        [CounterReading(0, "x", 0.0, 4.0), CounterReading(1, "y", 0.0, 4.0), CounterReading(1, "z", 1.0, 2.0)]
    ) == {0: 4.0, 1: 5.0}


@pytest.mark.parametrize("end", [3.0, 1.0])
def test_a_counter_that_stood_still_or_was_set_back_has_nothing(end: float) -> None:
    assert shared([CounterReading(0, "x", 3.0, end), CounterReading(1, "x", 3.0, 5.0)]) == {0: 0.0, 1: 2.0}


def test_processes_of_a_machine_share_its_counter() -> None:
    tasks = [task(0, 2, {"package-0": (0.0, 10.0)}, pid=1), task(0, 2, {"package-0": (0.0, 10.0)}, pid=2)]
    assert shared(energy_readings(tasks)) == {0: 5.0, 1: 5.0}


def test_machines_have_counters_of_their_own() -> None:
    tasks = [task(0, 2, {"package-0": (0.0, 10.0)}, host=host) for host in "ab"]
    assert shared(energy_readings(tasks)) == {0: 10.0, 1: 10.0}


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
