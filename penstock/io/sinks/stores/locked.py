"""Conditional writes where the file system has none: under a lock beside the object."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from penstock.core.errors import OutputError
from penstock.io.sinks.locks import Owner
from penstock.io.sinks.stores.conditional import ConditionalWrites, Versioned
from penstock.io.sources.stores import modified

_PATIENCE = 60.0
_PAUSE = 0.02
_STALE_SECONDS = 60.0
_ATTEMPTS = 3

_held: set[bytes] = set()
"""The contents of the locks that this process has."""


class LockedWrites(ConditionalWrites):
    """Any other file system: a lock beside the object, made by an exclusive create, and the digest as the version.

    A holder that was killed on this host is known by its process; the lock of any other is taken for left after a
    minute. A file system that cannot create exclusively tells two writers apart only if they do not write in the same
    moment.
    """

    def read(self, path: str) -> Versioned | None:
        try:
            content = self._filesystem.cat_file(path)
        except FileNotFoundError:
            return None
        return Versioned(content, hashlib.sha256(content).hexdigest())

    def put(self, path: str, content: bytes, version: str | None) -> bool:
        self._filesystem.makedirs(self._filesystem._parent(path), exist_ok=True)
        with self._locked(path):
            if self._version(path) != version:
                return False
            self._filesystem.pipe_file(path, content)
            return True

    def remove(self, path: str, version: str) -> bool:
        with self._locked(path):
            if self._version(path) != version:
                return False
            self._filesystem.rm_file(path)
            return True

    def _version(self, path: str) -> str | None:
        found = self.read(path)
        return found.version if found else None

    @contextmanager
    def _locked(self, path: str) -> Iterator[None]:
        lock = f"{path}.lock"
        content = Owner.here().encode(lock=secrets.token_hex(8))
        deadline = time.monotonic() + _PATIENCE
        _held.add(content)
        while not self._create(lock, content):
            self._break(lock)
            if time.monotonic() > deadline:
                _held.remove(content)
                raise OutputError(f"another run has not released {lock} for {_PATIENCE:g} s", path=lock)
            time.sleep(_PAUSE)
        try:
            yield
        finally:
            _held.remove(content)
            self._release(lock)

    def _release(self, lock: str) -> None:
        """Remove a lock of this process; one that stays is taken for left, by this process at once."""
        for _ in range(_ATTEMPTS):
            try:
                self._filesystem.rm_file(lock)
            except FileNotFoundError:
                return
            except OSError:
                continue
            return

    def _create(self, lock: str, content: bytes) -> bool:
        try:
            with self._filesystem.open(lock, "xb") as file:
                file.write(content)
        except FileExistsError:
            return False
        except (ValueError, NotImplementedError):  # it has no exclusive create
            if self._filesystem.exists(lock):
                return False
            self._filesystem.pipe_file(lock, content)
        return True

    def _break(self, lock: str) -> None:
        """Remove a lock whose holder has died."""
        found = self.read(lock)
        owner = Owner.decode(found.content) if found else None
        if found is None or owner is None:
            return
        if self._is_left(lock, found, owner) and self.read(lock) == found:
            with suppress(FileNotFoundError):
                self._filesystem.rm_file(lock)

    def _is_left(self, lock: str, found: Versioned, owner: Owner) -> bool:
        if not owner.is_here():
            return self._age(lock) > _STALE_SECONDS
        return not owner.is_alive() or (owner.pid == os.getpid() and found.content not in _held)

    def _age(self, lock: str) -> float:
        try:
            stamp = modified(self._filesystem.info(lock))
        except FileNotFoundError:
            return 0.0
        return time.time() - stamp if stamp else 0.0
