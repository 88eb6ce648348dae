"""Put a finished directory in the place of its target in one step, durably."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from penstock.io.sinks.failpoints import failpoint

_AT_FDCWD = -100
_NOREPLACE = 1
_EXCHANGE = 2
_UNLINKABLE = (errno.EPERM, errno.EXDEV, errno.EMLINK, errno.ENOSYS, errno.EOPNOTSUPP)
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def put_new(new: Path, target: Path) -> None:
    """Rename ``new`` to ``target``; FileExistsError if anything is there.

    Where the kernel or the file system cannot refuse to replace, the check comes just before the rename; what could
    slip in between is only an empty directory, since a rename never replaces another.
    """
    try:
        _renameat2(new, target, _NOREPLACE)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        os.rename(new, target)


def put_over(new: Path, target: Path, aside: Path) -> None:
    """Let ``new`` take the place of ``target``; the old directory is then at ``new``, or else at ``aside``.

    On Linux the two are exchanged in one step. Elsewhere (and on file systems without that call) the old one is renamed
    to ``aside`` first, and a reader between the two renames finds nothing; whoever cleans up after a process killed
    there puts ``aside`` back.
    """
    try:
        _renameat2(new, target, _EXCHANGE)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        os.rename(target, aside)
        failpoint("set-aside")
        os.rename(new, target)


def take_back(new: Path, target: Path, aside: Path, *, replaced: bool) -> None:
    """Undo ``put_new`` or, with ``replaced``, ``put_over``."""
    if replaced and not os.path.lexists(aside):
        _renameat2(new, target, _EXCHANGE)
        return
    os.rename(target, new)
    if replaced:
        os.rename(aside, target)


def link_or_copy(source: Path, target: Path) -> bool:
    """Give a file a second name, in the place of whatever has it; copy it where that cannot be. Return if it is linked.

    A link is refused between file systems, by some of them altogether, beyond a number of names, and where the kernel
    protects the files of others.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _UNLINKABLE:
            raise
        shutil.copy2(source, target, follow_symlinks=False)
        return False
    return True


def sync_files(paths: Iterable[Path]) -> None:
    """Flush files to the device."""
    for path in paths:
        _sync(path, os.O_RDONLY)


def sync_directories(root: Path) -> None:
    """Flush the names in a directory, and in those below it, to the device."""
    for directory, _, _ in os.walk(root, topdown=False):
        sync_directory(Path(directory))


def sync_directory(path: Path) -> None:
    """Flush the names in one directory to the device."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = os.fspath(path)
        raise
    finally:
        os.close(descriptor)


def _renameat2(source: Path, target: Path, flags: int) -> None:
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, "the C library has no renameat2")
    if call(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), ctypes.c_uint(flags)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(source), None, str(target))
