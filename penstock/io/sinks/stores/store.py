"""The objects of one store: asked again when it fails for a moment, and no credentials in what is said."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

from penstock.config.secrets import secret_values
from penstock.core.errors import ConfigError, OutputError, PenstockError
from penstock.core.notices import get_logger
from penstock.core.redaction import secrets_in_url
from penstock.io.sinks.stores.conditional import AzureWrites, ConditionalWrites, GoogleWrites, S3Writes, Versioned
from penstock.io.sinks.stores.locked import LockedWrites
from penstock.io.sources.stores import ATTEMPTS, connect, modified, patiently, why

logger = get_logger(__name__)

Result = TypeVar("Result")

_BY_PROTOCOL: dict[str, type[ConditionalWrites]] = {"s3": S3Writes, "gs": GoogleWrites, "abfs": AzureWrites}
"""By any of the names that a file system has for its protocol; all others are written under locks."""


@dataclass(frozen=True)
class ObjectInfo:
    """What a listing says of an object; ``mtime`` is 0.0 where the store does not tell."""

    size: int
    mtime: float


@dataclass(frozen=True)
class ObjectStore:
    """An fsspec file system that is written to; a small value that pickles, and connects where it is used.

    Paths are those within it (``bucket/key``); `url` is any URL of it.

    Parameters
    ----------
    url : str
    options : mapping
        Passed to fsspec; never shown in a message.

    Raises
    ------
    OutputError
        By all methods: the store refused, or failed three times; with its own last words.
    """

    url: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def filesystem(self) -> Any:
        """The file system, which is the same object for the same options in one process."""
        return self._connected[0]

    @property
    def path(self) -> str:
        """The path of `url` within the store."""
        return str(self._connected[1])

    @cached_property
    def _connected(self) -> tuple[Any, str]:
        return connect(self.url, self.options, "write")

    @cached_property
    def _conditional(self) -> ConditionalWrites:
        protocols = self.filesystem.protocol
        names = [protocols] if isinstance(protocols, str) else protocols
        return next((_BY_PROTOCOL[name] for name in names if name in _BY_PROTOCOL), LockedWrites)(self.filesystem)

    def __reduce__(self) -> tuple[type[ObjectStore], tuple[str, Mapping[str, Any]]]:
        return ObjectStore, (self.url, self.options)

    def show(self, path: str) -> str:
        """Return a path as messages name it."""
        return str(self.filesystem.unstrip_protocol(path))

    def read(self, path: str) -> Versioned | None:
        """Return an object as it is now; None where there is none."""
        return self._ask(path, lambda: self._conditional.read(path), "read")

    def replace(self, path: str, content: bytes, version: str | None) -> bool:
        """Write an object if `version` is still there (None for nothing), and return whether it has this content now.

        A store may fail after it has written, and refuses the next attempt then; that counts as done.
        """
        if self._ask(path, lambda: self._conditional.put(path, content, version)):
            return True
        current = self.read(path)
        return current is not None and current.content == content

    def remove(self, path: str, version: str) -> bool:
        """Remove an object if `version` is still there; return whether it was."""
        return self._ask(path, lambda: self._conditional.remove(path, version))

    def put(self, path: str, content: bytes) -> None:
        """Write an object, whatever is there."""
        self._make_folder(path)
        self._ask(path, lambda: self.filesystem.pipe_file(path, content))

    def upload(self, local: str, path: str) -> None:
        """Write an object from a local file, in several parts where the store wants that."""
        self._make_folder(path)
        self._ask(path, lambda: self.filesystem.put_file(local, path))

    def download(self, path: str, local: str) -> None:
        """Write an object to a local file."""
        self._ask(path, lambda: self.filesystem.get_file(path, local), "read")

    def list(self, folder: str) -> dict[str, ObjectInfo]:
        """Return all objects below a folder, by their paths relative to it; one at the path itself is ``"."``."""

        def find() -> Mapping[str, Any]:
            self.filesystem.invalidate_cache()
            try:
                found: Mapping[str, Any] = self.filesystem.find(folder, detail=True)
            except FileNotFoundError:
                return {}
            return found

        # a folder that is made just now may be listed as itself
        infos = [(n, i) for n, i in self._ask(folder, find, "list").items() if i["type"] == "file"]
        return {posixpath.relpath(name, folder): ObjectInfo(int(i["size"] or 0), modified(i)) for name, i in infos}

    def discard(self, paths: Iterable[str]) -> bool:
        """Remove objects, and return whether all are gone; one that stays is logged, and left to the next run."""
        return not [path for path in paths if not self._discard(path, self.filesystem.rm_file)]

    def discard_folder(self, path: str) -> bool:
        """Remove all objects below a folder in few requests, and return whether they are gone, as `discard` does."""

        def remove(folder: str) -> None:
            self.filesystem.invalidate_cache()
            self.filesystem.rm(folder, recursive=True)

        return self._discard(path, remove)

    def _discard(self, path: str, remove: Callable[[str], object]) -> bool:
        def ask() -> None:
            with suppress(FileNotFoundError):
                remove(path)

        try:
            self._ask(path, ask, "remove")
        except PenstockError as error:
            logger.warning("cannot remove %s; the next run tries again: %s", self.show(path), error)
            return False
        return True

    def _make_folder(self, path: str) -> None:
        if isinstance(self._conditional, LockedWrites):  # stores of objects have none, and would make a bucket
            folder = self.filesystem._parent(path)
            self._ask(path, lambda: self.filesystem.makedirs(folder, exist_ok=True))

    def _ask(self, path: str, ask: Callable[[], Result], verb: str = "write") -> Result:
        shown = self.show(path)
        refuse = partial(_refuse, verb)
        try:
            return patiently(ask, shown, [*secret_values(self.options), *secrets_in_url(self.url)], refuse)
        except PenstockError:
            raise
        except (OSError, NotImplementedError, ValueError, TypeError) as error:
            raise refuse(shown, why(error), attempt=None) from error


def _refuse(verb: str, path: str, problem: str, attempt: int | None = ATTEMPTS) -> PenstockError:
    hint = "Look whether the store answers, and whether these credentials may write there. Nothing visible changed."
    return OutputError(f"cannot {verb} {path}: {problem}", hint=hint, path=path, attempt=attempt)


def store_at(url: str, options: Mapping[str, Any] | None = None) -> ObjectStore:
    """Return the store of a URL that is to be written to.

    Raises
    ------
    ConfigError
        A chain of URLs, which cannot be written to; a URL of a kind that fsspec does not know; the root of a store.
    MissingExtraError
        The package for it is not installed.
    """
    if "::" in url:
        raise ConfigError(f"{url} cannot be written: it is a chain", hint="Name the store itself.", path=url)
    store = ObjectStore(re.sub(r"(?<![:/])/+$", "", url), dict(options or {}))
    if "/" not in store.path.rstrip("/"):
        hint = "Name a folder or a file in it."
        raise ConfigError(f"{url} is a whole store, which cannot be an output", hint=hint, path=url)
    return store
