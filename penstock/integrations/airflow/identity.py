"""What a run of a DAG tells its jobs: the logical date, and a name that is the same for every try."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

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
