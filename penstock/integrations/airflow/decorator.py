"""Functions that return the arguments of a job, as tasks of Airflow."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from penstock.core.extras import importing
from penstock.core.notices import get_logger
from penstock.integrations.airflow.job import PenstockJob

with importing("Airflow", "airflow"):
    from airflow.sdk import get_current_context, task

logger = get_logger(__name__)


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
