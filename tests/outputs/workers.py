"""Forking worker processes: each task runs in a child, which may kill itself."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import penstock

ROOT = Path(penstock.__file__).parents[1]


class Worker:
    """Process of a module that answers lines, as `tests.forked` does; a call returns the exit status."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def tell(self, *arguments: object) -> None:
        """Submit a task; paths are sent as text."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(arguments, default=str) + "\n")
        self._process.stdin.flush()

    def answer(self) -> int:
        """Return the exit status of the oldest task, negative if a signal ended it."""
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def __call__(self, *arguments: object) -> int:
        self.tell(*arguments)
        return self.answer()


@contextmanager
def worker(module: str) -> Iterator[Worker]:
    """Start the process of a module, and end it."""
    command, environment = [sys.executable, "-m", module], os.environ | {"PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        yield Worker(process)
        process.communicate()
