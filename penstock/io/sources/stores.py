"""Stores that fail for a moment: asked again a few times, then named with what they said."""

from __future__ import annotations

import errno
import io
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import fsspec

from penstock.core.errors import ConfigError, InputError, MissingExtraError, PenstockError
from penstock.core.redaction import redact_error, secrets_in_url

Result = TypeVar("Result")

ATTEMPTS = 3
_PAUSE = 0.2
"""Seconds before the second attempt; four times as long before the third."""
_FINAL = (
    PenstockError, FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError, ImportError,
    NotImplementedError, TypeError, ValueError, MemoryError,
)  # fmt: skip


def _refuse_read(path: str, problem: str) -> PenstockError:
    hint = "Look whether the store answers, and whether these credentials may read there."
    return InputError(f"cannot read {path}: {problem}", hint=hint, path=path, attempt=ATTEMPTS)


def connect(url: str, options: Mapping[str, Any], verb: str = "read") -> tuple[Any, str]:
    """Return the file system that a URL is of, and the path in it.

    Raises
    ------
    MissingExtraError, ConfigError
        The package for it is not installed, or fsspec knows no such URL; `verb` is what was to be done with it.
    """
    try:
        filesystem, path = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        hint = "Install the package it names."
        raise MissingExtraError(f"{url} cannot be {_PARTICIPLES[verb]}: {error}", hint=hint, path=url) from error
    except ValueError as error:
        hint = "Pass a URL that fsspec knows; tables of databases are read by engine.read_sql."
        raise ConfigError(f"{url} cannot be {_PARTICIPLES[verb]}: {error}", hint=hint, path=url) from error
    return filesystem, path


_PARTICIPLES = {"read": "read", "write": "written"}


def patiently(
    ask: Callable[[], Result],
    path: str,
    secrets: Iterable[str] = (),
    refuse: Callable[[str, str], PenstockError] = _refuse_read,
) -> Result:
    """Return what a store answers; a failure that may pass is met with two more attempts, 0.2 and 0.8 s later.

    Stores raise what they like, so every error may pass but those whose types say that asking again is no use: a file
    that is not there, a permission that is not given, a wrong use. These are raised as they are, but for the secrets in
    their texts and in those of their causes: the ones of `path`, and `secrets`.

    Raises
    ------
    InputError
        Or what `refuse` makes of the path and the problem: all attempts failed; the message has the store's last
        words, without credentials, and ``attempt`` the number.

    Examples
    --------
    >>> answers = iter([TimeoutError("no answer"), "content"])
    >>> def ask():
    ...     answer = next(answers)
    ...     if isinstance(answer, Exception):
    ...         raise answer
    ...     return answer
    >>> patiently(ask, "s3://bucket/a.parquet")
    'content'
    """
    attempt = 1
    while True:
        try:
            return ask()
        except Exception as error:
            redact_error(error, [*secrets, *secrets_in_url(path)])
            if isinstance(error, _FINAL):
                raise
            if attempt == ATTEMPTS:
                raise refuse(path, f"{why(error)}, in the last of {ATTEMPTS} attempts") from error
        time.sleep(_PAUSE * 4 ** (attempt - 1))
        attempt += 1


def why(error: Exception) -> str:
    """Return what the system or a store said, with its number.

    Examples
    --------
    >>> why(PermissionError(13, "Permission denied")), why(TimeoutError("no answer")), why(OSError(503, "Slow Down"))
    ('Permission denied (EACCES)', 'TimeoutError: no answer', 'Slow Down (503)')
    """
    if isinstance(error, OSError) and error.errno is not None and error.strerror:
        return f"{error.strerror} ({errno.errorcode.get(error.errno, error.errno)})"
    return f"{type(error).__name__}: {error}"


def modified(info: Mapping[str, Any]) -> float:
    """Return when a file of an fsspec file system was changed, in seconds; 0.0 where that is not known."""
    stamp = info.get("mtime") or info.get("LastModified") or info.get("created") or 0.0
    return float(stamp.timestamp() if hasattr(stamp, "timestamp") else stamp) if not isinstance(stamp, str) else 0.0


def open_patiently(make: Callable[[], Any], path: str, secrets: Iterable[str] = ()) -> io.BufferedReader:
    """Return a file that is opened by `make`, and opened again where it was when a read fails."""
    return io.BufferedReader(_Reopened(make, path, tuple(secrets)))


class _Reopened(io.RawIOBase):
    """Bytes of a store's file; after a failed read the position of the open file is not to be relied on."""

    def __init__(self, make: Callable[[], Any], path: str, secrets: tuple[str, ...]) -> None:
        self._make, self._path, self._secrets, self._place = make, path, secrets, 0
        self._file = self._patiently(make)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:
            self._place = self._patiently(lambda: int(self._opened().seek(offset, whence)))
        else:
            self._place = offset + (self._place if whence == io.SEEK_CUR else 0)
        return self._place

    def readinto(self, buffer: Any) -> int:
        data = self._patiently(lambda: self._read(len(buffer)))
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def _patiently(self, ask: Callable[[], Result]) -> Result:
        return patiently(ask, self._path, self._secrets)

    def _opened(self) -> Any:
        if self._file.closed:
            self._file = self._make()
        return self._file

    def _read(self, size: int) -> bytes:
        file = self._opened()
        try:
            file.seek(self._place)
            return bytes(file.read(size))
        except Exception:
            file.close()
            raise

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
