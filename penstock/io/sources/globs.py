"""Patterns of local paths to the paths that match them."""

from __future__ import annotations

import fnmatch
import glob
import os
import posixpath
import re
from collections.abc import Iterable, Iterator


def match_local(pattern: str) -> list[str]:
    """Return the paths that match a pattern, sorted.

    A part of it that is ``**`` stands for any folders, or at the end for all files below; a link is followed but where
    it leads back to a folder on the way. Hidden files and folders match only parts that begin as they do, and
    ``key=value`` folders are not hidden.

    Raises
    ------
    OSError
        A folder on the way cannot be listed: what is in it would be left out in silence.
    """
    *folders, last = pattern.rstrip("/").split("/") if pattern.strip("/") else [pattern]
    places: Iterable[str] = [""]
    for part in folders:
        places = [path for place in places for path in _folders(place, part)]
    matches = {path for place in places for path in _last(place, last)}
    return sorted(path for path in matches if not pattern.endswith("/") or os.path.isdir(path))


def fixed_folder(pattern: str) -> str:
    """Return the folder before the first magic character of a pattern.

    Examples
    --------
    >>> fixed_folder("/data/day=*/part-?.parquet"), fixed_folder("*.parquet")
    ('/data', '')
    """
    return posixpath.dirname(re.split(r"[*?[]", pattern, maxsplit=1)[0])


def visible(paths: Iterable[str], pattern: str) -> list[str]:
    """Return what a store's glob matches, sorted; hidden files only where the pattern asks for them."""
    asked = hidden(posixpath.basename(pattern))
    return sorted(path for path in paths if asked or not hidden(posixpath.basename(path.rstrip("/"))))


def hidden(name: str) -> bool:
    """Return whether a name begins as Hadoop's hidden files do."""
    return name.startswith((".", "_"))


def _folders(place: str, part: str) -> Iterator[str]:
    """Yield the folders in `place` that a part of a pattern stands for."""
    if part == "":
        yield place or "/"
    elif part == "**":
        yield from _walk(place, ())
    else:
        yield from (path for path in _last(place, part) if os.path.isdir(path))


def _last(place: str, part: str) -> Iterator[str]:
    if part == "**":
        for folder in _walk(place, ()):
            yield from (os.path.join(folder, entry.name) for entry in _entries(folder, "*") if not entry.is_dir())
    elif glob.has_magic(part):
        yield from (os.path.join(place, entry.name) for entry in _entries(place, part))
    elif os.path.lexists(os.path.join(place, part)):
        yield os.path.join(place, part)


def _walk(folder: str, way: tuple[tuple[int, int], ...]) -> Iterator[str]:
    """Yield a folder and those below; `way` has the identities of those that it lies in."""
    status = os.stat(folder or ".")
    identity = status.st_dev, status.st_ino
    if identity in way:
        return
    yield folder
    for entry in _entries(folder, "*"):
        if entry.is_dir():
            yield from _walk(os.path.join(folder, entry.name), (*way, identity))


def _entries(folder: str, part: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder or ".") as entries:
        matches = [entry for entry in entries if fnmatch.fnmatchcase(entry.name, part)]
    asked = hidden(part)
    return [entry for entry in matches if asked or not hidden(entry.name) or ("=" in entry.name and entry.is_dir())]
