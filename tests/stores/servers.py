"""Servers of stores in processes of their own: a client that holds the interpreter while it waits would never end."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_SECONDS = 60.0


@contextmanager
def serving(command: Sequence[str], log: Path, said: str) -> Iterator[str]:
    """Run a program, and give what the group of a pattern is in what it says once it listens.

    Parameters
    ----------
    command : sequence of str
    log : Path
        A file that it says it in, to its output or as an error.
    said : str
        A regular expression with one group.
    """
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink, env=environment)
    try:
        yield _await(process, log, said)
    finally:
        process.kill()
        process.wait()


def _await(process: subprocess.Popen[bytes], log: Path, said: str) -> str:
    deadline = time.monotonic() + _SECONDS
    while (found := re.search(said, log.read_text())) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"no server listens: {log.read_text()[-2000:]}")
        time.sleep(0.02)
    return found[1]
