"""What lies beside the files that paths stand for, in local folders and in those of a store."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from penstock.io.sinks import MANIFEST_NAME, Manifest, read_manifest


class Folders(Protocol):
    """Answers what a folder holds; folders have the paths of their file system."""

    def holds(self, folder: str, name: str) -> bool:
        """Return whether a folder holds an entry of that name."""

    def names(self, folder: str) -> Collection[str]:
        """Return the names in a folder."""

    def above(self, folder: str) -> Iterable[str]:
        """Return the folders that a folder lies in, the nearest first."""

    def manifest(self, folder: str) -> Manifest | None:
        """Return the manifest of an output of Penstock, None where there is none."""

    def show(self, folder: str) -> str:
        """Return a folder as messages name it."""


class LocalFolders:
    """Folders of this machine's file systems."""

    def holds(self, folder: str, name: str) -> bool:
        return os.path.lexists(os.path.join(folder, name))

    def names(self, folder: str) -> Collection[str]:
        return os.listdir(folder) if os.path.isdir(folder) else ()

    def above(self, folder: str) -> Iterable[str]:
        return map(str, Path(folder).parents)

    def manifest(self, folder: str) -> Manifest | None:
        return read_manifest(folder)

    def show(self, folder: str) -> str:
        return folder


class StoreFolders:
    """Folders of an fsspec file system, which cost a request each: those below `root` were listed before.

    Parameters
    ----------
    filesystem : fsspec.AbstractFileSystem
    root : str
        The folder of a directory, or that of a glob before its first magic character.
    """

    def __init__(self, filesystem: Any, root: str) -> None:
        self._filesystem, self._root = filesystem, root.rstrip("/")
        self._names: dict[str, set[str]] = {}

    def remember(self, root: str, files: Iterable[str]) -> None:
        """Take all files below a folder, so that nothing there has to be listed again."""
        for path in files:
            while len(path) > len(root.rstrip("/")):
                path, name = posixpath.split(path)
                self._names.setdefault(path, set()).add(name)

    def holds(self, folder: str, name: str) -> bool:
        if f"{folder}/".startswith(f"{self._root}/"):
            return name in self.names(folder)
        return exists(self._filesystem, f"{folder}/{name}")

    def names(self, folder: str) -> Collection[str]:
        if folder not in self._names:
            paths = self._filesystem.ls(folder, detail=False)
            self._names[folder] = {posixpath.basename(path.rstrip("/")) for path in paths}
        return self._names[folder]

    def above(self, folder: str) -> Iterator[str]:
        """Yield folders below the root, and above it those that ``key=value`` folders and one of data files lie in."""
        while (parent := posixpath.dirname(folder)) not in ("", "/", folder):
            inside, name = len(folder) > len(self._root), posixpath.basename(folder)
            if not inside and "=" not in name and name != "data":
                return
            yield parent
            folder = parent

    def manifest(self, folder: str) -> Manifest | None:
        if not self.holds(folder, MANIFEST_NAME):
            return None
        path = f"{folder}/{MANIFEST_NAME}"
        return Manifest.decode(self._filesystem.cat_file(path), path=self.show(path))

    def show(self, folder: str) -> str:
        return str(self._filesystem.unstrip_protocol(folder))


def exists(filesystem: Any, path: str) -> bool:
    """Ask by `info`: fsspec's own `exists` and `isdir` answer no when a store fails or refuses."""
    try:
        filesystem.info(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last from stores that refuse a pattern as a name
        return False
    return True
