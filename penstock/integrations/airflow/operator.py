"""A job of Penstock as an operator of Airflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.extras import importing
from penstock.integrations.airflow.job import PenstockJob
from penstock.integrations.airflow.job_process import JobProcess

with importing("Airflow", "airflow"):
    from airflow.sdk import BaseOperator


class PenstockOperator(BaseOperator):
    """Runs a job as ``penstock JOB ARGUMENTS --json``, and gives its result, a dict, to XCom.

    Parameters
    ----------
    job : str
        A command of ``penstock`` that ends: ``run``, ``check``, ``describe``, ``fit``, ``tune``, ``refit``,
        ``evaluate``, ``score``, ``drift``, ``promote``, ``alarms``, ``explain``, ``calibrate`` or ``plan``.
    arguments : sequence of str
        As on the command line, one word each; templated.
    cwd : str, optional
        The folder of the project, with ``pipelines/`` and ``conf/``; templated.
    python : str, optional
        The interpreter of the environment that has Penstock with what the job needs; Airflow's own unless given.
    environment : mapping of str to str, optional
        Variables beside those of the worker; templated. Secrets belong here and not into `arguments`.
    **options
        What every operator takes: ``task_id``, ``retries``, ``execution_timeout``, ``trigger_rule``.

    Raises
    ------
    ConfigError
        When the DAG is parsed: there is no such job.
    AirflowFailException
        When it runs: exit code 1, 2, 3 or 6; another try would end the same way, and none is made.
    AirflowSkipException
        99: a challenger that is not better.
    AirflowException
        Any other, such as 4, a lost worker, or 137, no memory; tried again while there are ``retries``.

    Notes
    -----
    ``run`` is given the logical date in UTC as ``--date``, unless the arguments have one. ``run`` and ``promote`` are
    given a ``--run-id`` made of DAG, task and logical date: the same for every try, so that what was appended, or
    promoted, is that once. When the task is stopped, so is the job, which leaves its outputs as they were.
    """

    template_fields: Sequence[str] = ("arguments", "cwd", "environment")
    ui_color = "#d7e8f7"

    def __init__(
        self,
        *,
        job: str,
        arguments: Sequence[str],
        cwd: str | None = None,
        python: str | None = None,
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        PenstockJob(job=job)
        self.job, self.arguments = job, arguments
        self.cwd, self.python, self.environment = cwd, python, environment
        self._process: JobProcess | None = None

    def execute(self, context: Any) -> dict[str, Any]:
        """Run the job, and return its result, the line of JSON."""
        job = PenstockJob(job=self.job, cwd=self.cwd, python=self.python, environment=self.environment)
        return job.run(self.arguments, context, self.log.info, self._keep)

    def on_kill(self) -> None:
        """End the job with its task."""
        if self._process is not None:
            self._process.stop()

    def _keep(self, process: JobProcess) -> None:
        self._process = process
