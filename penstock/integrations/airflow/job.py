"""A job of Penstock as one try of a task runs it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.core.errors import ConfigError, check_one_of
from penstock.core.redaction import redact
from penstock.integrations.airflow.identity import with_identity
from penstock.integrations.airflow.job_process import JobProcess
from penstock.integrations.airflow.outcome import raise_unless_done

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
