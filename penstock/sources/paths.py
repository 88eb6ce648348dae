"""Paths, globs, directories and URLs to the files of a dataset."""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fsspec

from penstock.errors import ConfigError, InputError, MissingExtraError, MissingInputError
from penstock.locations import read_location
from penstock.sources.directories import hidden, local_directory, remote_directory
from penstock.sources.files import InputFile, Storage, modified
from penstock.sources.folders import LocalFolders, StoreFolders, exists
from penstock.sources.stores import patiently, why
from penstock.sources.tables import refuse_tables


def expand(
    paths: str | Path | Sequence[str | Path],
    suffixes: tuple[str, ...],
    storage: Storage,
    *,
    allow_unmanifested: bool = False,
) -> list[InputFile]:
    """Return the files that `paths` (each a file, a glob, a directory or an fsspec URL) stand for.

    Paths keep their order, and local ones are made absolute, for workers elsewhere; the files of a glob or a directory
    are sorted by name. A directory is read only when it says that it is whole: a Penstock manifest, which is checked
    against what is there, or the ``_SUCCESS`` file of Spark. `allow_unmanifested` reads a directory without either.

    Raises
    ------
    ConfigError
        No path is given, or a URL of a kind that fsspec does not know.
    MissingInputError
        Nothing matches; near names are shown.
    IncompleteInputError
        A directory without a marker, or whose files are not those of its manifest.
    InputError
        The file system refuses; or a directory or a glob of a table of Delta, Iceberg or Hudi.
    """
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not listed:
        raise ConfigError("no path is given", hint="Name at least one file, glob, directory or URL.")
    return [file for path in listed for file in _files(read_location(path), suffixes, storage, allow_unmanifested)]


def _files(text: str, suffixes: tuple[str, ...], storage: Storage, allow_unmanifested: bool) -> list[InputFile]:
    try:
        if storage.is_local(text):
            return _local(text, suffixes, allow_unmanifested)
        return patiently(lambda: _remote(text, suffixes, storage, allow_unmanifested), text, storage.secrets)
    except OSError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot read {text}: {why(error)}", path=text) from error


def _local(text: str, suffixes: tuple[str, ...], allow_unmanifested: bool) -> list[InputFile]:
    named = os.path.exists(text)
    matches = [_absolute(path) for path in ([text] if named else _visible(glob.glob(text, recursive=True), text))]
    found: list[InputFile] = []
    for path in matches:
        if os.path.isdir(path):
            found += local_directory(path, suffixes, allow_unmanifested=allow_unmanifested)
        else:
            found.append(InputFile.of(path))
    if not named:
        refuse_tables(dict.fromkeys(map(os.path.dirname, matches)), LocalFolders())
    if not found:
        raise _missing(text, f"working directory {os.getcwd()}", *_neighbours(text))
    return found


def _absolute(path: str) -> str:
    """Return a path from the root: workers may have been started in another directory."""
    return str(Path(path).absolute())


def _remote(text: str, suffixes: tuple[str, ...], storage: Storage, allow_unmanifested: bool) -> list[InputFile]:
    filesystem, inner = _filesystem(text, storage)
    named = exists(filesystem, inner)
    matches = [inner] if named else _visible(filesystem.glob(inner), inner)
    found: list[InputFile] = []
    for path in matches:
        info = filesystem.info(path)
        if info["type"] == "directory":
            found += remote_directory(filesystem, path, suffixes, allow_unmanifested=allow_unmanifested)
        else:
            found.append(InputFile(filesystem.unstrip_protocol(path), int(info["size"] or 0), modified(info)))
    folder = os.path.dirname(re.split(r"[*?[]", inner, maxsplit=1)[0])
    if not named:
        refuse_tables(dict.fromkeys(map(os.path.dirname, matches)), StoreFolders(filesystem, folder))
    if not found:
        paths = filesystem.ls(folder, detail=False) if filesystem.isdir(folder) else []
        names = [os.path.basename(path) for path in paths]
        raise _missing(text, f"in {filesystem.unstrip_protocol(folder)}", folder, names)
    return found


def _filesystem(text: str, storage: Storage) -> tuple[Any, str]:
    try:
        filesystem, inner = fsspec.core.url_to_fs(text, **storage.options)
    except ImportError as error:
        hint = "Install the package it names."
        raise MissingExtraError(f"{text} cannot be read: {error}", hint=hint, path=text) from error
    except ValueError as error:
        raise ConfigError(f"{text} cannot be read: {error}", hint="Pass a URL that fsspec knows.", path=text) from error
    return filesystem, inner


def _visible(paths: list[str], pattern: str) -> list[str]:
    """Return what a glob matches, sorted; hidden files only where the pattern asks for them."""
    asked = hidden(os.path.basename(pattern))
    return sorted(path for path in paths if asked or not hidden(os.path.basename(path.rstrip("/"))))


def _neighbours(text: str) -> tuple[str, list[str]]:
    """Return the nearest folder of a path or glob that exists, and what is in it."""
    folder = os.path.dirname(text.split("*", 1)[0]) or "."
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder) or "."
    return folder, sorted(os.listdir(folder))


def _missing(text: str, where: str, folder: str, names: list[str]) -> MissingInputError:
    near = difflib.get_close_matches(os.path.basename(text), names, n=3, cutoff=0.4) or names[:3]
    shown = ", ".join(os.path.join(folder, name) for name in near) or "nothing"
    return MissingInputError(f"{text!r} matches no file ({where})", hint=f"Near it: {shown}.", path=text)
