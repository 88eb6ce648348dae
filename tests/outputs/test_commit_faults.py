"""Conflicts, full disks and failing devices: one whole output, an error that says what happened, nothing left over."""

import errno
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import penstock.io.sinks
from penstock.errors import CommitConflictError, DiskFullError, OutputError, OutputExistsError
from penstock.io.sinks import joint_commit, journal, read_manifest, swap, translate_os_error, translating
from penstock.io.sinks.locks import commit_lock
from tests.outputs.alone import StagedDirectory, no_exchange, save, verified, write


def whole(target: Path) -> str:
    return verified(target).run_id


@pytest.fixture(params=["exchange", "aside"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace an output in each of the two ways there are."""
    if request.param == "aside":
        monkeypatch.setattr(swap, "_renameat2", no_exchange)


each_way = pytest.mark.usefixtures("way")


@each_way
@pytest.mark.parametrize("existing", [False, True])
def test_second_of_two_runs_to_commit_loses_and_both_are_named(tmp_path, existing):
    target = tmp_path / "out"
    if existing:
        save(target, "old")
    with (
        StagedDirectory(target, overwrite=existing, run_id="first") as first,
        StagedDirectory(target, overwrite=existing, run_id="second") as second,
    ):
        entry = write(first)
        second.commit([write(second)])
        with pytest.raises(CommitConflictError) as caught:
            first.commit([entry])
    assert "'first'" in str(caught.value)
    assert "'second'" in str(caught.value)
    assert caught.value.run_id == "first"
    assert whole(target) == "second"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.faults
@pytest.mark.parametrize("existing", [False, True])
def test_exactly_one_of_many_runs_at_once_wins(tmp_path, existing):
    target = tmp_path / "out"
    if existing:
        save(target, "old")
    runs = [f"r{number}" for number in range(6)]
    ready = threading.Barrier(len(runs))

    def attempt(run_id: str) -> str | None:
        with StagedDirectory(target, overwrite=existing, run_id=run_id) as staged:
            entry = write(staged)
            ready.wait(timeout=120)
            try:
                staged.commit([entry])
            except CommitConflictError:
                return None
            return run_id

    with ThreadPoolExecutor(len(runs)) as pool:
        won = [run_id for run_id in pool.map(attempt, runs) if run_id is not None]
    assert won == [whole(target)]
    assert os.listdir(tmp_path) == ["out"]


def test_target_removed_meanwhile_is_a_conflict(tmp_path):
    target = tmp_path / "out"
    save(target, "old")
    with (
        pytest.raises(CommitConflictError, match="now holds nothing, and held the output of run 'old'"),
        StagedDirectory(target, overwrite=True, run_id="new") as staged,
    ):
        entry = write(staged)
        shutil.rmtree(target)
        staged.commit([entry])
    assert os.listdir(tmp_path) == []


@each_way
def test_target_made_by_another_program_just_before_the_swap_is_a_conflict(tmp_path, monkeypatch):
    target = tmp_path / "out"
    monkeypatch.setattr(joint_commit, "failpoint", lambda step: target.mkdir() if step == "checked" else None)
    with pytest.raises(CommitConflictError, match="now holds no manifest"):
        save(target, "new")
    assert os.listdir(tmp_path) == ["out"]
    assert os.listdir(target) == []


def test_lock_that_is_never_released_is_a_conflict_naming_its_run(tmp_path, monkeypatch):
    monkeypatch.setattr(joint_commit, "_LOCK_PATIENCE", 0.05)
    told = "'new' cannot commit: run 'hanging'"
    with commit_lock(tmp_path / ".out.commit-lock", "hanging", 0.0), pytest.raises(CommitConflictError, match=told):
        save(tmp_path / "out", "new")
    assert os.listdir(tmp_path) == []


@pytest.mark.thorough
@pytest.mark.faults
def test_target_that_is_replaced_never_vanishes(tmp_path):
    target = tmp_path / "out"
    runs = [f"r{number}" for number in range(15)]
    save(target, "r0")
    seen: set[str | None] = set()
    done, looked = threading.Event(), threading.Event()

    def look() -> None:
        while not done.is_set():
            manifest = read_manifest(target)
            seen.add(manifest and manifest.run_id)
            looked.set()

    reader = threading.Thread(target=look)
    reader.start()
    for run_id in runs:
        save(target, run_id)
        for _ in range(2):  # the first may have begun before
            looked.clear()
            assert looked.wait(60)
    done.set()
    reader.join()
    assert seen == set(runs)


@each_way
@pytest.mark.parametrize("existing", [False, True])
def test_device_error_at_any_flush_or_of_the_swap_is_reported_and_leaves_the_target(tmp_path, monkeypatch, existing):
    target, flush, error = tmp_path / "out", os.fsync, OSError(errno.EIO, "Input/output error")
    if existing:
        save(target, "old")

    def refused(failing: int) -> None:
        with pytest.raises(OutputError, match=rf"{tmp_path}.*: EIO"):
            save(target, "new")
        assert os.listdir(tmp_path) == (["out"] if existing else []), failing
        assert not existing or whole(target) == "old"

    for failing in range(9):  # the last flush but one is that of the swap; after it the outcome stands
        calls = iter(range(100))

        def broken(descriptor: int, failing: int = failing, calls: Iterator[int] = calls) -> None:
            if next(calls) == failing:
                raise error
            flush(descriptor)

        monkeypatch.setattr(os, "fsync", broken)
        refused(failing)
    monkeypatch.setattr(os, "fsync", flush)

    def fails(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(swap, "_renameat2", fails)
        refused(-1)
    save(target, "new")
    assert whole(target) == "new"


def test_device_error_after_the_outputs_are_in_place_is_only_reported(tmp_path, monkeypatch, caplog):
    def broken(path: Path) -> None:
        if not list(path.glob(".*.journal")) and (tmp_path / "out").exists():
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(journal, "sync_directory", broken)
    save(tmp_path / "out", "new")
    assert whole(tmp_path / "out") == "new"
    assert os.listdir(tmp_path) == ["out"]
    assert "Input/output error" in caplog.text


def test_second_rename_failing_puts_the_old_output_back(tmp_path, monkeypatch):
    target = tmp_path / "out"
    save(target, "old")
    monkeypatch.setattr(swap, "_renameat2", no_exchange)
    rename = os.rename

    def broken(source: Path, destination: Path) -> None:
        if destination == target and "sealed" in source.name:
            raise OSError(errno.EIO, "Input/output error", str(source))
        rename(source, destination)

    monkeypatch.setattr(os, "rename", broken)
    with pytest.raises(OutputError, match="EIO"):
        save(target, "new")
    assert whole(target) == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_old_output_that_cannot_be_removed_does_not_fail_the_commit(tmp_path, monkeypatch, caplog):
    target = tmp_path / "out"
    save(target, "old")

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr("penstock.io.sinks.staging.shutil.rmtree", refuse)
        save(target, "new")
    assert whole(target) == "new"
    assert "the next run tries again" in caplog.text


# Runs where the file system is full, or a limit stands in for it; prints the error and what is left.
FULL = """
import json, os, resource, sys
from pathlib import Path
from penstock.errors import PenstockError
from penstock.io.sinks import file_entry, read_manifest, translating
from tests.outputs.alone import StagedDirectory

folder, moment = Path(sys.argv[1]), sys.argv[2]
target = folder / "out"
with StagedDirectory(target, run_id="old") as staged:
    staged.commit([])
if moment.startswith("limit"):
    sys.dont_write_bytecode = True  # Python leaves the half of a file that fits where other processes import it
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
try:
    with StagedDirectory(target, overwrite=True, run_id="new") as staged:
        path = staged.path / "part-0.csv"
        with translating(path):
            path.write_bytes(b"x" * (10**6 if moment.endswith("part") else 10))
        staged.commit([file_entry(path, staged.path, kind="csv")], metadata={"note": "x" * 10**6})
except PenstockError as error:
    left = sorted(os.listdir(folder))
    print(json.dumps([type(error).__name__, str(error), left, read_manifest(target).run_id]))
"""


def report(command: list[str]) -> tuple[str, str, list[str], str]:
    environment = os.environ | {"PYTHONPATH": str(Path(penstock.io.sinks.__file__).parents[3])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    name, message, left, run_id = json.loads(done.stdout)
    return name, message, left, run_id


@pytest.mark.thorough
@pytest.mark.parametrize("moment", ["limit-part", "limit-manifest"])
def test_file_size_limit_is_a_full_disk_and_leaves_the_old_output(tmp_path, moment):
    name, message, left, run_id = report([sys.executable, "-c", FULL, str(tmp_path), moment])
    assert (name, left, run_id) == ("DiskFullError", ["out"], "old")
    assert "EFBIG" in message
    assert "ulimit -f" in message


def test_full_disk_names_bytes_needed_and_the_mount_point(tmp_path):
    mount = next(place for place in tmp_path.parents if os.path.ismount(place))
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        error = translate_os_error(OSError(number, "full"), tmp_path / "not-there" / "part-0.csv", needed=12345)
        assert type(error) is DiskFullError
        found = re.search(r"needed 12345 bytes, free are (\d+) bytes on the file system (.+)", str(error))
        assert found is not None
        assert found[2] == str(mount)
        assert int(found[1]) <= shutil.disk_usage(mount).total
    fault = RuntimeError("parquet: underlying IO error: No space left on device (os error 28)")  # a writer in Rust
    assert type(translate_os_error(fault, tmp_path / "part-0.parquet")) is DiskFullError


def test_other_error_is_an_output_error_with_path_and_errno_or_its_own_words():
    error = translate_os_error(OSError(errno.EROFS, "x"), "/data/out")
    assert type(error) is OutputError
    assert str(error) == "cannot write /data/out: EROFS (Read-only file system)"
    assert error.path == "/data/out"
    assert "ValueError: bad column" in str(translate_os_error(ValueError("bad column"), "/data/out"))


def test_error_of_this_library_is_not_wrapped():
    error = OutputExistsError("x exists")  # also an OSError
    assert translate_os_error(error, "/data/out") is error
    with pytest.raises(OutputExistsError) as caught, translating("/data/out"):
        raise error
    assert caught.value is error
    assert error.__cause__ is None


@each_way
def test_taking_back_undoes_a_replacement(tmp_path):
    new, target, aside = (tmp_path / name for name in ("new", "target", "aside"))
    for path in (new, target):
        path.mkdir()
        (path / "name").write_text(path.name)
    swap.put_over(new, target, aside)
    assert (target / "name").read_text() == "new"
    swap.take_back(new, target, aside, replaced=True)
    assert [(path / "name").read_text() for path in (new, target)] == ["new", "target"]
    assert not aside.exists()


def test_lock_file_removed_while_it_was_being_locked_is_locked_anew(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    flock, calls = fcntl.flock, []

    def remove_first(descriptor: int, operation: int) -> None:
        if not calls:
            path.unlink()
        calls.append(operation)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with commit_lock(path, "r1", patience=10.0):
        assert path.read_text() == "r1"
    assert len(calls) == 2
