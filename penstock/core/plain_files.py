"""Plain files of folders that others can write to: a pipe that lies there is not waited for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from penstock.core.errors import InputError


@contextmanager
def open_plain(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a plain file to be read; InputError for a pipe or a device, and OSError as of `open`.

    Examples
    --------
    >>> with open_plain("/dev/null"):
    ...     pass
    Traceback (most recent call last):
    penstock.errors.InputError: /dev/null is no plain file
      Hint: Look who put it there, and remove it.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InputError(f"{path} is no plain file", hint="Look who put it there, and remove it.", path=str(path))
        yield file


def read_plain(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a plain file; errors are those of `open_plain`."""
    with open_plain(path) as file:
        return file.read()


def _open_at_once(path: str, flags: int) -> int:
    """Open a file, also a pipe to which nobody writes, for which `open` would wait."""
    return os.open(path, flags | os.O_NONBLOCK)
