"""Which staging directories the next run removes, and which it leaves alone."""

import fcntl
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import penstock.io.sinks
from penstock.io.sinks import TemporaryFolder
from penstock.io.sinks.locks import Owner
from tests.outputs.alone import StagedDirectory


@pytest.fixture(scope="module")
def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def leave(folder: Path, owner: Owner | None, run_id: str = "r0") -> tuple[Path, Path]:
    """Make what a run has beside its target while it works; return the staging directory and the owner record."""
    staging = folder / f".out.staging-{run_id}"
    staging.mkdir()
    (staging / "part-0.csv").write_text("half")
    record = folder / f".out.staging-{run_id}.owner"
    record.write_text("" if owner is None else json.dumps(vars(owner)))
    return staging, record


def next_run(folder: Path) -> None:
    with StagedDirectory(folder / "out", run_id="r1"):
        pass


def test_staging_of_a_dead_process_is_removed_and_reported(tmp_path, dead_pid, caplog):
    staging, record = leave(tmp_path, Owner(socket.gethostname(), dead_pid, 1))
    os.utime(record, (time.time() - 7200,) * 2)
    next_run(tmp_path)
    assert os.listdir(tmp_path) == []
    assert [entry.levelno for entry in caplog.records] == [logging.WARNING]
    assert f"removed {staging}: run r0 died without finishing, 720" in caplog.text


def test_staging_of_a_process_whose_id_was_given_to_another_is_removed(tmp_path):
    here = Owner.here()
    assert here.started is not None
    leave(tmp_path, Owner(here.host, here.pid, here.started - 1))
    next_run(tmp_path)
    assert os.listdir(tmp_path) == []


def test_staging_of_a_living_run_is_kept(tmp_path):
    with StagedDirectory(tmp_path / "out", run_id="r0") as living:
        (living.path / "part-0.csv").write_text("half")
        next_run(tmp_path)
        assert (living.path / "part-0.csv").read_text() == "half"


def test_run_at_work_holds_the_lock_of_its_record(tmp_path):
    with (
        StagedDirectory(tmp_path / "out", run_id="r0"),
        (tmp_path / ".out.staging-r0.owner").open() as record,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_staging_of_a_living_process_is_kept_where_locks_do_not_reach(tmp_path):
    staging, record = leave(tmp_path, Owner.here())
    next_run(tmp_path)
    assert staging.is_dir()
    assert record.is_file()


def test_locked_staging_is_kept_though_its_process_cannot_be_seen(tmp_path, dead_pid):
    staging, record = leave(tmp_path, Owner(socket.gethostname(), dead_pid, 1))
    with record.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        next_run(tmp_path)
    assert staging.is_dir()


FORKS = """
import os, signal, sys
import penstock.io.sinks
from penstock.io.sinks import JointCommit, StagedDirectory, TemporaryFolder

with JointCommit(StagedDirectory(sys.argv[1], run_id="r0")):
    child = os.fork()
    if child == 0:
        os.close(1)
        signal.pause()
        os._exit(0)
    print(child, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.thorough
@pytest.mark.faults
def test_staging_of_a_dead_process_is_removed_while_a_process_that_it_forked_lives(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(penstock.io.sinks.__file__).parents[3])}
    command = [sys.executable, "-c", FORKS, str(tmp_path / "out")]
    killed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    try:
        next_run(tmp_path)
        assert os.listdir(tmp_path) == []
    finally:
        os.kill(int(killed.stdout), signal.SIGKILL)


def test_a_forked_process_that_leaves_the_block_removes_nothing(tmp_path):
    with StagedDirectory(tmp_path / "out", run_id="r0") as staged:
        temporary = TemporaryFolder(tmp_path)
        child = os.fork()
        if child == 0:
            staged.__exit__(None, None, None)
            temporary.remove()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert staged.path.is_dir()
        assert temporary.path.is_dir()


def test_staging_of_another_host_is_kept_and_reported_and_so_is_that_of_another_target(tmp_path, dead_pid, caplog):
    staging, _ = leave(tmp_path, Owner("elsewhere", dead_pid, 1))
    next_run(tmp_path)
    assert staging.is_dir()
    assert f"{staging} belongs to host elsewhere" in caplog.text
    mine, _ = leave(tmp_path, Owner(socket.gethostname(), dead_pid, 1), "r2")
    with StagedDirectory(tmp_path / "other", run_id="r1"):
        assert mine.is_dir()


def test_empty_record_is_taken_for_dead_only_when_it_is_old(tmp_path):
    staging, record = leave(tmp_path, None)
    next_run(tmp_path)
    assert staging.exists()
    os.utime(record, (time.time() - 3600,) * 2)
    next_run(tmp_path)
    assert not staging.exists()


def test_staging_that_cannot_be_removed_is_reported_and_does_not_stop_the_run(tmp_path, dead_pid, caplog, monkeypatch):
    leave(tmp_path, Owner(socket.gethostname(), dead_pid, 1))

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("penstock.io.sinks.staging.shutil.rmtree", refuse)
    with StagedDirectory(tmp_path / "out", run_id="r1"):
        assert "cannot remove" in caplog.text
