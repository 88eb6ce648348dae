"""Temporary folders: whom they outlive, and whom not."""

import copy
import gc
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.errors import OutputError
from penstock.io.sinks import TemporaryFolder
from penstock.io.sinks.temporary import remove_abandoned
from penstock.spmd.checkpoints import Checkpoint, CheckpointStore

SAVED = Checkpoint(7, b"trees")


@pytest.mark.thorough
def test_a_folder_is_removed_with_what_is_in_it_when_nothing_refers_to_it_and_not_with_a_copy(tmp_path):
    folder = TemporaryFolder(tmp_path)
    (folder.path / "rows").mkdir()
    (folder.path / "rows" / "part").write_text("x")
    sent = pickle.loads(pickle.dumps(folder))
    assert sent == str(folder.path)
    assert copy.deepcopy([folder])[0] is folder
    del sent
    gc.collect()
    assert folder.path.is_dir()
    del folder
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_removing_it_twice_is_no_error(tmp_path):
    with TemporaryFolder(tmp_path) as folder:
        folder.remove()
    assert not folder.path.exists()


@pytest.mark.thorough
def test_the_end_of_a_process_removes_it(tmp_path):
    code = """
import sys
from penstock.io.sinks import TemporaryFolder
kept = TemporaryFolder(sys.argv[1])
print(kept.path)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_place_where_it_cannot_be_is_named(tmp_path):
    with pytest.raises(OutputError, match="absent"):
        TemporaryFolder(tmp_path / "absent")


def test_a_relative_place_is_told_from_the_root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stage").mkdir()
    assert TemporaryFolder("stage").path.parent == tmp_path / "stage"


# What killed processes leave


MAKES = """
import sys
from penstock.io.sinks import TemporaryFolder
folder = TemporaryFolder(sys.argv[1])
(folder.path / "rows").write_text("x")
print(folder.path, flush=True)
sys.stdin.read()
"""


@contextmanager
def other_process(place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Give a process that has made a folder in `place` and goes on, and the folder."""
    command, pipe = [sys.executable, "-c", MAKES, str(place)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def make_one(place: Path) -> None:
    """Do what the first folder of another process does."""
    remove_abandoned.cache_clear()
    TemporaryFolder(place).remove()


@pytest.mark.thorough
@pytest.mark.faults
def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(tmp_path, caplog):
    with other_process(tmp_path) as (process, path):
        process.kill()
        process.wait()
        assert path.is_dir()
        make_one(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert f"removed {path}, which a process that was killed had left" in caplog.text


@pytest.mark.thorough
def test_the_folder_of_a_living_process_is_left_alone(tmp_path):
    with other_process(tmp_path) as (_, path):
        make_one(tmp_path)
        assert (path / "rows").read_text() == "x"


@pytest.fixture
def abandoned(tmp_path):
    """The folder of a process that has ended as one that is killed does."""
    child = os.fork()
    if child == 0:
        try:
            folder = TemporaryFolder(tmp_path)
            (folder.path / "rows").write_text("x")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    (path,) = tmp_path.glob("penstock-*")
    return path


def test_the_folder_of_a_process_that_ended_is_removed_by_the_next_one_and_that_of_another_host_is_left(
    abandoned, caplog
):
    record = abandoned.with_name(f".{abandoned.name}.owner")
    written = record.read_text()
    record.write_text(json.dumps({**json.loads(written), "host": "elsewhere"}))
    make_one(abandoned.parent)
    assert abandoned.is_dir()
    record.write_text(written)
    make_one(abandoned.parent)
    assert list(abandoned.parent.iterdir()) == []
    assert f"removed {abandoned}, which a process that was killed had left" in caplog.text


def test_what_belongs_to_another_user_is_left_alone(abandoned, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    make_one(abandoned.parent)
    assert abandoned.is_dir()


def test_folders_without_a_record_are_left_alone(tmp_path):
    for name in ("penstock-mine", "penstock-0123456789abcdef", "rows"):
        (tmp_path / name).mkdir()
        make_one(tmp_path)
        assert (tmp_path / name).is_dir()


def test_a_link_in_place_of_a_folder_is_not_followed(abandoned, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "rows").write_text("x")
    shutil.rmtree(abandoned)
    abandoned.symlink_to(elsewhere)
    make_one(abandoned.parent)
    assert (elsewhere / "rows").read_text() == "x"


def test_a_link_in_place_of_a_record_is_not_followed(abandoned, tmp_path_factory):
    record = abandoned.with_name(f".{abandoned.name}.owner")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "record"
    record.rename(elsewhere)
    record.symlink_to(elsewhere)
    make_one(abandoned.parent)
    assert abandoned.is_dir()
    assert elsewhere.is_file()


@pytest.mark.thorough
@pytest.mark.faults
def test_a_training_that_is_killed_leaves_nothing_to_the_next_one(tmp_path, monkeypatch):
    """The checkpoints in the temporary directory, and those half written in a directory that was given."""
    code = """
import os, signal, sys
from penstock.spmd.checkpoints import Checkpoint, CheckpointStore
given, own = CheckpointStore(sys.argv[1], "key"), CheckpointStore(None, "key")
own.save(Checkpoint(1, b"trees"))
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
given.save(Checkpoint(1, b"trees"))
"""
    given, own = tmp_path / "given", tmp_path / "own"
    own.mkdir()
    environment = {**os.environ, "TMPDIR": str(own)}
    killed = subprocess.run([sys.executable, "-c", code, str(given)], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [*given.iterdir()] != [] != [*own.iterdir()]
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    remove_abandoned.cache_clear()
    with CheckpointStore(None, "key"):
        CheckpointStore(given, "key").save(SAVED)
    assert [path.suffix for path in given.iterdir()] == [".checkpoint"]
    assert [*own.iterdir()] == []
