"""Where things lie, as users name them: paths of this machine's file systems, and URLs of stores."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote_to_bytes

from penstock.core.errors import ConfigError

_CHAIN = r"(?:[A-Za-z][A-Za-z0-9+.-]*::)*"
_URL = re.compile(rf"{_CHAIN}[A-Za-z][A-Za-z0-9+.-]*://")
_FOLDED = re.compile(rf"{_CHAIN}[A-Za-z][A-Za-z0-9+.-]+:/(?!/)")
_FILE = re.compile(r"(?:file|local):(?=/)", re.IGNORECASE)
_HERE = ("", "localhost")
_SCHEMES = {"s3a": "s3", "gcs": "gs", "az": "abfs", "abfss": "abfs"}
"""Names of stores that have another one."""


def is_url(location: str) -> bool:
    """Return whether a location is the URL of a store, and not a path.

    Examples
    --------
    >>> [is_url(text) for text in ("s3://bucket/a", "zip://a.csv::s3://bucket/b.zip", "/data/a://b", "a:b")]
    [True, True, False, False]
    """
    return _URL.match(location) is not None


def is_in_memory(location: str) -> bool:
    """Return whether a location is in the memory of the process that says it, so that no other one sees it.

    Examples
    --------
    >>> [is_in_memory(text) for text in ("memory://rows", "Memory://rows", "s3://bucket/rows")]
    [True, True, False]
    """
    return location.lower().startswith("memory:")


def same_scheme(url: str) -> str:
    """Return a URL under the name of its store that is the same for all who write to it.

    Examples
    --------
    >>> [same_scheme(url) for url in ("s3a://bucket/a", "S3://bucket/a", "gcs://bucket/a", "https://host/a")]
    ['s3://bucket/a', 's3://bucket/a', 'gs://bucket/a', 'https://host/a']
    """
    scheme, separator, rest = url.partition("://")
    return f"{_SCHEMES.get(scheme.lower(), scheme.lower())}{separator}{rest}"


def read_location(location: str | os.PathLike[str], name: str = "path") -> str:
    """Return a location as text: a URL of a store as it is, and a path, which ``file://`` may begin, as a plain one.

    Parameters
    ----------
    location : str or PathLike
    name : str
        What it is called in messages.

    Raises
    ------
    ConfigError
        It is empty, or no text; no file can have that name; or it looks like the URL of a store with one slash, which
        is what pathlib makes of one.

    Examples
    --------
    >>> [read_location(text) for text in ("a/b", "file:///a%20b", "file://localhost/a", "s3://bucket/a")]
    ['a/b', '/a b', '/a', 's3://bucket/a']
    """
    text = _check_text(location, name)
    scheme = None if isinstance(location, os.PathLike) else _FILE.match(text)
    if scheme is not None:
        text = _check_text(_file_path(text, text[scheme.end() :], name), name)
    elif _FOLDED.match(text):
        raise ConfigError(
            f"{name} is {text!r}, which looks like a URL that lost a slash",
            hint="Pass a URL as text, since pathlib makes one slash of two; a folder of that name as an absolute path.",
            path=text,
        )
    return re.sub("^//+", "/", text)


def local_path(location: str | os.PathLike[str], name: str) -> str:
    """Return a location that has to be a path of this machine's file systems as text, without ``file://``.

    Raises
    ------
    ConfigError
        It is the URL of a store, or one of the reasons of `read_location`.

    Examples
    --------
    >>> local_path("file:///models/clicks", "model"), local_path("models/clicks", "model")
    ('/models/clicks', 'models/clicks')
    """
    text = read_location(location, name)
    if is_url(text):
        raise ConfigError(
            f"{name} is {text!r}, expected a path of this machine's file systems",
            hint="Data, models and reports may lie in a store, and this not: mount the store, or copy from and to it.",
            path=text,
        )
    return text


def absolute_path(location: str | os.PathLike[str], name: str) -> Path:
    """Return `local_path` from the root, so that it is the same wherever a worker was started; links are kept."""
    return Path(local_path(location, name)).absolute()


def _check_text(location: object, name: str) -> str:
    text = os.fspath(location) if isinstance(location, str | os.PathLike) else location
    if not isinstance(text, str) or not text:
        raise ConfigError(f"{name} is {text!r}, expected a path as text or as a pathlib.Path")
    check_name(text, name)
    return text


def check_name(text: str, name: str = "path") -> str:
    """Return `text`; ConfigError where no file is called so, or not everything that reads files can be told of it."""
    if "\0" in text:
        raise ConfigError(f"{name} is {text!r}: no file has a NUL in its name", path=text)
    try:
        text.encode()
    except UnicodeEncodeError:
        shown = repr(os.fsencode(text))[1:]
        raise ConfigError(f"{name} is {shown}: its name is not UTF-8", hint="Rename it.", path=shown) from None
    return text


def _file_path(url: str, rest: str, name: str) -> str:
    """Return the path of a file URL, of which `rest` stands after the scheme and its colon."""
    host, slash, path = rest[2:].partition("/") if rest.startswith("//") else ("", "/", rest[1:])
    if host.lower() not in _HERE:
        raise ConfigError(
            f"{name} is {url!r}, a file of the host {host!r}",
            hint="Three slashes begin the URL of a file of this machine: file:///data/x. Relative paths have no URL.",
            path=url,
        )
    return os.fsdecode(unquote_to_bytes(f"{slash}{path}"))
