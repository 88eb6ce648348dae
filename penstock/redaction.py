"""Texts without the secrets that they may hold, by their shapes."""

from __future__ import annotations

import re

SHAPES = re.compile(
    r"AKIA[0-9A-Z]{16}"  # an AWS access key
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\bgh[pousr]_[A-Za-z0-9]{36}"  # a GitHub token
    r"|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\."  # a JSON web token
)
URL_PASSWORD = re.compile(r"(:/{2,3}[^/\s:@]*):[^@\s/]+@")


def redact(text: str) -> str:
    """Return a text with the passwords of its URLs, and other known shapes of secrets, replaced by ``***``.

    Examples
    --------
    >>> redact("cannot open s3://me:hunter2@bucket/part.parquet")
    'cannot open s3://me:***@bucket/part.parquet'
    """
    return SHAPES.sub("***", URL_PASSWORD.sub(r"\1:***@", text))
