"""Telling somebody of drift: a function of Python, the URL of a webhook, or a command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from penstock.core import notifying
from penstock.core.errors import ConfigError, class_name
from penstock.core.json_values import as_json
from penstock.core.notices import get_logger
from penstock.core.redaction import redact
from penstock.pipeline.drift.drift_report import DriftReport

Alarm = str | Sequence[str] | Callable[[DriftReport], Any]

logger = get_logger(__name__)
SECONDS = 30.0
"""How long a webhook or a command may take."""


def check_alarm(alarm: Alarm | None) -> None:
    """Raise ConfigError unless an alarm can be raised: a function, a URL or a command."""
    listed = isinstance(alarm, Sequence) and bool(alarm) and all(isinstance(each, str) for each in alarm)
    if alarm is not None and not callable(alarm) and not listed:
        raise ConfigError(
            f"alarm is {class_name(alarm)}, expected a function, the URL of a webhook, or a command",
            hint='Write alarm="https://host/hook", or alarm=["./page", "--team", "ml"].',
        )


def raise_alarm(alarm: Alarm | None, report: DriftReport, seconds: float = SECONDS) -> str | None:
    """Tell of a report with drift; of one without nothing is told.

    A URL gets a POST of the report as JSON, a command gets it on its stdin, a function the report itself.

    Returns
    -------
    str or None
        Why it could not be told, which is logged too; None where it was.
    """
    if alarm is None or report.passed:
        return None
    try:
        _send(alarm, report, seconds)
    except Exception as error:  # whatever goes wrong here, the report stays
        problem = redact(f"the alarm of drift failed: {type(error).__name__}: {error}")
        logger.warning("%s", problem)
        return problem
    return None


def _send(alarm: Alarm, report: DriftReport, seconds: float) -> None:
    if callable(alarm):
        alarm(report)
        return
    text = json.dumps(as_json(report.to_dict()), allow_nan=False).encode()
    if isinstance(alarm, str) and alarm.startswith(("http://", "https://")):
        notifying.post(alarm, text, seconds)
    else:
        words = shlex.split(alarm) if isinstance(alarm, str) else list(alarm)
        notifying.run_command(words, text, seconds)
