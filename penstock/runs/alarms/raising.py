"""Telling of alarms: in the log, to webhooks, to commands."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator

from penstock.core import notifying
from penstock.core.json_values import as_json
from penstock.core.notices import get_logger
from penstock.core.redaction import redact
from penstock.core.several import several
from penstock.runs.alarms.checking import AlarmResult
from penstock.runs.run import INFO, Run

logger = get_logger(__name__)
_LEVELS = {"error": logging.ERROR, "warn": logging.WARNING}


def raise_alarms(results: Iterable[AlarmResult], run: Run, location: str, *, seconds: float = 30.0) -> list[str]:
    """Tell of the alarms that are raised: each is logged, and goes to its command and its webhook.

    Parameters
    ----------
    results : iterable of AlarmResult
    run : Run
    location : path or URL
        Where the record of the run is; a command gets the path of its ``run.json``.
    seconds : float
        As long as a webhook or a command may take in all; a command that takes longer is ended with its children.

    Returns
    -------
    list of str
        Why somebody could not be notified; these are logged, and raise nothing.
    """
    problems: list[str] = []
    for result in several(results, "results", "Iterable[AlarmResult]"):
        if result.raised:
            title = f"{run.kind} {run.name}".strip()
            logger.log(_LEVELS[result.alarm.severity], "alarm %s of %s: %s", result.alarm.name, title, result.message)
            problems += _send(result, run, location, seconds)
    return problems


def _send(result: AlarmResult, run: Run, location: str, seconds: float) -> Iterator[str]:
    """Tell whom an alarm names; yields why somebody could not be."""
    about = {"run_id": run.id, "kind": run.kind, "run": run.name, "status": run.status, "location": redact(location)}
    body = json.dumps(as_json({**about, **result.to_dict()}), allow_nan=False).encode()
    for send in (_run, _post):
        try:
            send(result, location, body, seconds)
        except Exception as error:  # whatever goes wrong here, the run is as it was, and others are notified
            problem = redact(f"alarm {result.alarm.name}: not everybody was notified: {type(error).__name__}: {error}")
            logger.warning("%s", problem)
            yield problem


def _run(result: AlarmResult, location: str, body: bytes, seconds: float) -> None:
    if result.alarm.command:
        words = [*result.alarm.command, f"{location}/{INFO}"]
        notifying.run_command(words, body, seconds)


def _post(result: AlarmResult, location: str, body: bytes, seconds: float) -> None:
    if result.alarm.webhook:
        notifying.post(result.alarm.webhook, body, seconds)
