"""Directories as datasets: read only when they say that they are whole, hidden files left out."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from penstock.core.errors import IncompleteInputError
from penstock.core.notices import warn
from penstock.core.schemas import shorten
from penstock.io.sinks.partitions import listed_columns, partitioning_of
from penstock.io.sources.files import InputFile
from penstock.io.sources.folders import Folders
from penstock.io.sources.globs import hidden
from penstock.io.sources.hive import hive_keys
from penstock.io.sources.tables import refuse_tables

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
            + (f" Read are files that end in {endings}" if endings else ""),
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
