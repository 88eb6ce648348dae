"""Records of tasks as a table: their order, the slots of a process, and waits."""

from dataclasses import replace

from penstock.core.recording import Span, TaskRecord
from penstock.runs.run_recording import task_table

BEGAN = 1_700_000_000.0
SPANS = [Span("scan", "scan", BEGAN, 20.0), Span("write", "scan", BEGAN + 10.0, 10.0)]


def task(start: float, seconds: float, *, pid: int = 1, span: int = 0) -> TaskRecord:
    phases = {"compute": seconds}
    return TaskRecord(span, "task", 0, "a", pid, BEGAN + start, seconds, phases, {}, (0.0, 0.0), 0)


def column(name: str, *tasks: TaskRecord) -> list[float]:
    return task_table(tasks, SPANS)[name].to_pylist()


def test_tasks_are_in_the_order_in_which_they_started() -> None:
    assert column("seconds", task(3, 0.5), task(1, 0.25), task(2, 0.75)) == [0.25, 0.75, 0.5]


def test_tasks_of_a_process_at_the_same_time_have_a_slot_each() -> None:
    tasks = (task(0, 4), task(1, 1), task(2.5, 1), task(3, 9), task(0.5, 1, pid=2))
    assert column("slot", *tasks) == [0, 0, 1, 1, 2]  # by their starts: that of the other process is the second


def test_a_wait_is_since_the_last_task_of_the_slot_or_the_start_of_the_span_and_never_negative() -> None:
    assert column("wait", task(2, 1), task(7, 1), task(12, 1, span=1)) == [2.0, 4.0, 2.0]
    assert column("wait", task(-1, 0.5), task(9, 0.5, span=1)) == [0.0, 0.0]


def test_a_task_has_the_number_of_its_attempt() -> None:
    assert column("attempt", task(0, 1), replace(task(1, 1), attempt=2)) == [0, 2]
