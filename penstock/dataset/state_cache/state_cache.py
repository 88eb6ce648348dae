"""A folder, or one of a store, of states by their fingerprints: bounded in size, for any number of writers."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from penstock.core.errors import ConfigError, PenstockError
from penstock.core.locations import absolute_path, is_url, read_location
from penstock.core.notices import get_logger
from penstock.core.plain_files import read_plain
from penstock.core.sizes import parse_bytes
from penstock.dataset.state_cache.state_files import decode, encode
from penstock.io.sinks import translating
from penstock.io.sinks.stores.store import store_at

logger = get_logger(__name__)

_SUFFIX = ".state"


class _Entry(NamedTuple):
    used: float
    size: int
    name: str


@dataclass(frozen=True)
class StateCache:
    """Keeps states of statistics by fragment, in files that any number of runs and workers share.

    What is there is never changed, only put beside, so that two writers of one entry write the same. Whatever cannot be
    read is computed again, and said in the log; what cannot be written is logged too, and lost to the next run alone.

    Parameters
    ----------
    location : str or Path
        A folder, or the URL of one; made if it is not there. On a cluster all workers have to reach it.
    max_bytes : int or str, default="10 GiB"
        What it may hold; after each scan those used longest ago are removed. In a store, those written longest ago.
    storage_options : mapping, optional
        Passed to fsspec; never shown in a message.

    Raises
    ------
    ConfigError
        `max_bytes` is no size.
    OutputError
        The folder cannot be made.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = StateCache(folder, max_bytes="1 GiB")
    ...     cache.put("ab12", {"rows": 3})
    ...     cache.get("ab12"), cache.get("cd34")
    ({'rows': 3}, None)
    """

    location: str
    max_bytes: int | str = "10 GiB"
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        text = read_location(self.location, "cache_states")
        location = text.rstrip("/") if is_url(text) else str(absolute_path(text, "cache_states"))
        object.__setattr__(self, "location", location)
        size = parse_bytes(self.max_bytes) if isinstance(self.max_bytes, str) else self.max_bytes
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise ConfigError(f"max_bytes is {self.max_bytes!r}, expected bytes, or a size such as '10 GiB'")
        object.__setattr__(self, "max_bytes", size)
        object.__setattr__(self, "storage_options", dict(self.storage_options or {}))
        self._files.prepare()

    @property
    def _files(self) -> _Folder | _Objects:
        return _Objects(self.location, self.storage_options) if is_url(self.location) else _Folder(self.location)

    def get(self, key: str) -> Any:
        """Return the state of a key; None where there is none, or none that is whole."""
        name = _name(key)
        try:
            data = self._files.read(name)
            return None if data is None else decode(data, key)
        except (PenstockError, OSError) as error:
            logger.warning("%s/%s is computed again: %s", self.location, name, error)
        return None

    def put(self, key: str, state: Any) -> None:
        """Keep a state; one that is no plain data is not kept."""
        with suppress(TypeError):
            data = encode(state, key)
            try:
                self._files.write(_name(key), data)
            except PenstockError as error:
                logger.warning("a state is not kept: %s", error)

    def prune(self) -> None:
        """Remove what was used longest ago, until no more than `max_bytes` are left."""
        try:
            entries = self._files.entries()
            excess = sum(entry.size for entry in entries) - int(self.max_bytes)
            for entry in sorted(entries):
                if excess <= 0:
                    break
                self._files.remove(entry.name)
                excess -= entry.size
        except PenstockError as error:
            logger.warning("states in %s are not removed: %s", self.location, error)


def _name(key: str) -> str:
    return f"{key[:2]}/{key}{_SUFFIX}"


@dataclass(frozen=True)
class _Folder:
    """Files on a disk, which are written aside and renamed; a read marks a file as used."""

    path: str

    def prepare(self) -> None:
        with translating(self.path):
            os.makedirs(self.path, mode=0o700, exist_ok=True)

    def read(self, name: str) -> bytes | None:
        path = Path(self.path, name)
        try:
            data = read_plain(path)
        except FileNotFoundError:
            return None
        with suppress(OSError):
            os.utime(path)
        return data

    def write(self, name: str, data: bytes) -> None:
        path = Path(self.path, name)
        aside = path.with_name(f".{secrets.token_hex(8)}.tmp")
        with translating(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                aside.write_bytes(data)
                os.replace(aside, path)
            finally:
                aside.unlink(missing_ok=True)

    def entries(self) -> list[_Entry]:
        found = []
        for path in Path(self.path).glob(f"??/*{_SUFFIX}"):
            with suppress(FileNotFoundError):
                status = path.stat()
                found.append(_Entry(status.st_mtime, status.st_size, str(path.relative_to(self.path))))
        return found

    def remove(self, name: str) -> None:
        with translating(self.path):
            Path(self.path, name).unlink(missing_ok=True)


class _Objects:
    """Objects of a store, each of which appears whole."""

    def __init__(self, url: str, options: Mapping[str, Any]) -> None:
        self._store = store_at(url, options)

    def prepare(self) -> None:
        """Do nothing: a store has no folders."""

    def read(self, name: str) -> bytes | None:
        found = self._store.read(f"{self._store.path}/{name}")
        return None if found is None else found.content

    def write(self, name: str, data: bytes) -> None:
        self._store.put(f"{self._store.path}/{name}", data)

    def entries(self) -> list[_Entry]:
        listed = self._store.list(self._store.path).items()
        return [_Entry(info.mtime, info.size, name) for name, info in listed if name.endswith(_SUFFIX)]

    def remove(self, name: str) -> None:
        self._store.discard([f"{self._store.path}/{name}"])
