"""A task that takes far longer than the others is told while it runs, with what it works on."""

import pytest
from straggler_bodies import WaitsFor

from penstock.engines import stragglers
from penstock.engines.local import LocalEngine
from penstock.engines.stragglers import Stragglers, TaskClock
from penstock.io.fragments import Fragment, Piece

FRAGMENTS = [Fragment(index, 10 * index, (Piece(f"a/{index}.parquet", 0, 10),)) for index in range(41)]


class Scan:
    """A scan whose time is set by hand; every task that ends has taken what the test says."""

    def __init__(self, total: int) -> None:
        self.now = 0.0
        self.lines: list[str] = []
        self.times = TaskClock(lambda: self.now)
        items = FRAGMENTS[:total]
        self.stragglers = Stragglers("scan", items, total, self.times, self.lines.append, lambda: self.now)

    def run(self, keys: range, seconds: float) -> None:
        for key in keys:
            self.times.start(key)
            self.now += seconds
            self.times.end(key)

    def look_at(self, now: float) -> list[str]:
        """Return the lines of a look at this time."""
        self.now = now
        self.lines.clear()
        self.stragglers.look()
        return self.lines


def test_a_task_far_over_the_median_is_told_with_its_file():
    scan = Scan(41)
    scan.times.start(17)
    scan.run(range(17), 2.0)
    scan.run(range(18, 41), 2.2)
    assert scan.look_at(95.0) == [
        "scan: fragment 17 (a/17.parquet) has run for 95 s; the median of 40 that are done is 2.2 s"
    ]


def test_a_task_is_told_again_when_it_has_taken_twice_as_long():
    scan = Scan(4)
    scan.run(range(3), 1.0)
    scan.times.start(3)
    told = [now for now in range(4, 200) if scan.look_at(float(now))]
    assert told == [15, 30, 60, 120]  # it began at 3, and looks are at 10, 15, 20, ...: 12, 27, 57 and 117 seconds


def test_five_medians_and_ten_seconds_are_not_far_longer():
    for median, first in ((1.0, 15), (2.0, 11), (3.0, 16), (10.0, 51)):
        scan = Scan(6)
        scan.run(range(5), median)
        began = scan.now
        scan.times.start(5)
        assert next(second for second in range(1, 200) if scan.look_at(began + second)) == first


def test_nothing_is_told_before_three_tasks_or_half_of_all_are_done():
    for total, done, told in ((1, 0, 0), (2, 1, 1), (3, 1, 0), (3, 2, 1), (9, 2, 0), (9, 3, 1)):
        scan = Scan(total)
        scan.run(range(done), 0.1)
        scan.times.start(done)
        assert len(scan.look_at(60.0)) == told, (total, done)


def test_times_are_not_asked_for_in_the_first_ten_seconds():
    scan = Scan(9)
    scan.times.running = pytest.fail  # type: ignore[method-assign, assignment]
    assert [scan.look_at(now) for now in (0.0, 5.0, 9.9)] == [[], [], []]


@pytest.mark.thorough
@pytest.mark.faults
def test_a_straggler_is_told_while_it_runs_on_every_engine(engine, monkeypatch, tmp_path):
    monkeypatch.setattr(stragglers, "LEAST", 0.5)
    monkeypatch.setattr(stragglers, "_PAUSE", 0.2)
    if engine.name == "dask":
        monkeypatch.setattr("penstock.engines.dask.watch._LONGEST_PAUSE", 0.2)
    for call in ("map", "reduce"):
        line, told = "probe: fragment 7 (a/7.parquet) has run for ", tmp_path / call
        note = lambda text, line=line, told=told: told.touch() if text.startswith(line) else None  # noqa: E731
        monkeypatch.setattr(engine.progress, "note", note)
        work = WaitsFor(told, at=7)
        numbers = engine.map(work, FRAGMENTS[:9], label="probe")
        total = sum(numbers) if call == "map" else engine.reduce(work, sum, FRAGMENTS[:9], label="probe")
        assert told.exists()
        assert total == sum(range(9))


def test_what_is_worth_a_line_is_logged_where_nothing_is_drawn(caplog):
    LocalEngine(device="cpu").progress.note("scan: fragment 7 of s3://me:hunter2@bucket/a has run for 95 s")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages == ["scan: fragment 7 of s3://me:***@bucket/a has run for 95 s"]
