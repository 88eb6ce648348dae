"""Turn the operating system's errors into errors that say where, how much room there is, and what to do."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.core.errors import DiskFullError, OutputError, PenstockError

_FULL_HINTS = {
    errno.ENOSPC: "Free some room, or write to another file system.",
    errno.EDQUOT: "The user's or project's quota is used up: free some room or have the quota raised.",
    errno.EFBIG: "A limit on the size of one file was met: write more, smaller parts, or raise `ulimit -f`.",
}


def translate_os_error(
    error: BaseException, path: str | os.PathLike[str], *, needed: int | None = None
) -> PenstockError:
    """Return the error of this library for a failed write; the caller raises it ``from error``.

    Parameters
    ----------
    error : BaseException
        What the writer raised. An error of this library is returned as it is. A number is looked for in ``errno``
        and, for writers in Rust, in the text ``(os error 28)``.
    path : str or PathLike
        What was being written.
    needed : int, optional
        Bytes that were still to be written, where the writer knows.

    Returns
    -------
    PenstockError
        ``DiskFullError`` with the file system and the bytes needed and free for ENOSPC, EDQUOT and EFBIG;
        ``OutputError`` with the errno for everything else.

    Examples
    --------
    >>> import errno
    >>> error = translate_os_error(OSError(errno.EIO, "Input/output error"), "/data/out/part-0.parquet")
    >>> print(error)
    cannot write /data/out/part-0.parquet: EIO (Input/output error)
    """
    if isinstance(error, PenstockError):
        return error
    number = error_number(error)
    failed = f"cannot write {os.fspath(path)}: {name_error(error)}"
    if number not in _FULL_HINTS:
        return OutputError(failed, path=os.fspath(path))
    message = f"{failed}; {_room(Path(path), needed)}"
    return DiskFullError(message, hint=_FULL_HINTS[number], path=os.fspath(path))


@contextmanager
def translating(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise every OSError of the block as ``translate_os_error`` gives it; ``path`` is for those that name none.

    Examples
    --------
    >>> with translating("/data/out"):
    ...     pass
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, PenstockError):
            raise
        named = error.filename if isinstance(error.filename, str) else path
        raise translate_os_error(error, named) from error


def name_error(error: BaseException) -> str:
    """Return the symbolic errno and its text, or the error's own words when it has no number.

    Examples
    --------
    >>> name_error(PermissionError(13, "Permission denied"))
    'EACCES (Permission denied)'
    """
    number = error_number(error)
    if number is None:
        return f"{type(error).__name__}: {error}"
    return f"{errno.errorcode.get(number, f'errno {number}')} ({os.strerror(number)})"


def error_number(error: BaseException) -> int | None:
    """Return the errno of an error, also of one that carries it only in its text.

    Examples
    --------
    >>> error_number(RuntimeError("No space left on device (os error 28)"))
    28
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    match = re.search(r"\(os error (\d+)\)", str(error))
    return int(match[1]) if match else None


def _room(path: Path, needed: int | None) -> str:
    mount = _mount_point(path)
    try:
        status = os.statvfs(mount)
        free = f"{status.f_bavail * status.f_frsize} bytes"
    except OSError:
        free = "an unknown number of bytes"
    wanted = "an unknown number of" if needed is None else needed
    return f"needed {wanted} bytes, free are {free} on the file system {mount}"


def _mount_point(path: Path) -> Path:
    absolute = Path(os.path.realpath(path))
    return next(place for place in (absolute, *absolute.parents) if os.path.ismount(place))
