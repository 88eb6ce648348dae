"""A job as a process: its log line by line, the JSON that it prints last, and its end when the task is to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import IO, Any

_PATIENCE = 60.0


class JobProcess:
    """Runs a command once, and ends it with all its children when it is stopped.

    Parameters
    ----------
    words : sequence of str
        The command.
    cwd : str, optional
        Where it runs.
    environment : mapping of str to str, optional
        Beside what this process has.
    """

    def __init__(
        self, words: Sequence[str], *, cwd: str | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._words, self._cwd = list(words), cwd
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None

    def run(self, log: Callable[[str], object]) -> tuple[int, dict[str, Any]]:
        """Return the exit code, negative for a signal, and what was printed last as JSON; nothing if it was none.

        Parameters
        ----------
        log : callable
            Takes each line of stderr, and of stdout but for the last.
        """
        with subprocess.Popen(
            self._words,
            cwd=self._cwd,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as self._process:
            try:
                return self._follow(self._process, log)
            finally:
                self.stop()

    def stop(self) -> None:
        """End the process, if it runs: by SIGTERM, after which Penstock puts things in order, then by SIGKILL."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
        with suppress(ProcessLookupError):  # workers that outlived it would keep its output open
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _follow(self, process: subprocess.Popen[str], log: Callable[[str], object]) -> tuple[int, dict[str, Any]]:
        printed: deque[str] = deque(maxlen=1)
        streams = (process.stderr, log), (process.stdout, partial(_log_all_but_last, printed, log))
        readers = [Thread(target=_read, args=stream, daemon=True) for stream in streams]
        for reader in readers:
            reader.start()
        code = process.wait()
        self.stop()
        for reader in readers:
            reader.join(_PATIENCE)
        return code, _parsed(printed[0] if printed else "")


def _read(stream: IO[str], take: Callable[[str], object]) -> None:
    for line in stream:
        take(line.rstrip("\n"))


def _log_all_but_last(printed: deque[str], log: Callable[[str], object], line: str) -> None:
    if printed:
        log(printed[0])
    printed.append(line)


def _parsed(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
