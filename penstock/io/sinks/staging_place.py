"""Where engines stage rows: the temporary directory, a directory that all machines mount, or a store."""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
import posixpath
import secrets
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import fsspec

from penstock.core.errors import PenstockError
from penstock.core.locations import is_in_memory, is_url, read_location
from penstock.io.sinks.failpoints import failpoint
from penstock.io.sinks.locks import Owner
from penstock.io.sinks.stores.part_folder import StorePartFolder
from penstock.io.sinks.stores.recovery import is_dead, owner_records
from penstock.io.sinks.stores.store import ObjectStore, logger, store_at
from penstock.io.sinks.temporary import Temporary, TemporaryFolder

ABANDONED_SECONDS = 7 * 86_400.0
"""A folder of another host, of which nobody here can tell whether its process lives, is left when it is older."""

_RECORDS = ".penstock-staging"
_PREFIX = "penstock-"

_visited: set[str] = set()
"""Where this process has looked for what killed ones left."""


@dataclass(frozen=True)
class TemporaryPartFolder(StorePartFolder):
    """A part of a temporary folder: names stay as they are, since nobody lists them before all are there."""

    def final(self, name: str) -> str:
        return name

    def locate(self, name: str) -> str:
        """Return the URL of a part, as it was given: a file system may lose the host of one."""
        below = posixpath.relpath(posixpath.join(self.path, name), self.store.path)
        return f"{self.store.url}/{below}"


class TemporaryStoreFolder(Temporary):
    """A new folder in a store, removed when nothing in this process refers to it any more, as `TemporaryFolder` is.

    A record of the process lies in ``.penstock-staging`` beside it. Where the process is killed, the first folder that
    another one of the same host makes in the same place removes both; one of another host does so after a week.

    Parameters
    ----------
    parent : str
        The URL of where it is made.
    options : mapping, optional
        Passed to fsspec; never shown in a message.

    Raises
    ------
    OutputError
        It cannot be made there.
    ConfigError, MissingExtraError
        No such store is known, or its package is not installed.

    Examples
    --------
    >>> folder = TemporaryStoreFolder("memory://doc/tmp")
    >>> entry = folder.parts("rows").put("a", lambda path: open(path, "x").close(), rows=0, kind="csv")
    >>> folder.parts("rows").locate("a").startswith("memory://doc/tmp/penstock-")
    True
    >>> folder.remove()
    """

    def __init__(self, parent: str, options: Mapping[str, Any] | None = None) -> None:
        name = f"{_PREFIX}{secrets.token_hex(8)}"
        self.store = store_at(f"{parent}{'' if parent.endswith('/') else '/'}{name}", options)
        _remove_abandoned(self.store)
        record = _record_of(self.store.path)
        self._finalizer = weakref.finalize(self, _finalize, self.store, self.store.path, os.getpid())
        _answer_until_the_end()
        self.store.put(record, Owner.here().encode())
        failpoint("staging-recorded")

    def parts(self, name: str) -> TemporaryPartFolder:
        """Return a folder in it, for workers."""
        return TemporaryPartFolder(self.store, f"{self.store.path}/{name}", "", "")

    def discard(self, name: str) -> None:
        """Remove what lies in a folder in it, which nobody reads any more."""
        self.store.discard_folder(f"{self.store.path}/{name}")

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (self.store.url,)


class _InPlace(ThreadPoolExecutor):
    """Does at once what it is asked to do."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@functools.cache
def _answer_until_the_end() -> None:
    """Let stores be asked when the process ends: their clients look names up in threads, which are gone then.

    This is called once finalizers are known to the end of the process, and so comes before them.
    """
    loop = fsspec.asyn.get_loop()
    atexit.register(loop.call_soon_threadsafe, lambda: loop.set_default_executor(_InPlace()))


def _record_of(path: str) -> str:
    parent, name = posixpath.split(path)
    return f"{parent}/{_RECORDS}/{name}.owner"


def _finalize(store: ObjectStore, path: str, process: int) -> None:
    """Remove a folder, unless it is one of the process that forked this one."""
    if os.getpid() != process:
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        _remove(store, path)
    else:  # the collector runs where it likes; a loop that stores answer on would wait for itself
        threading.Thread(target=partial(_remove, store, path), name="penstock-staging").start()


def _remove(store: ObjectStore, path: str) -> None:
    """Remove a folder, then its record; the record of one that cannot be removed stays for another try."""
    if store.discard_folder(path):
        failpoint("staging-removed")
        store.discard([_record_of(path)])


def _remove_abandoned(store: ObjectStore) -> None:
    """Remove the folders beside that of a store whose processes have died; a process looks once."""
    parent = posixpath.dirname(store.path)
    place = store.show(parent)
    if place in _visited:
        return
    _visited.add(place)
    try:
        for name, info in owner_records(store, f"{parent}/{_RECORDS}").items():
            record = store.read(f"{parent}/{_RECORDS}/{name}.owner")
            if record is None or not name.startswith(_PREFIX):
                continue
            if is_dead(Owner.decode(record.content), info, ABANDONED_SECONDS):
                _remove(store, f"{parent}/{name}")
                logger.warning("removed %s/%s, which a process that was killed had left", place, name)
    except PenstockError as error:
        logger.warning("cannot look in %s for what killed processes left: %s", place, error)


StagingFolder = TemporaryFolder | TemporaryStoreFolder


@dataclass(frozen=True)
class StagingPlace:
    """Where folders for staged rows are made.

    Parameters
    ----------
    location : str
        A path from the root, or a URL; empty for the temporary directory.
    options : mapping
        Passed to fsspec; never shown in a message.

    Examples
    --------
    >>> with StagingPlace.at("memory://doc/tmp").new_folder() as folder:
    ...     folder.parts("rows").location.startswith("memory://doc/tmp/penstock-")
    True
    """

    location: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def at(cls, location: str | Path, options: Mapping[str, Any] | None = None) -> StagingPlace:
        """Return a place as a user names it; ConfigError for what is neither a path nor a URL."""
        text = read_location(location, "staging_dir")
        return cls(text if is_url(text) else str(Path(text).absolute()), options or {})

    @property
    def is_in_memory(self) -> bool:
        """Whether no other process sees what is staged there."""
        return is_in_memory(self.location)

    def new_folder(self) -> StagingFolder:
        """Make a folder there, which is removed with the last reference to it; OutputError where it cannot be made."""
        if is_url(self.location):
            return TemporaryStoreFolder(self.location, self.options)
        return TemporaryFolder(self.location or None)
