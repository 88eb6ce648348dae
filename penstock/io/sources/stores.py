"""Stores that fail for a moment: asked again a few times, then named with what they said."""

from __future__ import annotations

import errno
import io
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from penstock.core.errors import InputError, PenstockError
from penstock.core.redaction import redact_error, secrets_in_url

Result = TypeVar("Result")

ATTEMPTS = 3
_PAUSE = 0.2
"""Seconds before the second attempt; four times as long before the third."""
_FINAL = (
    PenstockError, FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError, ImportError,
    NotImplementedError, TypeError, ValueError, MemoryError,
)  # fmt: skip


def patiently(ask: Callable[[], Result], path: str, secrets: Iterable[str] = ()) -> Result:
    """Return what a store answers; a failure that may pass is met with two more attempts, 0.2 and 0.8 s later.

    Stores raise what they like, so every error may pass but those whose types say that asking again is no use: a file
    that is not there, a permission that is not given, a wrong use. These are raised as they are, but for the secrets in
    their texts and in those of their causes: the ones of `path`, and `secrets`.

    Raises
    ------
    InputError
        All attempts failed; the message has the store's last words, without credentials, and ``attempt`` the number.

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
                problem = f"cannot read {path}: {why(error)}, in the last of {ATTEMPTS} attempts"
                hint = "Look whether the store answers, and whether these credentials may read there."
                raise InputError(problem, hint=hint, path=path, attempt=ATTEMPTS) from error
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
