"""Paths, globs, directories and URLs to the files of a dataset."""

from __future__ import annotations

import difflib
import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.core.errors import ConfigError, InputError, MissingInputError
from penstock.core.locations import read_location, same_scheme
from penstock.io.sources.directories import list_directory
from penstock.io.sources.files import InputFile, Storage
from penstock.io.sources.folders import Folders, StoreFolders
from penstock.io.sources.selections import Selections
from penstock.io.sources.stores import connect, patiently, why
from penstock.io.sources.tables import refuse_tables


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
