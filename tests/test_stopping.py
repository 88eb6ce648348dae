"""A command ends soon after a signal, whatever its tasks do, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.cli.reporting import GRACE
from penstock.core.bounded_pool import ahead, is_working

FAULTS = pytest.mark.faults  # processes that are sent signals and waited for

ROOT = Path(__file__).parents[1]
PATIENCE = 240.0
"""Seconds; what jobs run would take an hour or more."""
SIGNALS = [(signal.SIGINT, "SIGINT", 130), (signal.SIGTERM, "SIGTERM", 143)]
HEAD = """
import hashlib, sys, time
import pyarrow as pa
import penstock as ps
from penstock.cli import reporting
from penstock.io.sinks import JointCommit, StagedDirectory, TemporaryFolder
from penstock.cli.reporting import Reporter

def work(progress):
    engine = ps.LocalEngine(device="cpu", progress=progress)
    data = engine.from_arrow(pa.table({"x": range(9)}), fragment_bytes=24)
"""
TAIL = """
sys.exit(Reporter(as_json=True, traceback=False).run(work))
"""
SLEEPS = """
    def sleeps(frame):
        print("at work\\n", end="", flush=True)
        time.sleep(3600)
        return frame
    data.map_partitions(sleeps, {"x": "int64"}).write_parquet("out")
"""
STUCK_IN_C = """
    folder = TemporaryFolder(".")
    with JointCommit(staged := StagedDirectory("out", run_id="r")):
        (staged.path / "part").write_text("...")
        print("at work\\n", end="", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # half an hour, in which no signal is heard
"""
IGNORES = """
    reporting.GRACE = 3600.0
    with JointCommit(StagedDirectory("out", run_id="r")):
        while True:
            try:
                print("at work\\n", end="", flush=True)
                time.sleep(3600)
            except KeyboardInterrupt:
                pass
"""
Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Run a job in a process of its own, until it is at work."""
    processes: list[subprocess.Popen[str]] = []

    def run(body: str) -> subprocess.Popen[str]:
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
        process = subprocess.Popen(
            [sys.executable, "-c", HEAD + body + TAIL],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, cwd=tmp_path,
        )  # fmt: skip
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n", process.communicate()
        return process

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def stop(process: subprocess.Popen[str], number: int) -> tuple[float, int, dict[str, Any]]:
    """Send a signal; return the seconds until the process ends, its exit code and its error."""
    began = time.monotonic()
    process.send_signal(number)
    out, _ = process.communicate(timeout=PATIENCE)
    (told,) = (line for line in out.splitlines() if line.startswith("{"))  # a thread may begin its work after that
    return time.monotonic() - began, process.returncode, json.loads(told)["error"]


def wait_for_work(process: subprocess.Popen[str]) -> None:
    """Wait until a process has computed for a while."""
    running = psutil.Process(process.pid)
    before = running.cpu_times().user
    while running.cpu_times().user < before + 0.2:
        time.sleep(0.02)


@FAULTS
@pytest.mark.parametrize(("number", "name", "code"), SIGNALS)
def test_a_function_that_sleeps_is_not_waited_for(start, tmp_path, number, name, code):
    _, returned, error = stop(start(SLEEPS), number)
    assert (returned, error["type"], error["exit_code"]) == (code, name, code)
    assert error["message"] == "stopped during 'write'"
    assert list(tmp_path.iterdir()) == []


@FAULTS
@pytest.mark.parametrize(("number", "name", "code"), SIGNALS)
def test_a_main_thread_that_is_stuck_in_c_is_ended_and_its_staging_removed(start, tmp_path, number, name, code):
    process = start(STUCK_IN_C)
    assert len(list(tmp_path.iterdir())) == 4  # what is staged, a temporary folder, and who owns them
    wait_for_work(process)  # it says so just before
    seconds, returned, error = stop(process, number)
    assert seconds >= GRACE
    assert (returned, error["type"]) == (code, name)
    assert error["message"] == "stopped by force: it did not end in time"
    assert list(tmp_path.iterdir()) == []


@FAULTS
def test_a_second_signal_ends_what_ignores_the_first(start, tmp_path):
    process = start(IGNORES)
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    _, returned, error = stop(process, signal.SIGINT)
    assert (returned, error["type"]) == (143, "SIGTERM")
    assert list(tmp_path.iterdir()) == []


def test_threads_end_with_the_last_item_or_the_first_error():
    assert list(ahead(str, range(9), 3)) == list("012345678")
    with pytest.raises(ZeroDivisionError):
        list(ahead((1).__truediv__, [1, 0, 1], 3))
    assert not is_working()


def test_what_an_interrupt_leaves_behind_is_known_until_it_ends():
    at_work, go_on = threading.Barrier(3), threading.Event()

    def task(item: int) -> None:
        at_work.wait(60)
        if item == 0:
            raise KeyboardInterrupt
        go_on.wait(60)

    with pytest.raises(KeyboardInterrupt):
        list(ahead(task, [0, 1, 2], 3))
    assert is_working()
    go_on.set()
    deadline = time.monotonic() + 50
    while is_working():
        assert time.monotonic() < deadline
        time.sleep(0.01)
