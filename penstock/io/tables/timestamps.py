"""Timestamps of table versions, as parameters of readers."""

from __future__ import annotations

import datetime
from typing import Any

from penstock.core.errors import ConfigError


def parse_timestamp(timestamp: Any) -> datetime.datetime:
    """Return a datetime, or a text in ISO 8601, with a zone: UTC unless it has one; ConfigError for anything else.

    Examples
    --------
    >>> parse_timestamp("2024-05-01T12:00:00").isoformat()
    '2024-05-01T12:00:00+00:00'
    """
    try:
        moment = datetime.datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else timestamp
    except ValueError:
        moment = None
    if not isinstance(moment, datetime.datetime):
        raise ConfigError(
            f"timestamp is {timestamp!r:.100}, expected a datetime or a text such as 2024-05-01T12:00:00Z"
        )
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
