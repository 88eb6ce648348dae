"""Who runs what and when on Dask: second attempts at stragglers, long fragments, priorities, workers that come."""

import hashlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pyarrow as pa
import pytest
import scheduling_bodies as bodies
from eventually import until
from instant_client import InstantClient

from penstock.core.recording import Recorder, recording
from penstock.core.scheduler import map_all
from penstock.engines.dask import DaskEngine, speculation, watch
from penstock.engines.dask.speculation import Speculation
from penstock.io.fragments import Fragment, Piece
from penstock.io.sinks.manifest import read_manifest
from penstock.io.sinks.part_folder import LocalPartFolder
from penstock.spmd import SpmdOptions

pytestmark = pytest.mark.dask

THIRDS = [10.0 ** (number % 7) / 3.0 for number in range(12)]


class Scan:
    """Tasks on workers "a" and "b", of a thread each; time and places are set by hand."""

    def __init__(self, tasks: int) -> None:
        self.now = 0.0
        self.processing: dict[str, list[int]] = {"a": [], "b": []}
        self.again: list[tuple[int, str]] = []
        self.futures = [SimpleNamespace(key=key, done=lambda: False) for key in range(tasks)]
        self.threads = {"a": 1, "b": 1}
        client: Any = SimpleNamespace(processing=lambda: self.processing, nthreads=lambda: self.threads)
        self.speculation = Speculation(client, self.start_again, lambda: self.now)
        for future in self.futures:
            self.speculation.add(future)

    def start_again(self, key: int, worker: str) -> Any:
        self.again.append((key, worker))
        return SimpleNamespace(key=(key, "again"), status="pending")

    def run(self, keys: range, seconds: float) -> None:
        """Have tasks run on "b", one after the other, whatever "a" does."""
        for key in keys:
            self.processing["b"] = [key]
            self.speculation.look()
            self.now += seconds
            self.processing["b"] = []
            self.speculation.take(self.futures[key])

    def look_at(self, now: float) -> list[tuple[int, str]]:
        self.now = now
        self.speculation.look()
        return self.again


def straggling(median: float, tasks: int = 4) -> Scan:
    """Return a scan whose task 0 is on "a" from the start, and whose other tasks are done."""
    scan = Scan(tasks)
    scan.processing["a"] = [0]
    scan.run(range(1, tasks), median)
    return scan


def test_a_task_may_take_a_second_and_twice_the_median():
    for median, limit in ((0.1, 1.0), (0.3, 1.0), (3.0, 9.0)):
        scan = straggling(median)  # with a median of 3 seconds the others have taken 9, and twice that is less
        assert scan.look_at(limit) == ([] if limit == 1.0 else [(0, "b")])
        assert scan.look_at(limit + 0.1) == [(0, "b")]


def test_a_task_is_started_again_once():
    scan = straggling(0.1)
    assert scan.look_at(3.0) == scan.look_at(100.0) == [(0, "b")]


def test_no_task_is_started_again_while_all_threads_are_busy_or_it_waits_at_the_scheduler():
    scan = straggling(0.1)
    scan.processing["b"] = ["of somebody else"]  # type: ignore[list-item]
    assert scan.look_at(60.0) == []
    scan = straggling(0.1)
    scan.processing["a"] = []
    assert scan.look_at(60.0) == []


def test_no_task_is_started_again_before_half_of_those_begun_are_done():
    scan = Scan(5)
    scan.threads["a"] = 2
    scan.processing["a"] = [0, 1, 2]
    scan.run(range(3, 4), 0.1)
    assert scan.look_at(60.0) == []
    scan.run(range(4, 5), 0.1)  # tasks 0 and 1 have been begun, and 2 waits behind them
    assert scan.look_at(60.2) == [(0, "b")]


def test_a_task_that_was_moved_to_another_worker_has_run_since_then():
    scan = straggling(0.1)
    scan.processing = {"a": [], "b": [0]}
    assert scan.look_at(50.0) == scan.look_at(50.9) == []
    assert scan.look_at(51.1) == [(0, "a")]


def test_both_attempts_are_given_when_the_result_is_taken():
    scan = straggling(0.1)
    scan.look_at(3.0)
    first, second = scan.speculation.take(scan.futures[0])
    assert (first.key, second.key) == (0, (0, "again"))
    assert scan.speculation.take(scan.futures[0]) == ()


def test_the_longest_fragments_are_asked_for_first_as_many_as_there_are_threads():
    rows = [10] * 20 + [50, 90, 70]
    fragments = [Fragment(index, 0, (Piece("a", 0, count),)) for index, count in enumerate(rows)]
    client = InstantClient({"a": 1, "b": 1})
    done = list(client.tasks().each(fragments))
    begun = [item.index for item, *_ in client.asked]
    assert begun == [21, 22, *range(21)]
    assert [client.futures.index(future) for future in done] == [begun.index(index) for index in range(23)]


def test_a_few_items_for_each_thread_are_asked_for_ahead_and_those_that_are_not_taken_are_given_up():
    client = InstantClient({"a": 1, "b": 3})
    tasks = client.tasks()
    results = tasks.each(range(200))
    for taken in range(1, 4):
        next(results)
        assert len(client.asked) == 2 * 4 + 1 + taken
    tasks.release()
    assert all(future.is_released for future in client.futures)


@pytest.fixture(scope="module")
def dask() -> Iterator[DaskEngine]:
    """Two workers of a thread each, in this process."""
    arguments = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with DaskEngine({"class": "distributed.LocalCluster", "arguments": arguments}, device="cpu") as engine:
        yield engine


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Look more often than for users; at the end let all bodies end that still wait for something."""
    monkeypatch.setattr(watch, "_PAUSE", 0.05)
    yield
    for gate in list(bodies.gates.values()):
        gate.set()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speculation, "LEAST", 0.2)


@pytest.mark.faults
@pytest.mark.parametrize(("call", "at"), [("map", 0), ("map", 11), ("reduce", 0), ("reduce", 11)])
def test_the_result_is_there_while_a_straggler_still_runs(dask, impatient, call, at):
    name = uuid4().hex
    bodies.gates[f"{name} 2"].set()
    work = bodies.Straggling(name, at)
    if call == "map":
        assert list(dask.map(work, range(12))) == THIRDS
    else:
        assert dask.reduce(work, _added, range(12)) == _added([_added(THIRDS[:8]), _added(THIRDS[8:])])
    workers = [worker for item, worker in bodies.attempts[name] if item == at]
    assert len(workers) == len(set(workers)) == 2
    assert list(dask.map(abs, range(-9, 0))) == list(range(9, 0, -1))  # a scan after it does not wait either
    assert not bodies.gates[f"{name} late"].is_set()  # the straggler still waits


@pytest.mark.faults
def test_a_second_attempt_is_recorded_as_one(dask, impatient):
    name = uuid4().hex
    bodies.gates[f"{name} 2"].set()
    fragments = [Fragment(index, index, (Piece("a", index, 1),)) for index in range(12)]
    with recording(Recorder()) as recorder:
        assert list(map_all(dask, bodies.Straggling(name, 3), fragments, label="numbers")) == THIRDS
    assert {task.fragment: task.attempt for task in recorder.tasks}[3] == 1


def _added(numbers: list[float]) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total


@pytest.mark.faults
def test_a_straggler_that_is_done_before_its_second_attempt_gives_the_result(dask, impatient):
    name = uuid4().hex
    opener = threading.Thread(
        target=lambda: bodies.gates[f"{name} begins 2"].wait(60) and bodies.gates[f"{name} 1"].set()
    )
    opener.start()
    assert list(dask.map(bodies.Straggling(name, 3), range(12))) == THIRDS
    opener.join()
    assert not bodies.gates[f"{name} 2"].is_set()


@pytest.mark.faults
def test_a_second_attempt_that_fails_is_nobodys_error(dask, impatient):
    name = uuid4().hex
    failing = bodies.FailsAgain(name, 3)
    assert list(dask.map(failing, range(12))) == THIRDS
    assert [item for item, _ in bodies.attempts[name]].count(3) == 2


def test_nothing_is_run_twice_without_speculation(dask, impatient, monkeypatch):
    name = uuid4().hex
    looks = Mock(side_effect=lambda *_: bodies.gates[name].set())
    monkeypatch.setattr(Speculation, "look", looks)
    patient = DaskEngine(dask.client, device="cpu", speculation=False)
    assert list(patient.map(time.sleep, [0.2] * 4)) == [None] * 4
    assert not looks.called
    assert list(dask.map(bodies.Noting(name), range(2))) == [0, 1]  # which wait for the first look
    assert looks.called


@pytest.mark.faults
@pytest.mark.parametrize("when", ["before it writes", "after it has written"])
def test_a_straggler_that_writes_after_the_commit_changes_nothing(dask, impatient, monkeypatch, tmp_path, when):
    name, put = uuid4().hex, LocalPartFolder.put
    bodies.gates[f"{name} 2"].set()
    ended = threading.Event()

    def wait(part: str) -> None:
        if "00003" in part:
            bodies.gates[f"{name} {bodies.attempt(name, 3)}"].wait(bodies.PATIENCE)

    def put_late(folder: LocalPartFolder, part: str, write: Any, **more: Any) -> Any:
        def write_late(path: str) -> None:
            write(path)
            wait(part)

        try:
            if when == "before it writes":
                wait(part)
                return put(folder, part, write, **more)
            return put(folder, part, write_late, **more)
        except BaseException:
            ended.set()
            raise

    monkeypatch.setattr(LocalPartFolder, "put", put_late)
    rows = pa.table({"x": range(120)})
    dask.from_arrow(rows, fragment_bytes=160).write_parquet(tmp_path / "out")
    before = contents(tmp_path)
    assert len(bodies.attempts[name]) == 2
    bodies.gates[f"{name} 1"].set()
    assert ended.wait(bodies.PATIENCE)
    until(lambda: not any(dask.client.processing().values()))
    assert contents(tmp_path) == before
    manifest = read_manifest(tmp_path / "out")
    assert manifest is not None
    assert {each.path: each.sha256 for each in manifest.files} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "out").glob("part-*")
    }
    assert dask.read_parquet(tmp_path / "out").to_arrow().equals(rows)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_a_scan_of_higher_priority_overtakes_those_that_were_there_first(dask):
    low, high = uuid4().hex, uuid4().hex
    bodies.gates[high].set()
    urgent = DaskEngine(dask.client, device="cpu", priority=10)

    def run(engine: DaskEngine, name: str, count: int) -> threading.Thread:
        scan = threading.Thread(target=lambda: list(engine.map(bodies.Noting(name), range(count), label=name)))
        scan.start()
        return scan

    scans = [run(dask, low, 12) for _ in range(3)]
    until(lambda: _submitted(dask, low) == 18 and len(bodies.attempts[low]) == 2)  # they have both threads
    scans.append(run(urgent, high, 6))
    until(lambda: _submitted(dask, high) == 6)
    bodies.gates[low].set()
    for scan in scans:
        scan.join()
    order = [name for name in bodies.begun if name in (low, high)]
    last = len(order) - order[::-1].index(high)
    assert order.count(high) == 6
    assert order[:last].count(low) < 10  # of the 18 that were there


def _submitted(engine: DaskEngine, label: str) -> int:
    keys = engine.client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
    return sum(str(key).startswith(f"('{label}-apply") for key in keys)


@pytest.fixture
def growing(dask: DaskEngine) -> Iterator[DaskEngine]:
    """The cluster, which has its two workers again at the end."""
    yield dask
    dask.client.cluster.scale(2)
    until(lambda: len(dask.client.nthreads()) == 2)


@pytest.mark.faults
def test_a_worker_that_comes_during_a_scan_does_tasks_of_it(growing):
    known = frozenset(growing.client.nthreads())
    workers = growing.map(bodies.OpenedByAnother(uuid4().hex, known), range(12))
    growing.client.cluster.scale(3)
    assert set(workers) - known


@pytest.mark.slow
@pytest.mark.faults
def test_a_training_begins_again_on_a_worker_that_comes(growing, monkeypatch):
    notes: list[str] = []
    monkeypatch.setattr(growing.progress, "note", notes.append)
    data = {"train": growing.from_arrow(pa.table({"x": range(60)}), fragment_bytes=80)}
    # To go on alone takes two minutes: however long a busy machine takes to begin again, that is sooner.
    body = bodies.SlowAlone(uuid4().hex, rounds=100, seconds=1.0, most=2)
    gate = bodies.gates[body.name]
    comes = threading.Thread(target=lambda: gate.wait(bodies.PATIENCE) and growing.client.cluster.scale(3))
    comes.start()
    size, first, total = growing.spmd(body, data, SpmdOptions(elastic=True, checkpoint_interval=1, timeout=60))
    comes.join()
    assert (size, total) == (3, 100 * sum(range(60)))
    assert 0 < first < 100
    assert notes == ["train: workers came, so it begins again on 3 ranks from a checkpoint"]
