"""Files that a glob selects of outputs of Penstock: as their manifests list them, or told what is missing."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property

from penstock.core.errors import IncompleteInputError
from penstock.core.notices import warn
from penstock.core.schemas import shorten
from penstock.io.sinks import FileEntry, Manifest
from penstock.io.sinks.partitions import listed_columns
from penstock.io.sources.files import InputFile
from penstock.io.sources.folders import Folders

_HINT = "Restore the files of that run, or write the output again."


@dataclass
class _Selection:
    """What is read of one output."""

    root: str
    folders: Folders
    manifest: Manifest
    patterns: set[str] = field(default_factory=set)
    selected: set[str] = field(default_factory=set)

    @cached_property
    def entries(self) -> dict[str, FileEntry]:
        return {entry.path: entry for entry in self.manifest.files}

    def refuse(self, name: str, problem: str) -> IncompleteInputError:
        path = f"{self.folders.show(self.root)}/{name}"
        message = f"{path} {problem} (run {self.manifest.run_id!r} wrote {len(self.manifest.files)} file(s))"
        return IncompleteInputError(message, hint=_HINT, path=path)


class Selections:
    """Collects the files of all paths of a dataset, since several globs may select one output together."""

    def __init__(self) -> None:
        self._by_root: dict[str, _Selection] = {}
        self._root_of: dict[str, str | None] = {}

    def add(self, file: InputFile, folders: Folders, pattern: str | None) -> InputFile:
        """Return a file with its hash, and the columns, as a manifest beside it lists them; as it is without one.

        Parameters
        ----------
        file : InputFile
        folders : Folders
        pattern : str or None
            What it matched; None for a file that was named itself, which may be beside those of a manifest.

        Raises
        ------
        IncompleteInputError
            It has another size, or lies among files of a manifest that does not list it.
        """
        path = folders.strip(file.path)
        root = self._root(posixpath.dirname(path), folders)
        if root is None:
            return file
        selection, name = self._by_root[root], posixpath.relpath(path, root)
        entry = selection.entries.get(name)
        if pattern is not None:
            selection.patterns.add(pattern)
        if entry is None:
            if pattern is None:
                return file
            raise selection.refuse(name, "is not in the manifest beside it: a part of another run, say")
        if entry.bytes != file.size:
            raise selection.refuse(name, f"has {file.size} bytes, and {entry.bytes} in its manifest")
        selection.selected.add(name)
        return replace(file, sha256=entry.sha256, columns=listed_columns(selection.manifest))

    def leaves_out(self, path: str, folders: Folders) -> bool:
        """Return whether a file that a pattern matched is a part of a run that its output does not list.

        Raises
        ------
        IncompleteInputError
            There is no output yet that could list it.
        """
        if not folders.is_of_run(posixpath.basename(path)):
            return False
        root = self._root(posixpath.dirname(path), folders)
        if root is None:
            shown = folders.show(path)
            message = f"{shown} is a part of a run, and no manifest beside it says that all parts are there"
            raise IncompleteInputError(message, hint="Read it once that run is done, or name the file.", path=shown)
        return posixpath.relpath(path, root) not in self._by_root[root].entries

    def check_whole(self, suffixes: tuple[str, ...]) -> None:
        """Warn of outputs of which globs select a part.

        Raises
        ------
        IncompleteInputError
            A file that they would match is gone.
        """
        for selection in self._by_root.values():
            if selection.patterns:
                _check_whole(selection, suffixes)

    def _root(self, folder: str, folders: Folders) -> str | None:
        """Return the output that a folder is, or is a ``key=value`` folder of."""
        if folder not in self._root_of:
            manifest = folders.manifest(folder)
            if manifest is not None:
                self._by_root[folder] = _Selection(folder, folders, manifest)
                self._root_of[folder] = folder
            else:
                inside = "=" in posixpath.basename(folder)
                self._root_of[folder] = self._root(posixpath.dirname(folder), folders) if inside else None
        return self._root_of[folder]


def _check_whole(selection: _Selection, suffixes: tuple[str, ...]) -> None:
    listed = [name for name in selection.entries if name.endswith(suffixes)]
    left = sorted(set(listed) - selection.selected)
    for name in left:
        if _is_matched(name, selection.patterns) and not _is_there(name, selection):
            raise selection.refuse(name, "is gone")
    if left:
        root = selection.folders.show(selection.root)
        warn(
            f"{len(listed) - len(left)} of the {len(listed)} files of {root} are read, as"
            f" {shorten(sorted(selection.patterns), 3)} selects no more: not {shorten(left, 3)}",
        )


def _is_matched(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatch.fnmatchcase(posixpath.basename(name), posixpath.basename(pattern)) for pattern in patterns)


def _is_there(name: str, selection: _Selection) -> bool:
    folder, last = posixpath.split(posixpath.join(selection.root, name))
    return selection.folders.holds(folder, last)
