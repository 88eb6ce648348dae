"""Where workers put the parts of an output."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock import frames
from penstock.io.sinks.files import FileEntry, file_entry
from penstock.io.sinks.os_errors import error_number, translate_os_error


class PartFolder(ABC):
    """The folder of an output in the making, as it travels to the workers: a small value that pickles.

    A part that is put twice under one name, by a second attempt at a task, is there once.
    """

    @abstractmethod
    def put(self, name: str, write: Callable[[str], None], *, rows: int | None, kind: str) -> FileEntry:
        """Make a part durable and return what the manifest is to list.

        Parameters
        ----------
        name : str
            Relative to the folder, with forward slashes; folders in it are made.
        write : callable
            Takes the path of a file that is not there yet, on a disk of this machine, and writes the part to it.
        rows : int or None
            Rows of the part, where rows mean something.
        kind : str
            What the file is read as, such as ``"parquet"``.

        Raises
        ------
        OutputError, DiskFullError
            The file system or the store refused.
        """

    @abstractmethod
    def locate(self, name: str) -> str:
        """Return the path or the URL of a part that was put, as `Storage` opens it until the output is sealed."""

    @property
    def location(self) -> str:
        """The path or the URL of the folder."""
        return self.locate("").rstrip("/")

    @property
    def storage_options(self) -> Mapping[str, Any]:
        """What `Storage` needs besides; never shown in a message."""
        return {}


@dataclass(frozen=True)
class LocalPartFolder(PartFolder):
    """A folder that this machine mounts.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     entry = LocalPartFolder(folder).put(
    ...         "part-0.csv", lambda path: Path(path).write_text("x"), rows=0, kind="csv"
    ...     )
    >>> entry.path, entry.bytes
    ('part-0.csv', 1)
    """

    path: str

    def put(self, name: str, write: Callable[[str], None], *, rows: int | None, kind: str) -> FileEntry:
        """Write beside the part's place, and rename: another attempt sees the whole file or none.

        One that comes when the folder is gone, as the output was sealed or given up, does not make it again.
        """
        path = os.path.join(self.path, name)
        attempt = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
        try:
            self._make_folders(name)
            write(attempt)
            os.replace(attempt, path)
            return file_entry(path, self.path, rows=rows, kind=kind)
        except frames.ERRORS as error:  # Polars says what the system refused in the text of an error of its own
            if error_number(error) is None:
                raise
            raise translate_os_error(error, path) from error

    def locate(self, name: str) -> str:
        """Return the path of a part."""
        return os.path.join(self.path, name)

    def _make_folders(self, name: str) -> None:
        folder = self.path
        for part in name.split("/")[:-1]:
            folder = os.path.join(folder, part)
            with suppress(FileExistsError):
                os.mkdir(folder)
