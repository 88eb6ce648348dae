"""The one way out for warnings and log records: their texts are presentable, see `penstock.core.redaction`."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO, Any

from penstock.core.recording.meter import task_ids
from penstock.core.recording.recorder import active_recorder
from penstock.core.redaction import presentable

LOG_IDS = ("run_id", "span", "kind", "fragment")
"""Attributes of log records: the run that is recorded, and the task of it, as ``tasks.parquet`` has them."""


def warn(message: str, stacklevel: int = 1) -> None:
    """Issue a UserWarning, as ``warnings.warn`` does; `stacklevel` 1 is the caller of this function.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("left out: s3://me:hunter2@bucket/a")
    >>> str(caught[0].message)
    'left out: s3://me:***@bucket/a'
    """
    warnings.warn(presentable(message), stacklevel=stacklevel + 1)


class Logger(logging.LoggerAdapter):
    """Logs whole texts: a secret may stand partly in the message and partly in what is filled in.

    An error among the arguments is given as text too, never as ``exc_info``, whose chain is not ours to redact. Where a
    run is recorded, a record has the attributes `LOG_IDS` of it, on workers too.
    """

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a message that `args` are filled into."""
        if self.isEnabledFor(level):
            text = presentable(str(msg) % args if args else str(msg))
            self.logger.log(level, "%s", text, stacklevel=kwargs.get("stacklevel", 1) + 1, extra=_ids())


def get_logger(name: str) -> Logger:
    """Return the logger of a module.

    Examples
    --------
    >>> get_logger("penstock.io.sources").name
    'penstock.io.sources'
    """
    return Logger(logging.getLogger(name), {})


class JsonFormatter(logging.Formatter):
    """Writes a log record as one line of JSON: time, level, logger, message, and the ids of its run and task.

    Of a record of another library, only the text of its message is written, redacted.

    Examples
    --------
    >>> record = logging.makeLogRecord({"name": "penstock.io", "levelname": "WARNING", "msg": "gone", "created": 0})
    >>> record.run_id = "20260101T000000000000-0a1b2c3d"
    >>> print(JsonFormatter().format(record))
    {"time": "1970-01-01T00:00:00+00:00", "level": "WARNING", "logger": "penstock.io", "message": "gone", \
"run_id": "20260101T000000000000-0a1b2c3d"}
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": presentable(record.getMessage()),
        }
        return json.dumps(line | {name: getattr(record, name) for name in LOG_IDS if hasattr(record, name)})


@contextmanager
def json_logs(stream: IO[str] | None = None, level: int = logging.INFO) -> Iterator[None]:
    """Have the log records of this process written as lines of JSON, as `JsonFormatter` does, until it is left.

    Parameters
    ----------
    stream : file of str, optional
        Standard error unless given.
    level : int
        The least level of records of Penstock's that are written; of other libraries, warnings and errors are.
    """
    handler, ours = logging.StreamHandler(stream), logging.getLogger("penstock")
    handler.setFormatter(JsonFormatter())
    before = ours.level
    logging.getLogger().addHandler(handler)
    ours.setLevel(level)
    try:
        yield
    finally:
        ours.setLevel(before)
        logging.getLogger().removeHandler(handler)


def _ids() -> dict[str, Any]:
    """Return the ids of the task of this thread, or else of the run that is recorded here."""
    recorder = active_recorder()
    return task_ids() or ({"run_id": recorder.run_id} if recorder is not None and recorder.run_id else {})
