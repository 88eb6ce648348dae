"""Paths, globs, directories and URLs to the files of a dataset."""

from __future__ import annotations

import difflib
import fnmatch
import os
import posixpath
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from penstock.core.errors import ConfigError, IncompleteInputError, InputError, MissingInputError
from penstock.core.locations import read_location, same_scheme
from penstock.core.notices import warn
from penstock.core.schemas import shorten
from penstock.io.sinks import FileEntry, Manifest
from penstock.io.sinks.partitions import listed_columns, partitioning_of
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.folders import Folders, StoreFolders, refuse_tables
from penstock.io.sources.globs import hidden
from penstock.io.sources.hive import hive_keys
from penstock.io.sources.stores import connect, patiently, why


def expand(
    paths: str | Path | Sequence[str | Path],
    suffixes: tuple[str, ...],
    storage: Storage,
    *,
    allow_unmanifested: bool = False,
    whole_files: bool = False,
) -> list[InputFile]:
    """Return the files that `paths` (each a file, a glob, a directory or an fsspec URL) stand for.

    Paths keep their order, and local ones are made absolute, for workers elsewhere; the files of a glob or a directory
    are sorted by name. A directory is read only when it says that it is whole: a Penstock manifest, which is checked
    against what is there, or the ``_SUCCESS`` file of Spark. `allow_unmanifested` reads a directory without either.
    What a glob selects is compared with a manifest beside it too; a warning says where that is not the whole output.

    Parameters
    ----------
    paths : path or sequence of paths
    suffixes : tuple of str
        How the files of a directory end that are read.
    storage : Storage
    allow_unmanifested : bool
    whole_files : bool
        Files are rows themselves, so that one may be named twice.

    Raises
    ------
    ConfigError
        No path is given, a URL of a kind that fsspec does not know, or one file twice.
    MissingInputError
        Nothing matches; near names are shown.
    IncompleteInputError
        A directory without a marker, or files that are not those of a manifest beside them.
    InputError
        The file system refuses; what is no regular file; or a directory or a glob of a table of Delta, Iceberg or Hudi.
    """
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not listed:
        raise ConfigError("no path is given", hint="Name at least one file, glob, directory or URL.")
    expansion = _Expansion(suffixes, storage, allow_unmanifested)
    files = [file for path in listed for file in expansion.files(read_location(path))]
    if not whole_files:
        _refuse_repeated(files)
        expansion.selections.check_whole(suffixes)
    return files


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
                _check_selection(selection, suffixes)

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


def _check_selection(selection: _Selection, suffixes: tuple[str, ...]) -> None:
    listed = [name for name in selection.entries if name.endswith(suffixes)]
    left = sorted(set(listed) - selection.selected)
    for name in left:
        if _is_matched(name, selection.patterns) and not _is_there(name, selection):
            raise selection.refuse(name, "is gone")
    if left:
        root = selection.folders.show(selection.root)
        warn(
            f"{len(listed) - len(left)} of the {len(listed)} files of {root} are read, as"
            f" {shorten(sorted(selection.patterns), 3)} selects no more: not {shorten(left, 3)}"
        )


def _is_matched(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatch.fnmatchcase(posixpath.basename(name), posixpath.basename(pattern)) for pattern in patterns)


def _is_there(name: str, selection: _Selection) -> bool:
    folder, last = posixpath.split(posixpath.join(selection.root, name))
    return selection.folders.holds(folder, last)


@dataclass(frozen=True)
class _Expansion:
    """The paths of one dataset, one after another."""

    suffixes: tuple[str, ...]
    storage: Storage
    allow_unmanifested: bool
    selections: Selections = field(default_factory=Selections)

    def files(self, text: str) -> list[InputFile]:
        """Return the files that a path stands for."""
        try:
            if self.storage.is_local(text):
                return self._files(text, Folders(text))
            return patiently(lambda: self._files(text, self._store(text)), text, self.storage.secrets)
        except OSError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"cannot read {text}: {why(error)}", path=text) from error

    def _files(self, text: str, folders: Folders) -> list[InputFile]:
        paths = folders.matches()
        if not folders.named:
            refuse_tables(dict.fromkeys(map(posixpath.dirname, paths)), folders)
        files: list[InputFile] = []
        for path in paths:
            if folders.is_folder(path):
                below = list_directory(path, self.suffixes, folders, allow_unmanifested=self.allow_unmanifested)
                files += [self._compare(file, folders, f"{path}/*") for file in below]
            elif folders.named or not self.selections.leaves_out(path, folders):
                files.append(self._compare(folders.file(path), folders, None if folders.named else text))
        if not files:
            raise _missing(text, *folders.near())
        return files

    def _compare(self, file: InputFile, folders: Folders, pattern: str | None) -> InputFile:
        """Return a file with its hash where it lies beside a manifest; those of a directory with one have theirs.

        Beside a file of a store that is named itself nothing is asked for, which the store may not allow.
        """
        if file.sha256 is not None or (pattern is None and not self.storage.is_local(file.path)):
            return file
        return self.selections.add(file, folders, pattern)

    def _store(self, text: str) -> StoreFolders:
        filesystem, path = connect(text, self.storage.options)
        return StoreFolders(filesystem, path)


def _refuse_repeated(files: Sequence[InputFile]) -> None:
    """Raise ConfigError for a file that is named twice, whatever its names: its rows would count twice."""
    first: dict[object, str] = {}
    for file in files:
        identity = file.inode or same_scheme(file.path)
        if identity in first:
            before = first[identity]
            problem = f"{before} is named twice" if before == file.path else f"{before} and {file.path} are one file"
            raise ConfigError(
                f"{problem}, so that its rows would count twice",
                hint="Name each file once: globs may overlap, and links lead to files that are named already.",
                path=file.path,
            )
        first[identity] = file.path


def _missing(text: str, where: str, folder: str, absent: str, names: list[str]) -> MissingInputError:
    if not absent.startswith("."):
        names = [name for name in names if not name.startswith(".")]
    near = difflib.get_close_matches(absent, names, n=3, cutoff=0.4) or names[:3]
    shown = ", ".join(os.path.join(folder, name) for name in near) or "nothing"
    return MissingInputError(f"{text!r} matches no file ({where})", hint=f"Near it: {shown}.", path=text)


_DEBRIS = ("_temporary", "_metadata.tmp")
_SHOWN = 5


def list_directory(
    root: str, suffixes: tuple[str, ...], folders: Folders, *, allow_unmanifested: bool
) -> list[InputFile]:
    """Return the files of a directory, sorted by path, or those of its manifest in its order.

    Raises
    ------
    InputError
        It is, holds or lies in a table of Delta, Iceberg or Hudi.
    IncompleteInputError
        Neither a manifest nor ``_SUCCESS``, the debris of a job that died, or files that are not those of the manifest.
    """
    root = root.rstrip("/") or root
    manifest = folders.manifest(root)
    if manifest is not None:
        folders.check(root, manifest)
        partitioning = partitioning_of(manifest, folders.show(root))
        keys = () if partitioning is None else partitioning.columns
        listed = [entry for entry in manifest.files if entry.path.endswith(suffixes)]
        files = [_file(root, entry.path, folders, entry.sha256) for entry in listed]
        columns = listed_columns(manifest)
        return [replace(file, key_columns=keys, columns=columns) for file in files]
    names, links = folders.walk(root)
    data = sorted(name for name in names if is_data(name, suffixes))
    refuse_tables([root, *(posixpath.dirname(posixpath.join(root, name)) for name in data)], folders)
    _check_whole(folders.show(root), sorted(folders.names(root)), len(data), allow_unmanifested)
    _report_unread(folders.show(root), suffixes, set(names) - set(data), links)
    return [_file(root, name, folders) for name in data]


def _file(root: str, name: str, folders: Folders, sha256: str | None = None) -> InputFile:
    return replace(folders.file(posixpath.join(root, name)), sha256=sha256, keys=hive_keys(name))


def is_data(name: str, suffixes: tuple[str, ...]) -> bool:
    """Return whether a path inside a directory is read: the right suffix, and nothing hidden on the way.

    Examples
    --------
    >>> [is_data(name, (".pq",)) for name in ("_year=1/a.pq", "_temporary/a.pq", ".a.pq", "a.csv")]
    [True, False, False, False]
    """
    *folders, last = PurePosixPath(name).parts
    seen = not any(hidden(part) and "=" not in part for part in folders)
    return seen and last.endswith(suffixes) and not hidden(last)


def _report_unread(root: str, suffixes: tuple[str, ...], others: Iterable[str], links: Iterable[str]) -> None:
    """Warn once of what a directory holds and is not read, but for what is hidden, and checksums."""
    files = [name for name in others if is_data(name, ("",)) and not name.endswith(".crc")]
    folders = [f"{name} (a link to a folder)" for name in links if is_data(f"{name}/file", ("",))]
    unread = sorted(os.fsencode(name).decode(errors="backslashreplace") for name in files + folders)
    if unread:
        endings = ", ".join(suffixes)
        warn(
            f"{root} holds {len(unread)} file(s) or link(s) that are not read: {shorten(unread, _SHOWN)}."
            + (f" Read are files that end in {endings}" if endings else "")
        )


def _check_whole(root: str, names: Sequence[str], files: int, allow_unmanifested: bool) -> None:
    debris = [name for name in names if name in _DEBRIS]
    if debris:
        raise IncompleteInputError(
            f"{root} holds {debris[0]!r}: a job is still writing it, or died while writing; {files} file(s) found",
            hint="Run that job again, or name the files with a glob.",
            path=root,
        )
    if files and not allow_unmanifested and "_SUCCESS" not in names:
        raise IncompleteInputError(
            f"{root} has neither a Penstock manifest nor a _SUCCESS file, so nothing says that its {files} file(s)"
            " are all there",
            hint="Pass allow_unmanifested=True to read it as it is, or name the files with a glob.",
            path=root,
        )
