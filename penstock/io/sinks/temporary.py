"""Folders that live for a while: each has an owner, and what a killed process left of them is removed by the next."""

from __future__ import annotations

import functools
import os
import re
import secrets
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from penstock.core.notices import get_logger
from penstock.io.sinks.locks import claim, is_claimed, is_dead, release, unlocked
from penstock.io.sinks.os_errors import translating
from penstock.io.sinks.part_folder import LocalPartFolder

logger = get_logger(__name__)

_RECORD = re.compile(r"\.(penstock-[0-9a-f]{16})\.owner")


class Temporary:
    """What is removed when nothing in this process refers to it any more, and at the end of the process."""

    _finalizer: weakref.finalize[..., Any]

    def remove(self) -> None:
        """Remove it now; once is enough."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __deepcopy__(self, memo: object) -> Self:
        return self


class TemporaryFolder(Temporary):
    """A new folder that is removed when nothing in this process refers to it any more, and at the end of the process.

    Only its owner may enter it. A copy that travels to a worker is a name alone and removes nothing. Beside it lies a
    record of the process, which holds a lock on it: where the process is killed, the first folder that another one of
    the same user and host makes in the same place removes both.

    Parameters
    ----------
    parent : str or Path, optional
        Where it is made; the temporary directory of the system unless given.

    Raises
    ------
    OutputError
        It cannot be made there.

    Examples
    --------
    >>> folder = TemporaryFolder()
    >>> path = folder.path
    >>> path.is_dir()
    True
    >>> del folder
    >>> path.exists()
    False
    """

    def __init__(self, parent: str | Path | None = None) -> None:
        place = Path(parent or tempfile.gettempdir()).absolute()
        remove_abandoned(place)
        self.path = place / f"penstock-{secrets.token_hex(8)}"
        with translating(place):
            lock = claim(_record_of(self.path))
            self._finalizer = weakref.finalize(self, _remove, self.path, lock)
            self.path.mkdir(mode=0o700)

    def parts(self, name: str) -> LocalPartFolder:
        """Return a folder in it, for workers."""
        with translating(self.path):
            (self.path / name).mkdir(parents=True, exist_ok=True)
        return LocalPartFolder(str(self.path / name))

    def discard(self, name: str) -> None:
        """Remove what lies in a folder in it, which nobody reads any more."""
        shutil.rmtree(self.path / name, ignore_errors=True)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self.path),)


@functools.cache
def remove_abandoned(place: Path) -> None:
    """Remove the folders in `place` whose processes have died, of this user and host; a process looks once."""
    with suppress(OSError):
        for record in list(_records(place)):
            _judge(record)


def _records(place: Path) -> Iterator[Path]:
    with os.scandir(place) as entries:
        for entry in entries:
            if _RECORD.fullmatch(entry.name) and _is_own(entry.stat(follow_symlinks=False), stat.S_ISREG):
                yield Path(entry.path)


def _judge(record: Path) -> None:
    path = record.with_name(record.name.removeprefix(".").removesuffix(".owner"))
    try:
        with unlocked(record) as owner:
            if is_dead(record, owner) and (not os.path.lexists(path) or _is_own(path.lstat(), stat.S_ISDIR)):
                _discard(path)
                logger.warning("removed %s, which a process that was killed had left", path)
    except OSError as error:
        logger.debug("%s stays: %s", path, error)


def _is_own(status: os.stat_result, of_kind: Callable[[int], bool]) -> bool:
    return status.st_uid == os.geteuid() and of_kind(status.st_mode)


def _remove(path: Path, lock: int) -> None:
    if not is_claimed(lock):
        return
    with suppress(OSError):
        _discard(path)
    release(lock)


def _discard(path: Path) -> None:
    """Remove a folder, then its record; the record of one that cannot be removed stays for another try."""
    shutil.rmtree(path, ignore_errors=True)
    if not os.path.lexists(path):
        _record_of(path).unlink(missing_ok=True)


def _record_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.owner")
