"""What events of a run say, against what is worked out by hand."""

from typing import Any

from penstock.runs.run import TASKS, Run
from penstock.runs.watching import RunProgress, Snapshot

SCAN = {"spans": [[0, "scan 1 of 1", "scan", 100.0, 8]]}
TRAIN = {"spans": [[1, "train", "train", 100.0, 0]]}


def after(*events: dict[str, Any]) -> RunProgress:
    progress = RunProgress()
    for event in events:
        progress.take(event)
    return progress


def tasks(*tasks: tuple[float, float], worker: str = "a:1", rows: int = 10) -> dict[str, Any]:
    """Return the event of tasks by start and seconds."""
    return {"tasks": [[0, worker, start, seconds, rows, {"compute": seconds}] for start, seconds in tasks]}


def test_what_is_left_goes_by_the_median_of_tasks_at_once_and_without_any_by_how_much_is_done() -> None:
    progress = after(SCAN, tasks((100, 1), (101, 1), (102, 10)))
    assert progress.seconds_left(progress.spans[0], 112.0) == 1.0 * 5
    progress = after(SCAN, tasks((100, 4), (100, 4), (104, 4), (104, 4)))
    assert progress.seconds_left(progress.spans[0], 108.0) == 4.0 * 4 / 2
    progress = after(TRAIN, {"done": {"train": [20, 100]}})
    assert progress.seconds_left(progress.spans[1], 110.0) == 40.0


def test_an_ended_scan_is_all_done_and_of_one_with_nothing_done_or_all_nothing_is_said() -> None:
    for events in ((), ({"done": {"scan 1 of 1": [0, 8]}},), ({"ends": [[0, 9.0]]},)):
        progress = after(SCAN, *events)
        assert progress.seconds_left(progress.spans[0], 109.0) is None
    progress = after(SCAN, {"done": {"scan 1 of 1": [3, 8]}}, {"ends": [[0, 9.0]]})
    assert progress.parts(progress.spans[0]) == (8, 8)


def test_workers_are_busy_while_they_have_any_task_and_phases_are_shares_of_their_time() -> None:
    progress = after(SCAN, tasks((100, 2), (101, 3), (108, 2)))
    (worker,) = Snapshot.of(progress, 110.0).workers
    assert worker == {"name": "a:1", "tasks": 3, "rows_per_second": 30 / 10, "busy": 0.6}
    progress = after(SCAN, {"tasks": [[0, "a:1", 100, 4, 0, {"read": 1.0, "compute": 3.0}]]})
    assert Snapshot.of(progress, 110.0).phases == {"compute": 0.75, "read": 0.25}


def test_what_was_predicted_says_what_is_left_until_a_run_takes_longer() -> None:
    progress = after({"run": {"started": 100.0, "prediction": {"seconds": 60.0}}}, SCAN, tasks((100, 1)))
    assert Snapshot.of(progress, 115.0).seconds_left == 45.0
    progress = after({"run": {"started": 100.0, "prediction": {"seconds": 2.0}}}, SCAN, tasks((100, 1), (101, 1)))
    assert Snapshot.of(progress, 102.0).seconds_left == 1.0 * 6


def test_events_of_a_newer_version_are_left_aside() -> None:
    assert after({"news": [1]}, SCAN).spans[0].items == 8


def test_a_run_without_a_record_runs_as_long_as_its_process_and_one_with_a_record_is_as_that_says() -> None:
    assert [Snapshot.of(after(SCAN), 110.0, alive=alive).status for alive in (True, False)] == ["running", "lost"]
    run = Run({"run_id": "1", "kind": "fit", "name": "x", "status": "failed", "seconds": 7.0}, TASKS.empty_table())
    snapshot = Snapshot.of(after(SCAN, tasks((100, 1))), 500.0, run)
    assert (snapshot.status, snapshot.seconds, snapshot.seconds_left) == ("failed", 7.0, None)
