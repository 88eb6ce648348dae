"""A job of Penstock as one try of a task runs it."""

from __future__ import annotations

import hashlib
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from penstock.core.errors import ConfigError, check_one_of
from penstock.core.redaction import redact
from penstock.integrations.airflow.job_process import JobProcess

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
