"""Test servers, each with a guard process that survives the tests.

The guard waits for the end of its standard input, which only the test process holds open, so it notices any end of that
process, SIGKILL included. It terminates the server's process group and kills the rest after a grace period. The guard
and its server are in a session of their own: a Ctrl-C in a terminal reaches only the tests, and nothing ends twice.
"""

import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 120.0
"""Seconds in which a server is to start."""
GRACE = 5.0
"""Seconds in which a server is to terminate before it is killed."""


@dataclass(frozen=True)
class Server:
    """A running server process and its log."""

    guard: subprocess.Popen[bytes]
    log: Path

    def says(self, pattern: str) -> str:
        """Wait for a pattern in the log; return its group."""
        self.wait_until(lambda: re.search(pattern, self._text) is not None)
        return re.findall(pattern, self._text)[0]

    def wait_until(self, is_ready: Callable[[], bool]) -> None:
        """Poll a condition; raise RuntimeError with the log if the server ends first or takes two minutes."""
        deadline = time.monotonic() + PATIENCE
        while True:
            is_late = self.guard.poll() is not None or time.monotonic() > deadline
            if is_ready():
                return
            if is_late:
                raise RuntimeError(f"no server listens: {self._text[-2000:]}")
            time.sleep(0.02)

    @property
    def _text(self) -> str:
        return self.log.read_text(errors="replace")


@contextmanager
def serving(
    command: Sequence[Any],
    log: Path,
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    grace: float = GRACE,
    request: signal.Signals = signal.SIGTERM,
    **user: Any,
) -> Iterator[Server]:
    """Run a program until the block ends, or this process does.

    Parameters
    ----------
    command : sequence
    log : Path
        File for its standard output and standard error.
    cwd : Path or str, optional
    env : mapping of str to str, optional
        All of its variables; by default those of this process.
    grace : float
        Seconds between the request to terminate and SIGKILL.
    request : Signals
        Signal that requests termination.
    **user
        ``user``, ``group`` and ``extra_groups`` of ``subprocess.Popen``.
    """
    guarding = [
        sys.executable,
        "-I",
        "-S",
        __file__,
        str(grace),
        str(request.value),
        json.dumps(user),
        *map(str, command),
    ]
    environment = {"PYTHONUNBUFFERED": "1", **(os.environ if env is None else env)}
    with log.open("wb") as sink:
        guard = subprocess.Popen(
            guarding, stdin=subprocess.PIPE, stdout=sink, stderr=sink, cwd=cwd, env=environment, start_new_session=True
        )
    try:
        yield Server(guard, log)
    finally:
        assert guard.stdin is not None
        guard.stdin.close()
        guard.wait()


def free_port() -> int:
    """Return a free port below the system's ephemeral range, for servers that cannot choose one."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def _guard(grace: float, request: int, user: dict[str, Any], command: Sequence[str]) -> int:
    """Run a program until standard input or the process that started this one ends; return its exit code."""
    parent = os.getppid()
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0, **user)
    try:
        while server.poll() is None and os.getppid() == parent:
            if select.select([0], [], [], 0.1)[0]:
                break
    finally:
        _end(server, grace, request)
    return server.returncode


def _end(server: subprocess.Popen[bytes], grace: float, request: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(server.pid, request)
        with suppress(subprocess.TimeoutExpired):
            server.wait(grace)
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(_guard(float(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4:]))
