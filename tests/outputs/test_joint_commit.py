"""Several outputs of one run: all of them or none, whatever fails, whoever is killed, whoever else writes there."""

import errno
import json
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import penstock.io.sinks
from penstock.errors import CommitConflictError, ConfigError, OutputError
from penstock.io.sinks import JointCommit, joint_commit, locks, read_manifest, swap
from penstock.io.sinks.journal import Change, Journal
from penstock.io.sinks.locks import Owner, claim, release
from penstock.io.sinks.staging import Siblings
from penstock.io.sinks.target import fingerprint
from tests.outputs.alone import StagedDirectory, StagedFile, no_exchange

OLD, NEW, NOTHING = ["old"] * 4, ["killed", "killed", None, "killed"], [None] * 4


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[object]]]:
    command = [sys.executable, str(Path(__file__).with_name("killed_runs.py")), str(tmp_path_factory.mktemp("k") / "k")]
    environment = os.environ | {"PYTHONPATH": str(Path(penstock.io.sinks.__file__).parents[3])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.thorough
@pytest.mark.faults
@pytest.mark.parametrize("way", ["exchange", "set aside", "nothing there"])
def test_a_run_killed_at_any_step_is_all_old_or_all_new_after_a_run_on_any_one_target(kills, way):
    old = NOTHING if way == "nothing there" else OLD
    assert len(kills[way]) > 20
    assert any(killed not in (old, NEW) for killed, *_ in kills[way])  # some kill is between two changes of places
    settled = [after for _, after, *_ in kills[way]]
    assert settled == [old] * settled.count(old) + [NEW] * settled.count(NEW)
    assert 0 < settled.count(old) < len(settled)


@pytest.mark.thorough
@pytest.mark.faults
@pytest.mark.parametrize("way", ["twice", "twice set aside"])
def test_a_run_killed_while_it_completes_another_leaves_that_to_the_next(kills, way):
    assert len(kills[way]) > 10
    assert {tuple(after) for _, after, *_ in kills[way]} == {tuple(NEW)}  # type: ignore[arg-type]


@pytest.mark.thorough
@pytest.mark.faults
def test_nothing_is_left_after_the_next_run_on_the_same_targets(kills):
    for outcomes in kills.values():
        assert [rest for *_, rest in outcomes if rest] == []
        assert [last for _, _, last, _ in outcomes] == [settled for _, settled, _, _ in outcomes]


def run(folder: Path, run_id: str, *names: str) -> JointCommit:
    """Return the commit of directories, and of a page for a name with a suffix."""
    places = [folder / name for name in names]
    return JointCommit(
        *(
            StagedFile(place, run_id=run_id) if place.suffix else StagedDirectory(place, overwrite=True, run_id=run_id)
            for place in places
        )
    )


def seal(joint: JointCommit) -> None:
    for output in joint.outputs:
        output.seal(output.run_id.encode() if isinstance(output, StagedFile) else [])


def save(folder: Path, run_id: str, *names: str) -> None:
    with run(folder, run_id, *names) as joint:
        seal(joint)
        joint.commit()


def state(folder: Path) -> dict[str, str]:
    """Return the run of each output in a folder; all that lies there has to be one."""
    found = {}
    for name in os.listdir(folder):
        if (folder / name).is_file():
            found[name] = (folder / name).read_text()
        else:
            found[name] = read_run(folder / name) or "no manifest"
    return found


def test_a_run_that_lost_one_target_to_another_changes_none(tmp_path):
    save(tmp_path, "old", "a", "b", "c.html")
    with run(tmp_path, "first", "a", "b") as first:
        seal(first)
        save(tmp_path, "second", "b", "c.html")
        with pytest.raises(CommitConflictError, match=r"b now holds the output of run 'second'.*held .*'old'"):
            first.commit()
    assert state(tmp_path) == {"a": "old", "b": "second", "c.html": "second"}


def test_a_page_that_another_run_wrote_meanwhile_is_a_conflict(tmp_path):
    with run(tmp_path, "first", "a", "c.html") as first:
        seal(first)
        save(tmp_path, "second", "c.html")
        with pytest.raises(CommitConflictError, match=r"c\.html now holds a file, and held nothing"):
            first.commit()
    assert state(tmp_path) == {"c.html": "second"}


@pytest.mark.thorough
@pytest.mark.faults
def test_runs_with_overlapping_targets_neither_mix_nor_wait_for_each_other(tmp_path):
    names = ["a", "b", "c", "d.html"]
    choose = random.Random(5)

    def attempt(number: int) -> tuple[str, list[str]] | None:
        chosen = choose.sample(names, 3)
        try:
            save(tmp_path, f"r{number}", *chosen)
        except CommitConflictError:
            return None
        return f"r{number}", chosen

    with ThreadPoolExecutor(4) as pool:
        won = [each for each in pool.map(attempt, range(60), timeout=60) if each is not None]
    last = state(tmp_path)
    assert won
    assert set(last.values()) <= {run_id for run_id, _ in won}
    written = {run_id: set(chosen) for run_id, chosen in won}
    assert all(name in written[run_id] for name, run_id in last.items())


def test_a_lock_that_is_released_as_it_is_refused_is_a_conflict_too(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_open_locked", lambda path: None)
    monkeypatch.setattr(Path, "exists", lambda self: True)  # as it was a moment ago
    with (
        pytest.raises(CommitConflictError, match="run 'unknown' has not released"),
        locks.commit_lock(tmp_path / ".a.commit-lock", "mine", patience=0.0),
    ):
        pass


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["exchange", "aside"])
def test_a_change_of_places_that_fails_takes_the_others_back(tmp_path, monkeypatch, subtests, way):
    if way == "aside":
        monkeypatch.setattr(swap, "_renameat2", no_exchange)
    names, make = ("a", "b", "c.html"), Change.make
    errors = (OSError(errno.EIO, "Input/output error"), KeyboardInterrupt())
    for case, (existing, failing, moment, error) in enumerate(
        product((True, False), range(3), ("before", "after"), errors)
    ):
        folder, calls = tmp_path / str(case), iter(range(3))
        folder.mkdir()
        if existing:
            save(folder, "old", *names)

        def broken(
            change: Change, calls: Any = calls, failing: int = failing, when: str = moment, error: Any = error
        ) -> None:
            fails = next(calls) == failing
            if not fails or when == "after":
                make(change)
            if fails:
                raise error

        with subtests.test(existing=existing, failing=failing, moment=moment, error=repr(error)):
            with monkeypatch.context() as patch, pytest.raises((OutputError, KeyboardInterrupt)):
                patch.setattr(Change, "make", broken)
                save(folder, "new", *names)
            assert state(folder) == (dict.fromkeys(names, "old") if existing else {})


def test_what_cannot_be_taken_back_is_completed_by_a_run_after_this_process(tmp_path, monkeypatch):
    save(tmp_path, "old", "a", "b")
    make = Change.make

    def broken(change: Change) -> None:
        if change.names.target.name == "b":
            raise OSError(errno.EIO, "Input/output error")
        make(change)

    with monkeypatch.context() as patch:
        patch.setattr(Change, "make", broken)
        patch.setattr(Change, "undo", broken)
        with pytest.raises(OutputError, match="EIO"):
            save(tmp_path, "new", "a", "b")
        patch.setattr(joint_commit, "_SETTLING_SECONDS", 0.0)
        with pytest.raises(CommitConflictError, match="half in place"):
            save(tmp_path, "next", "b")
    monkeypatch.setattr(Owner, "is_alive", lambda _: False)
    with run(tmp_path, "next", "b"):
        assert (read_run(tmp_path / "a"), read_run(tmp_path / "b")) == ("new", "new")
    assert state(tmp_path) == {"a": "new", "b": "new"}


def read_run(directory: Path) -> str | None:
    manifest = read_manifest(directory)
    return manifest and manifest.run_id


def half_done(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave what a run does that dies between its two changes of places."""
    save(folder, "old", "a", "b")
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "make", lambda journal: journal.changes[0].make())
        patch.setattr(Journal, "remove", lambda journal: None)
        save(folder, "dead", "a", "b")
    monkeypatch.setattr(Owner, "is_alive", lambda _: False)
    assert (read_run(folder / "a"), read_run(folder / "b")) == ("dead", "old")


@pytest.mark.parametrize("damage", ["gone", "grown"])
def test_a_staged_output_that_is_not_as_it_was_sealed_takes_the_others_back(tmp_path, monkeypatch, damage):
    half_done(tmp_path, monkeypatch)
    sealed = tmp_path / ".b.staging-dead.sealed"
    shutil.rmtree(sealed) if damage == "gone" else (sealed / "more").write_text("")
    with run(tmp_path, "next", "b" if damage == "gone" else "a"):
        assert (read_run(tmp_path / "a"), read_run(tmp_path / "b")) == ("old", "old")
    assert state(tmp_path) == {"a": "old", "b": "old"}


def test_a_target_that_was_only_moved_away_gets_what_was_to_come(tmp_path, monkeypatch):
    half_done(tmp_path, monkeypatch)
    (tmp_path / "b").rename(Siblings(tmp_path / "b", "dead").aside)
    with run(tmp_path, "next", "a"):
        assert read_run(tmp_path / "b") == "dead"
    assert state(tmp_path) == {"a": "dead", "b": "dead"}


def test_what_another_program_put_at_a_target_meanwhile_is_left(tmp_path, monkeypatch, caplog):
    half_done(tmp_path, monkeypatch)
    shutil.rmtree(tmp_path / "b")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.tex").write_text("years of work")
    with run(tmp_path, "next", "a"):
        assert read_run(tmp_path / "a") == "dead"
    assert (tmp_path / "b" / "thesis.tex").read_text() == "years of work"
    assert "was changed by another program" in caplog.text


def test_a_half_done_run_of_another_host_stops_the_next_before_its_work(tmp_path, monkeypatch):
    half_done(tmp_path, monkeypatch)
    monkeypatch.setattr(Owner, "is_here", lambda _: False)
    monkeypatch.setattr(joint_commit, "_SETTLING_SECONDS", 0.0)
    with pytest.raises(CommitConflictError, match="half in place") as caught, run(tmp_path, "next", "b"):
        pytest.fail("the block was entered")
    assert str(tmp_path / ".a.staging-dead.journal") in str(caught.value.hint)


def test_a_half_done_run_is_completed_where_its_folder_was_moved_to(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    half_done(tmp_path / "here", monkeypatch)
    moved = (tmp_path / "here").rename(tmp_path / "there")
    with run(moved, "next", "b"):
        pass
    assert state(moved) == {"a": "dead", "b": "dead"}


def test_a_record_in_a_folder_of_others_names_no_targets_for_removal(tmp_path, monkeypatch):
    """A journal in a shared folder that says of somebody's model: it was to be removed."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "home").mkdir()
    save(tmp_path / "home", "mine", "model")
    save(tmp_path / "shared", "mine", "a")
    before = fingerprint(tmp_path / "home" / "model")
    names = Siblings(tmp_path / "shared" / "a", "evil")
    release(claim(names.record, ["a", "../home/model"]))
    names.journal.write_text(json.dumps([{"target": "../home/model", "before": before, "after": None}]))
    monkeypatch.setattr(Owner, "is_alive", lambda _: False)
    with run(tmp_path / "shared", "next", "a"):
        pass
    assert state(tmp_path / "home") == {"model": "mine"}


def test_a_journal_that_was_not_written_to_its_end_changes_nothing(tmp_path, monkeypatch):
    save(tmp_path, "old", "a", "b")
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "make", lambda journal: journal.path.write_bytes(journal.path.read_bytes()[:-9]))
        patch.setattr(Journal, "remove", lambda journal: None)
        save(tmp_path, "dead", "a", "b")
    monkeypatch.setattr(Owner, "is_alive", lambda _: False)
    with run(tmp_path, "next", "b"):
        pass
    assert state(tmp_path) == {"a": "old", "b": "old"}


def test_outputs_in_each_other_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="lie in each other"):
        run(tmp_path, "r", "a", "a/page.html")


def test_an_output_that_was_forgotten_stops_the_commit(tmp_path):
    save(tmp_path, "old", "a", "b")
    with pytest.raises(ConfigError, match="b was neither sealed nor left out"), run(tmp_path, "new", "a", "b") as joint:
        joint.outputs[0].seal([])
        joint.commit()
    assert state(tmp_path) == {"a": "old", "b": "old"}


def test_no_outputs_are_a_commit_too():
    with JointCommit() as joint:
        joint.commit()


@pytest.mark.parametrize("target", ["folder", "pipe"])
def test_a_page_in_the_place_of_what_is_no_file_is_refused(tmp_path, target):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match=target), StagedFile(tmp_path / target, run_id="r"):
        pytest.fail("the block was entered")
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]


def test_an_empty_directory_that_others_filled_meanwhile_is_not_replaced(tmp_path):
    (tmp_path / "a").mkdir()
    with run(tmp_path, "new", "a") as joint:
        seal(joint)
        (tmp_path / "a" / "thesis.tex").write_text("years of work")
        with pytest.raises(CommitConflictError):
            joint.commit()
    assert os.listdir(tmp_path / "a") == ["thesis.tex"]
