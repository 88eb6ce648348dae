"""Events that a run writes, and who reads them while it is under way."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from run_samples import timed

import penstock as ps
from penstock.cli.commands import main
from penstock.core.progress import Progress, RichProgress, following
from penstock.core.recording import Recorder, TaskRecord
from penstock.core.recording.process import host_name
from penstock.core.recording.task_recording import Recorded
from penstock.errors import MissingInputError
from penstock.runs.watching import EVENTS, EventLog, Watcher
from penstock.runs.watching import watcher as watcher_module

TASK = TaskRecord(0, "task", 0, "a", 1, 100.0, 2.0, {"compute": 2.0}, {"rows_in": 6}, (0.0, 1.0), 0)


def write(folder: Path, *, pid: int | None = None, partly: str = "", rows: tuple[int, ...] = (), **about: str) -> None:
    """Write the events of a run of this process, or of another, of which a scan is half done."""
    facts = {"run_id": "1", "kind": "fit", "name": "x", "started": 90.0, **about}
    log = EventLog(folder, recorder := Recorder(inputs=[{"rows": each} for each in rows]), facts)
    with log, recorder.scan("scan", 2, ps.LocalEngine(device="cpu")):
        recorder.take(Recorded(None, [TASK]))
        log.advance("scan", 2, 0)
        log.advance("scan", 2, 1)
    lines = [line for line in log.path.read_text().splitlines() if "ends" not in json.loads(line)]
    text = "\n".join(lines) + "\n" + partly
    log.path.write_text(text if pid is None else text.replace(f'"pid": {os.getpid()}', f'"pid": {pid}'))


def test_events_say_what_has_begun_and_is_done(tmp_path):
    write(tmp_path)
    events = [json.loads(line) for line in (tmp_path / EVENTS).read_text().splitlines()]
    about = {"run_id": "1", "kind": "fit", "name": "x", "started": 90.0}
    assert events[0]["run"] == {**about, "host": host_name(), "pid": os.getpid()}
    merged = {name: value for event in events for name, value in event.items()}
    ((place, name, kind, _, items),) = merged["spans"]
    assert (place, name, kind, items) == (0, "scan", "scan", 2)
    assert merged["tasks"] == [[0, "a:1", 100.0, 2.0, 6, {"compute": 2.0}]]
    assert merged["done"] == {"scan": [1, 2]}


def test_a_run_under_way_is_seen_by_its_events_and_lines_when_they_are_whole(tmp_path):
    write(tmp_path)
    snapshot = Watcher(tmp_path).look(now=110.0)
    assert (snapshot.status, snapshot.seconds, snapshot.run_id) == ("running", 20.0, "1")
    assert [(span["name"], span["done"], span["total"]) for span in snapshot.spans] == [("scan", 1, 2)]
    write(tmp_path, partly='{"done": {"sc')
    watcher = Watcher(tmp_path)
    assert watcher.look().spans[0]["done"] == 1
    with (tmp_path / EVENTS).open("a") as file:
        file.write('an": [2, 2]}}\n')
    assert watcher.look().spans[0]["done"] == 2


def test_a_run_whose_process_is_gone_is_lost(tmp_path):
    write(tmp_path, pid=2**22 + 1)  # Linux numbers its processes below
    assert [snapshot.status for snapshot in Watcher(tmp_path).follow()] == ["lost"]


def test_a_run_is_followed_from_its_start_to_its_record(local, tmp_path):
    with ps.runs.record(tmp_path, kind="look", name="x") as under_way:
        watcher = Watcher(Path(under_way.path))
        first = watcher.look()
        local.from_arrow(pa.table({"x": [1, 2, 3]})).to_polars()
    last = watcher.look()
    assert (first.status, first.kind, first.spans) == ("running", "look", [])
    assert last.status == "done"
    assert [(span["name"], span["done"], span["total"]) for span in last.spans] == [("read", 1, 1)]
    assert [(worker["tasks"], worker["busy"]) for worker in last.workers] == [(1, 1.0)]


def test_events_go_when_there_is_a_record_and_none_are_written_to_a_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ps.runs.record("memory://watching-runs"):
        assert not list(tmp_path.iterdir())
    with ps.runs.record(tmp_path) as under_way:
        assert (Path(under_way.path) / EVENTS).exists()
    assert sorted(path.name for path in Path(under_way.path).iterdir()) == ["run.json", "tasks.parquet"]


def test_a_folder_without_a_run_is_refused_by_the_command_too(tmp_path, monkeypatch, capsys):
    with pytest.raises(MissingInputError, match="has no run"):
        Watcher(tmp_path)
    monkeypatch.chdir(tmp_path)
    for runs, code, error in (("nowhere", 3, "MissingInputError"), ("s3://bucket/runs", 2, "ConfigError")):
        assert main(["watch", "last", "--runs", runs, "--json"]) == code
        assert json.loads(capsys.readouterr().out)["error"]["type"] == error


def test_who_follows_is_told_by_every_progress():
    for progress in (Progress, RichProgress):
        told = []
        with following(lambda *what, told=told: told.append(what)), progress().track("scan", 3) as track:
            track.advance()
            track.advance(2, "more")
        assert told == [("scan", 3, 0), ("scan", 3, 1), ("scan", 3, 2)]


def test_the_command_prints_a_run_as_it_is_and_follows_it_to_its_end(tmp_path, capsys):
    folder = tmp_path / "20260102T030405"
    write(folder)
    for named in ("last", "20", str(folder)):
        assert main(["watch", named, "--once", "--runs", str(tmp_path)]) == 0
        printed = capsys.readouterr().out
        assert [each for each in ("fit x 1  running", "1/2", "a:1") if each not in printed] == []
    with ps.runs.record(tmp_path / "ended", kind="look"):
        pass
    assert main(["watch", "last", "--runs", str(tmp_path / "ended"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["kind"], told["spans"]) == ("done", "look", [])


def test_the_command_says_what_is_left_by_the_runs_before(tmp_path, capsys, monkeypatch):
    for place, rows in enumerate((4_000, 8_000, 12_000)):
        timed(rows, run_id=f"2025{place}").save(tmp_path / f"2025{place}")
    write(tmp_path / "2026", rows=(10_000, 6_000), run_id="2026", name="clicks")
    monkeypatch.setattr(watcher_module, "time", SimpleNamespace(time=lambda: 98.0))  # 8 seconds after its start
    assert main(["watch", "last", "--once", "--runs", str(tmp_path), "--json"]) == 0
    left = json.loads(capsys.readouterr().out)["seconds_left"]
    assert left == pytest.approx(6 * 0.5 + 16 - 8, rel=0.02)


def test_a_run_is_predicted_again_when_more_of_its_inputs_is_known(tmp_path):
    asked: list[int] = []
    write(tmp_path)
    watcher = Watcher(tmp_path, lambda about: asked.append(about["inputs"][0]["rows"]) or 60.0)
    first = watcher.look(now=110.0)
    with (tmp_path / EVENTS).open("a") as file:
        file.write(json.dumps({"run": {"inputs": [{"rows": 500}]}}) + "\n")
    watcher.look(now=111.0)
    watcher.look(now=112.0)
    assert asked == [0, 500]
    assert first.seconds_left == 60.0 - 20.0
