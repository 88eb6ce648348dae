"""Test servers: none outlives its tests, however they end."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from eventually import until_ended
from servers import serving

FAMILY = """
import os, signal, subprocess, sys, time
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(f"processes {os.getpid()},{other.pid} listen", flush=True)
if "brief" not in sys.argv:
    time.sleep(600)
"""
"""A server with a worker; it may ignore the request to terminate, or end before its worker."""
TESTS = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from servers import serving
with serving([sys.executable, *sys.argv[3:]], Path(sys.argv[2])) as server:
    print(server.says("processes (.*) listen"), server.guard.pid, sep=",", flush=True)
    time.sleep(600)
"""
SAID = "processes (.*) listen"


@pytest.mark.faults
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_with_the_process_of_its_tests(number, tmp_path):
    command = [sys.executable, "-c", TESTS, str(Path(__file__).parent), str(tmp_path / "log"), "-c", FAMILY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tests:
        assert tests.stdout is not None
        running = tests.stdout.readline()
        assert running.count(",") == 2  # the server, its worker and the guard
        tests.send_signal(number)
    until_ended(map(int, running.split(",")))


@pytest.mark.parametrize("how", ["", "deaf"])
def test_a_server_ends_with_its_block_also_where_it_does_not_want_to(how, tmp_path):
    with serving([sys.executable, "-c", FAMILY, how], tmp_path / "log", grace=0.2) as server:
        running = server.says(SAID)
    until_ended(map(int, running.split(",")))


def test_workers_end_also_where_their_server_did_before(tmp_path):
    with serving([sys.executable, "-c", FAMILY, "brief"], tmp_path / "log") as server:
        server.guard.wait()  # without a request to end
        until_ended(map(int, server.says(SAID).split(",")))


def test_a_server_that_does_not_start_says_why(tmp_path):
    with (
        pytest.raises(RuntimeError, match=r"no server listens: .*no such port"),
        serving([sys.executable, "-c", "raise SystemExit('no such port')"], tmp_path / "log") as server,
    ):
        server.says("listens on (.*)")
    with (
        pytest.raises(RuntimeError, match=r"FileNotFoundError: .*no-such-program"),
        serving(["no-such-program"], tmp_path / "log") as server,
    ):
        server.wait_until(lambda: False)


def test_a_server_has_the_folder_and_the_variables_that_it_is_given(tmp_path):
    code = "import os; print('in', os.getcwd(), os.environ['WHO'], 'HOME' in os.environ, flush=True)"
    with serving([sys.executable, "-c", code], tmp_path / "log", cwd=tmp_path, env={"WHO": "me"}) as server:
        assert server.says("in (.*)") == f"{tmp_path} me False"
