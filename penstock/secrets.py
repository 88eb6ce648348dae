"""Secrets in configuration and messages: refused in plain text, read from the environment, never printed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from penstock.errors import ConfigError

_WORDS = {"password", "passwd", "pwd", "passphrase", "secret", "token", "credential", "credentials"}
_PAIRS = {("access", "key"), ("account", "key"), ("api", "key"), ("private", "key"), ("secret", "key"), ("key", "id")}
_SHAPES = re.compile(
    r"AKIA[0-9A-Z]{16}"  # an AWS access key
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\bgh[pousr]_[A-Za-z0-9]{36}"  # a GitHub token
    r"|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\."  # a JSON web token
)
_URL_PASSWORD = re.compile(r"(://[^/\s:@]*):[^@\s/]+@")
_REFERENCE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)")


def names_secret(key: str) -> bool:
    """Return whether a key says that its value is secret; one that names a file of secrets does not.

    Examples
    --------
    >>> [names_secret(key) for key in ("dbPassword", "fs.s3a.secret.key", "token_file", "max_depth")]
    [True, True, False, False]
    """
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key).lower())
    return bool(words) and (words[-1] in _WORDS or tuple(words[-2:]) in _PAIRS)


def looks_secret(value: str) -> bool:
    """Return whether a text has the shape of a known kind of secret."""
    return bool(_SHAPES.search(value) or _URL_PASSWORD.search(value))


def referenced(value: str) -> str | None:
    """Return the NAME of a text ``env:NAME``, or None for any other."""
    match = _REFERENCE.fullmatch(value)
    return match[1] if match else None


def resolve(name: str, place: str, environ: Mapping[str, str] | None = None) -> str:
    """Return an environment variable that `place` refers to; ConfigError when it is not set."""
    found = (os.environ if environ is None else environ).get(name)
    if found is None:
        raise ConfigError(f"{place}: env:{name} is asked for, and {name} is not set", hint=f"export {name}=...")
    return found


def redact(text: str) -> str:
    """Return a text with the passwords of its URLs, and other known shapes of secrets, replaced by ``***``.

    Examples
    --------
    >>> redact("cannot open s3://me:hunter2@bucket/part.parquet")
    'cannot open s3://me:***@bucket/part.parquet'
    """
    return _SHAPES.sub("***", _URL_PASSWORD.sub(r"\1:***@", text))
