"""Where a study lies: an SQLite file, a journal file, or a database by its URL."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import optuna
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from penstock.core.errors import ConfigError, MissingExtraError, OutputError, PenstockError
from penstock.core.locations import absolute_path, is_url, read_location
from penstock.core.redaction import presentable, redact_error, secrets_in_url
from penstock.io.sinks.locks import FileLock
from penstock.io.sinks.os_errors import translate_os_error
from penstock.io.sources.text import shorten_text
from penstock.search.with_optuna.quiet import quiet

_SQLITE = "sqlite:///"
_JOURNAL = ".journal"
_NAME = "penstock"


class Backend:
    """A storage that is opened, and whose errors are Penstock's, without the secrets of its URL.

    Parameters
    ----------
    location : str or PathLike
        A path: ``.journal`` ends that of a journal file, any other is an SQLite database; ``sqlite:///path`` is that
        path. Or the URL of a database that SQLAlchemy knows, and after ``#`` the name of the study there.
    """

    def __init__(self, location: str | os.PathLike[str]) -> None:
        text = read_location(location, "study").removeprefix(_SQLITE)
        self._url, _, name = text.partition("#") if is_url(text) else ("", "", "")
        self._path = None if self._url else absolute_path(text, "study")
        self.study_name, self._secrets = name or _NAME, secrets_in_url(self._url)
        self.shown = str(self._path or presentable(self._url, known=self._secrets) + f"#{name}" * bool(name))
        self._storage: BaseStorage | None = None
        self._lock: FileLock | None = None
        self._is_closed = False
        self._mutex = threading.RLock()

    @contextmanager
    def using(self) -> Iterator[BaseStorage]:
        """Give the storage; what it raises inside is an error of this library's."""
        with self._mutex, quiet(), self._translating():
            if self._storage is None:
                self._storage = self._open()
                self._disconnect = weakref.finalize(self, _disconnect, self._storage)
            yield self._storage

    def close(self) -> None:
        """Let go of connections and of the lock."""
        with self._mutex:
            if self._storage is not None:
                self._disconnect()
            if self._lock is not None:
                self._lock.release()
            self._storage, self._lock, self._is_closed = None, None, True

    def _open(self) -> BaseStorage:
        if self._is_closed:
            raise OutputError(f"the study {self.shown} is closed")
        return RDBStorage(self._url) if self._path is None else self._open_file(self._path)

    def _open_file(self, path: Path) -> BaseStorage:
        if "?" in str(path):
            raise ConfigError(f"study is {str(path)!r}: no database has a '?' in its name", path=str(path))
        self._lock = FileLock.acquire(path.with_name(f"{path.name}.lock"))
        if self._lock is None:
            raise OutputError(
                f"another process is at the study {path}",
                hint="One process at a time runs a study: wait for the other, or give another path.",
                path=str(path),
            )
        if path.suffix != _JOURNAL:
            # A pool would leave connections open where Optuna fails to open a file, and of a file they cost nothing.
            return RDBStorage(f"{_SQLITE}{path}", {"poolclass": NullPool})
        cut_torn_line(path)
        _check_lines(path)
        return JournalStorage(JournalFileBackend(str(path), lock_obj=_Held(str(path))))

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except PenstockError:
            raise
        except Exception as error:
            redact_error(error, self._secrets)
            translated = self._translated(error)
            if translated is None:
                raise
            raise translated from error

    def _translated(self, error: Exception) -> PenstockError | None:
        """Return the error of this library for one of Optuna's storages; None for one that is a fault."""
        said = str(error).strip().partition("\n")[0]
        if isinstance(error, ImportError):
            name = getattr(error.__cause__ or error, "name", None)
            hint = f"pip install {name}, or another driver, and name it in the URL: postgresql+psycopg://..."
            return MissingExtraError(f"the study {self.shown} needs {name}, which is not installed", hint=hint)
        if isinstance(error, OSError):
            return translate_os_error(error, self.shown)
        if isinstance(error, SQLAlchemyError | optuna.exceptions.StorageInternalError):
            return OutputError(f"the study {self.shown} cannot be used: {said}", hint=_HINT)
        if isinstance(error, RuntimeError | ValueError) and self._storage is None:
            return ConfigError(f"the study {self.shown} cannot be opened: {said}", hint=_HINT)
        return None


_HINT = "A study is an SQLite file, a file that ends in .journal, or a database by URL, to be read and written."


def _disconnect(storage: BaseStorage) -> None:
    """Close the connections of a storage, which the end of its last reference leaves open."""
    if isinstance(storage, RDBStorage):
        storage.remove_session()
        storage.engine.dispose()


def cut_torn_line(path: Path) -> None:
    """Leave the end of a journal that was being written when its process was killed: no newline ends it."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            file.truncate(whole)


def _check_lines(path: Path) -> None:
    """Raise ConfigError for a line of a journal that Optuna did not write; its own reader fails without a line."""
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1] if path.exists() else [], start=1):
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or not {"op_code", "worker_id"} <= entry.keys():
            raise ConfigError(
                f"{path}, line {number}: {shorten_text(line.decode(errors='replace'))} is no entry of a journal",
                hint="Take the line out, or give another place for the study.",
                path=str(path),
            )


class _Held(JournalFileOpenLock):
    """No lock: the file is locked already, by a lock that the kernel releases however the process ends."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass
