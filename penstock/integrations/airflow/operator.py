"""Airflow operator of jobs, and a decorator for functions of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.core.extras import importing
from penstock.core.notices import get_logger
from penstock.integrations.airflow.job import JobProcess, PenstockJob

with importing("Airflow", "airflow"):
    from airflow.sdk import BaseOperator, get_current_context, task

logger = get_logger(__name__)


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


def penstock_task(
    job: str,
    *,
    cwd: str | None = None,
    python: str | None = None,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Make a function that returns the arguments of a job a task that runs it, in TaskFlow's style.

    The function runs in the worker, takes what other tasks return and the names of Airflow's context (``ds``,
    ``logical_date``), and may raise Airflow's exceptions.

    Parameters
    ----------
    job, cwd, python, environment
        As of `PenstockOperator`.
    **options
        What ``airflow.sdk.task`` takes: ``task_id``, ``retries``, ``trigger_rule``.

    Raises
    ------
    ConfigError
        When the DAG is parsed: there is no such job. In the worker: the function returns anything but a list of texts.
    As `PenstockOperator`
        In the worker.

    Examples
    --------
    .. code-block:: python

        @penstock_task("fit", cwd="/srv/project", retries=2)
        def fit(ds=None):
            return ["clicks", "--data", f"days/{ds}", "--out", f"models/{ds}", "--overwrite"]
    """
    penstock_job = PenstockJob(job=job, cwd=cwd, python=python, environment=environment)

    def decorate(function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def run(*arguments: Any, **named: Any) -> dict[str, Any]:
            return penstock_job.run(function(*arguments, **named), get_current_context(), logger.info)

        return task(run, **options)

    return decorate
