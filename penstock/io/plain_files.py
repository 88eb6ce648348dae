"""Plain files of folders that others can write to: a pipe that lies there in place of one is not waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from penstock.core.errors import InputError


def read_plain(path: Path) -> bytes:
    """Return the content of a plain file; InputError for a pipe, a device or a folder, and OSError as of `open`."""
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InputError(f"{path} is no plain file", hint="Remove it.", path=str(path))
        return file.read()
