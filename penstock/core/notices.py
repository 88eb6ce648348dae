"""The one way out for warnings and log records: their texts are presentable, see `penstock.core.redaction`."""

from __future__ import annotations

import logging
import warnings
from typing import Any

from penstock.core.redaction import presentable


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

    An error among the arguments is given as text too, never as ``exc_info``, whose chain is not ours to redact.
    """

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log a message that `args` are filled into."""
        if self.isEnabledFor(level):
            text = presentable(str(msg) % args if args else str(msg))
            self.logger.log(level, "%s", text, stacklevel=kwargs.get("stacklevel", 1) + 1)


def get_logger(name: str) -> Logger:
    """Return the logger of a module.

    Examples
    --------
    >>> get_logger("penstock.io.sources").name
    'penstock.io.sources'
    """
    return Logger(logging.getLogger(name), {})
