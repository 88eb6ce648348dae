"""Secrets in configuration: refused in plain text, read from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from penstock.core.errors import ConfigError
from penstock.core.redaction import HIDDEN, redact

_WORDS = {"password", "passwd", "pwd", "passphrase", "secret", "token", "credential", "credentials"}
_PAIRS = {("access", "key"), ("account", "key"), ("api", "key"), ("private", "key"), ("secret", "key"), ("key", "id")}
_ALWAYS = {"auth", "Authorization", "authorization", "connection_string"}
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


def hide(value: Any, key: str = "") -> Any:
    """Return plain values with ``***`` for those whose key says that they are secret, and for secrets in texts.

    Examples
    --------
    >>> hide({"password": "hunter2", "data": ["s3://me:hunter2@bucket/a"], "depth": 6})
    {'password': '***', 'data': ['s3://me:***@bucket/a'], 'depth': 6}
    """
    if isinstance(value, Mapping):
        return {name: hide(inner, name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [hide(inner, key) for inner in value]
    if names_secret(key) and not isinstance(value, bool | None):
        return HIDDEN
    return redact(value) if isinstance(value, str) else value


def secret_values(options: Any, named: bool = False) -> list[str]:
    """Return the texts in plain values that stand, at any depth, under a key that says that its value is secret.

    Parameters
    ----------
    options : mapping, sequence or plain value
    named : bool
        Whether a key above said so.

    Examples
    --------
    >>> secret_values({"key": "me", "secret": "hunter2", "client_kwargs": {"auth": ("me", "swordfish")}})
    ['hunter2', 'me', 'swordfish']
    """
    if isinstance(options, Mapping):
        pairs = ((named or names_secret(str(key)) or key in _ALWAYS, value) for key, value in options.items())
        return [text for inner, value in pairs for text in secret_values(value, inner)]
    if isinstance(options, list | tuple):
        return [text for value in options for text in secret_values(value, named)]
    return [options] if named and isinstance(options, str) else []


def referenced(value: str) -> str | None:
    """Return the NAME of a text ``env:NAME``, or None for any other."""
    match = _REFERENCE.fullmatch(value)
    return match[1] if match else None


def resolve(name: str, place: str) -> str:
    """Return an environment variable that `place` refers to; ConfigError when it is not set."""
    if (value := os.environ.get(name)) is None:
        raise ConfigError(f"{place}: env:{name} is asked for, and {name} is not set", hint=f"export {name}=...")
    return value
