"""Local folders and those of a store, asked alike: what a path stands for, what lies in and beside it."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from penstock.core.errors import IncompleteInputError, InputError
from penstock.io.sinks import MANIFEST_NAME, FileEntry, Manifest, read_manifest, verify_files
from penstock.io.sinks.stores.names import is_control, run_of
from penstock.io.sources.files import InputFile
from penstock.io.sources.globs import fixed_folder, match_local, visible
from penstock.io.sources.stores import modified

_SHOWN = 5


class Folders:
    """Folders of this machine's file systems; those of a store answer the same questions.

    Parameters
    ----------
    path : str
        A file, a folder or a pattern.

    Attributes
    ----------
    named : bool
        Whether that is the name of a file or a folder, and no pattern.
    """

    def __init__(self, path: str) -> None:
        self._path, self.named = path, os.path.lexists(path)

    def matches(self) -> list[str]:
        """Return the files and folders that the path stands for."""
        return [str(Path(path).absolute()) for path in ([self._path] if self.named else match_local(self._path))]

    def near(self) -> tuple[str, str, str, list[str]]:
        """Return where a path is looked for, in words, the nearest folder, what is not in it, and what is."""
        folder, absent = os.path.dirname(self._path.split("*", 1)[0]) or ".", os.path.basename(self._path)
        while not os.path.isdir(folder):
            folder, absent = os.path.dirname(folder) or ".", os.path.basename(folder)
        return f"working directory {os.getcwd()}", folder, absent, sorted(os.listdir(folder))

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder, which is about to be read."""
        return os.path.isdir(path)

    def file(self, path: str) -> InputFile:
        """Return a file as it is now."""
        return InputFile.of(path)

    def strip(self, path: str) -> str:
        """Return the path of an `InputFile` in its file system."""
        return path

    def walk(self, root: str) -> tuple[Collection[str], Collection[str]]:
        """Return the names of all files below a folder, and of the links to folders, which are not followed."""
        files, links = [], []
        for folder, folders, names in os.walk(root, onerror=_refuse):
            files += [os.path.join(folder, name) for name in names]
            links += [path for name in folders if os.path.islink(path := os.path.join(folder, name))]
        return [os.path.relpath(path, root) for path in files], [os.path.relpath(path, root) for path in links]

    def check(self, root: str, manifest: Manifest) -> None:
        """Raise IncompleteInputError unless a folder holds exactly the files of its manifest, in their sizes."""
        verify_files(root, manifest)

    def is_of_run(self, name: str) -> bool:
        """Return whether a file below an output is named as a part that is one only if the manifest lists it."""
        return False

    def holds(self, folder: str, name: str) -> bool:
        """Return whether a folder holds an entry of that name."""
        return os.path.lexists(os.path.join(folder, name))

    def names(self, folder: str) -> Collection[str]:
        """Return the names in a folder."""
        return os.listdir(folder) if os.path.isdir(folder) else ()

    def above(self, folder: str) -> Iterable[str]:
        """Return the folders that a folder lies in, the nearest first."""
        return map(str, Path(folder).parents)

    def manifest(self, folder: str) -> Manifest | None:
        """Return the manifest of an output of Penstock, None where there is none."""
        return read_manifest(folder)

    def show(self, folder: str) -> str:
        """Return a folder as messages name it."""
        return folder


def _refuse(error: OSError) -> None:
    raise error


class StoreFolders(Folders):
    """Folders of an fsspec file system, which cost a request each: what is listed once is not listed again.

    Parameters
    ----------
    filesystem : fsspec.AbstractFileSystem
    path : str
        A file, a folder or a pattern.
    """

    def __init__(self, filesystem: Any, path: str) -> None:
        filesystem.invalidate_cache()
        self._filesystem, self._path, self.named = filesystem, path, exists(filesystem, path)
        self._root = (path if self.named else fixed_folder(path)).rstrip("/")
        self._infos: dict[str, Any] = {}
        self._below: dict[str, list[str]] = {}
        self._names: dict[str, set[str]] = {}
        self._manifests: dict[str, Manifest | None] = {}

    def matches(self) -> list[str]:
        return [self._path] if self.named else visible(self._filesystem.glob(self._path), self._path)

    def near(self) -> tuple[str, str, str, list[str]]:
        folder = posixpath.dirname(self._path) if self.named else fixed_folder(self._path)
        paths = self._filesystem.ls(folder, detail=False) if self._filesystem.isdir(folder) else []
        absent = posixpath.basename(self._path)
        return f"in {self.show(folder)}", folder, absent, [os.path.basename(path) for path in paths]

    def is_folder(self, path: str) -> bool:
        """Return whether a path is a folder; all below it is listed then."""
        self._infos[path] = self._filesystem.info(path)
        if self._infos[path]["type"] != "directory":
            return False
        manifest = self._read_manifest(path)
        self._list(path)
        while self._differs(path, manifest) and manifest != (now := self._read_manifest(path)):
            manifest = now  # another run has replaced the output since, and removed what it replaced
            self._list(path)
        self._manifests[path.rstrip("/") or path] = manifest
        return True

    def _differs(self, path: str, manifest: Manifest | None) -> bool:
        present = self._below[path.rstrip("/") or path]
        if manifest is None:
            return MANIFEST_NAME in present
        return not {entry.path for entry in manifest.files}.issubset(present)

    def _list(self, path: str) -> None:
        self._filesystem.invalidate_cache()
        files = {posixpath.relpath(name, path): info for name, info in self._filesystem.find(path, detail=True).items()}
        root = path.rstrip("/") or path
        self._below[root] = list(files)
        self._names[root] = set()
        for name, info in files.items():
            self._infos[posixpath.join(root, name)] = info
            self._remember(root, posixpath.join(root, name))

    def _remember(self, root: str, path: str) -> None:
        while len(path) > len(root.rstrip("/")):
            path, name = posixpath.split(path)
            self._names.setdefault(path, set()).add(name)

    def file(self, path: str) -> InputFile:
        info = self._infos[path]
        return InputFile(self.show(path), int(info["size"] or 0), modified(info))

    def strip(self, path: str) -> str:
        return str(self._filesystem._strip_protocol(path))

    def walk(self, root: str) -> tuple[Collection[str], Collection[str]]:
        return self._below[root], ()

    def check(self, root: str, manifest: Manifest) -> None:
        listed: dict[str, FileEntry] = {entry.path: entry for entry in manifest.files}
        sizes = {
            name: int(self._infos[posixpath.join(root, name)]["size"])
            for name in self._below[root]
            if name in listed or not (is_control(name) or run_of(name))
        }
        differences = {
            "lacks": listed.keys() - sizes.keys(),
            "holds, beside those of its manifest,": sizes.keys() - listed.keys() - {MANIFEST_NAME},
            "has other sizes than its manifest for": {
                name for name in listed.keys() & sizes.keys() if listed[name].bytes != sizes[name]
            },
        }
        for problem, names in differences.items():
            if names:
                raise IncompleteInputError(
                    f"{self.show(root)} {problem} {len(names)} file(s): {', '.join(sorted(names)[:_SHOWN])}"
                    f" (run {manifest.run_id!r} wrote {len(listed)})",
                    hint="Restore the files of that run, or write the output again.",
                    path=self.show(root),
                )

    def is_of_run(self, name: str) -> bool:
        return run_of(name) is not None

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
        if folder not in self._manifests:
            self._manifests[folder] = self._read_manifest(folder) if self.holds(folder, MANIFEST_NAME) else None
        return self._manifests[folder]

    def _read_manifest(self, folder: str) -> Manifest | None:
        path = f"{folder.rstrip('/')}/{MANIFEST_NAME}"
        try:
            return Manifest.decode(self._filesystem.cat_file(path), path=self.show(path))
        except FileNotFoundError:
            return None

    def show(self, folder: str) -> str:
        return str(self._filesystem.unstrip_protocol(folder))


def exists(filesystem: Any, path: str) -> bool:
    """Ask by `info`: fsspec's own `exists` and `isdir` answer no when a store fails or refuses."""
    try:
        filesystem.info(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last from stores that refuse a pattern as a name
        return False
    return True


_ICEBERG_METADATA = re.compile(r"(v\d+|\d+-[0-9a-f-]{36})(\.gz)?\.metadata\.json(\.gz)?")
_HINTS = {
    "Delta": "Read it by its log: engine.read_delta({path!r}).",
    "Iceberg": "Read it by its metadata: engine.read_iceberg(identifier, catalog=...), or of one of the files"
    " {path}/metadata/*.metadata.json.",
    "Hudi": "Pass a list of the base files of its newest file slices, as Hudi's own reader names them.",
}


def refuse_tables(folders: Iterable[str], look: Folders) -> None:
    """Raise InputError for a folder of files that belongs to a table, of which only its log says what is in it.

    Examples
    --------
    >>> refuse_tables(["/"], Folders("/"))
    """
    seen = set()
    for folder in folders:
        for place in (folder, *look.above(folder)):
            if place in seen:
                break
            seen.add(place)
            if (kind := _kind(place, look)) is not None:
                raise _refusal(look.show(place), kind)


def _kind(folder: str, look: Folders) -> str | None:
    if look.holds(folder, "_delta_log"):
        return "Delta"
    if look.holds(folder, ".hoodie"):
        return "Hudi"
    if look.holds(folder, "metadata") and any(map(_ICEBERG_METADATA.fullmatch, look.names(f"{folder}/metadata"))):
        return "Iceberg"
    return None


def _refusal(folder: str, kind: str) -> InputError:
    return InputError(
        f"{folder} is a table of {kind}: its files also hold rows that were deleted or replaced, and its log alone says"
        " which files and rows are in the table",
        hint=_HINTS[kind].format(path=folder),
        path=folder,
    )
