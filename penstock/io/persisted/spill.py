"""Columns on local disk: Arrow IPC in a private folder that goes away with its owner."""

from __future__ import annotations

import itertools
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import narwhals as nw

from penstock import frames
from penstock.core.errors import PenstockError
from penstock.core.notices import get_logger
from penstock.frames import Kind
from penstock.frames.columns import read_ipc, write_ipc
from penstock.io.sinks.temporary import TemporaryFolder

logger = get_logger(__name__)


@dataclass(frozen=True)
class SpilledColumn:
    """A column in a file, and the bytes that it takes there."""

    path: Path
    size: int


class SpillFolder:
    """Columns in files of a temporary folder, made with the first of them.

    A disk that is full, or a folder that cannot be written, is logged once, and nothing more is put there.

    Parameters
    ----------
    parent : str, optional
    budget : int
        Bytes of all files together.
    """

    def __init__(self, parent: str | None, budget: int) -> None:
        self._parent, self._budget = parent, budget
        self._folder: TemporaryFolder | None = None
        self._numbers, self._lock = itertools.count(), threading.RLock()
        self.used = 0

    def write(self, column: nw.Series, size: int) -> SpilledColumn | None:
        """Return the column as it was put on disk; None where there is no room for it."""
        with self._lock:
            if self.used + size > self._budget:
                return None
            self.used += size
        try:
            path = self._new_path()
            write_ipc(column, path)
            spilled = SpilledColumn(path, path.stat().st_size)
        except (PenstockError, *frames.ERRORS) as error:
            self._give_up(size, error)
            return None
        with self._lock:
            self.used += spilled.size - size
        if self.used > self._budget:  # a file has a head and a foot
            self.remove(spilled)
            return None
        return spilled

    def _give_up(self, size: int, error: BaseException) -> None:
        with self._lock:
            self.used -= size
            is_first, self._budget = self._budget > 0, 0
        if is_first:  # of the threads that write at the same time
            logger.warning("no more rows are put on disk: %s", error)

    def _new_path(self) -> Path:
        with self._lock:
            self._folder = self._folder or TemporaryFolder(self._parent)
            return self._folder.path / f"{next(self._numbers)}.arrow"

    def read(self, spilled: SpilledColumn, kind: Kind) -> nw.Series | None:
        """Return a column; None where its file is gone, or no longer what was written."""
        try:
            return read_ipc(spilled.path, kind)
        except frames.ERRORS as error:
            logger.warning("rows put on disk cannot be read, and are made again: %s", error)
            return None

    def remove(self, spilled: SpilledColumn) -> None:
        """Remove the file of a column."""
        with self._lock:
            self.used -= spilled.size
        with suppress(OSError):
            spilled.path.unlink()

    def close(self) -> None:
        """Remove all."""
        with self._lock:
            self._budget = 0
            if self._folder is not None:
                self._folder.remove()
