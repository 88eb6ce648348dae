"""A job as a process of one try of an Airflow task; its exit code decides the state of the task."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from threading import Thread
from typing import IO, Any

from penstock.core.errors import ConfigError, check_one_of
from penstock.core.redaction import redact

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


JOBS = (
    "run", "check", "describe", "fit", "tune", "refit", "evaluate", "score", "drift", "promote", "alarms", "explain",
    "calibrate", "plan",
)  # fmt: skip
"""The commands that read something, and end."""


@dataclass(frozen=True, kw_only=True)
class PenstockJob:
    """Which job, where it runs, and by which interpreter; parameters are those of `PenstockOperator`.

    Raises
    ------
    ConfigError
        There is no such job.
    """

    job: str
    cwd: str | None = None
    python: str | None = None
    environment: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        check_one_of("job", self.job, JOBS)

    def command(self, arguments: Sequence[str], context: Mapping[str, Any]) -> list[str]:
        """Return the command, with the date and the name of the run where it takes them."""
        if isinstance(arguments, str) or not all(isinstance(word, str) for word in arguments):
            problem = f"the arguments of {self.job} are {arguments!r:.100}, expected a list of texts"
            raise ConfigError(problem, hint='["clicks", "--data", "days/*.parquet", "--out", "models/clicks"], say.')
        words = with_identity(self.job, arguments, context)
        return [self.python or sys.executable, "-m", "penstock", self.job, *words, "--json"]

    def run(
        self,
        arguments: Sequence[str],
        context: Mapping[str, Any],
        log: Callable[[str], object],
        started: Callable[[JobProcess], object] = lambda process: None,
    ) -> dict[str, Any]:
        """Run it and return its result; raises what makes Airflow fail, skip or try again the task.

        Parameters
        ----------
        started : callable
            Takes the process, before it runs, for whoever may have to stop it.
        """
        words = self.command(arguments, context)
        log(f"Running: {redact(shlex.join(words))}")
        process = JobProcess(words, cwd=self.cwd, environment=self.environment)
        started(process)
        code, printed = process.run(log)
        raise_unless_done(code, printed)
        return printed


_NOTHING_NEW = 99
_FINAL = {1: "unexpected", 2: "wrong use or configuration", 3: "bad input", 6: "unusable model"}
"""Exit codes after which another try would end the same way; ``jobs/README.md`` has all of them."""


def raise_unless_done(code: int, printed: Mapping[str, Any]) -> None:
    """Raise what makes Airflow fail, skip or try again a task whose job ended with an exit code; nothing for 0.

    Parameters
    ----------
    code : int
        Negative where a signal ended the process.
    printed : mapping
        The line of JSON; empty where there was none.

    Raises
    ------
    AirflowSkipException
        99: there was nothing to do.
    AirflowFailException
        1, 2, 3, 6: the same input will not do next time either.
    AirflowException
        Any other: workers, memory or a disk failed, or the job was stopped; Airflow tries again while `retries` last.
    """
    if code == 0:
        return
    from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException

    if code == _NOTHING_NEW:
        raise AirflowSkipException(str(printed.get("reason", "there was nothing to do")))
    if code in _FINAL:
        raise AirflowFailException(_message(f"{_FINAL[code]}, exit code {code}", printed))
    ended = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
    raise AirflowException(_message(ended, printed))


def _message(how: str, printed: Mapping[str, Any]) -> str:
    error = printed.get("error")
    if not isinstance(error, Mapping):
        return f"{how}; see the log of the task"
    hint = f" Hint: {error['hint']}" if error.get("hint") else ""
    return f"{error.get('type')}: {error.get('message')} ({how}).{hint}"


_LONGEST = 47
_DATED = frozenset({"run"})
_NAMED = frozenset({"run", "promote"})


def with_identity(job: str, arguments: Sequence[str], context: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a job with the date and the name of the run, where it takes them and none are given.

    Parameters
    ----------
    job : str
        ``run`` takes ``--date`` and ``--run-id``, ``promote`` takes ``--run-id``; other jobs replace what they wrote.
    arguments : sequence of str
    context : mapping
        Of the task, as Airflow gives it.

    Examples
    --------
    >>> from types import SimpleNamespace as Instance
    >>> context = {"ti": Instance(dag_id="trips", task_id="etl", map_index=-1), "logical_date": datetime(2024, 1, 5)}
    >>> with_identity("run", ["trips"], context)
    ['trips', '--date', '2024-01-05', '--run-id', 'trips-etl-2024-01-05-1038cdbee63048ff']
    """
    words = list(arguments)
    given = {word.partition("=")[0] for word in words}
    date = _logical_date(context)
    if job in _DATED and date is not None and not given & {"--date", "--from"}:
        words += ["--date", date]
    if job in _NAMED and "--run-id" not in given:
        words += ["--run-id", run_id_of(context)]
    return words


def run_id_of(context: Mapping[str, Any]) -> str:
    """Return a name for the run of a task: by the logical date, and by the DAG's run where that has none.

    So it is the same for every try, and for the same day in another backfill.
    """
    instance = context["ti"]
    when = _logical_date(context) or context["dag_run"].run_id
    mapped = f"-{instance.map_index}" if instance.map_index >= 0 else ""
    name = f"{instance.dag_id}-{instance.task_id}{mapped}-{when}"
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{re.sub('[^A-Za-z0-9_-]', '-', name)[:_LONGEST]}-{digest}"


def _logical_date(context: Mapping[str, Any]) -> str | None:
    """Return the logical date in UTC, as ``{{ ds }}`` has it, with a time unless that is midnight; None without one."""
    date: datetime | None = context.get("logical_date")
    if date is None:
        return None
    moment = date if date.tzinfo is None else date.astimezone(UTC)
    is_midnight = moment.time() == datetime.min.time()
    return moment.date().isoformat() if is_midnight else moment.isoformat()
