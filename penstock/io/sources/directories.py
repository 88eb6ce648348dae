"""Directories as datasets: read only when they say that they are whole, hidden files left out."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from penstock.core.errors import IncompleteInputError
from penstock.core.notices import warn
from penstock.core.schemas import shorten
from penstock.io.sinks import MANIFEST_NAME, FileEntry, Manifest, read_manifest, verify_files
from penstock.io.sources.files import InputFile, modified
from penstock.io.sources.folders import LocalFolders, StoreFolders
from penstock.io.sources.hive import hive_keys
from penstock.io.sources.tables import refuse_tables

_DEBRIS = ("_temporary", "_metadata.tmp")
_SHOWN = 5


def local_directory(root: str, suffixes: tuple[str, ...], *, allow_unmanifested: bool) -> list[InputFile]:
    """Return the files of a local directory, sorted by path, or those of its manifest in its order.

    Raises
    ------
    InputError
        It is, holds or lies in a table of Delta, Iceberg or Hudi.
    IncompleteInputError
        Neither a manifest nor ``_SUCCESS``, the debris of a job that died, or files that are not those of the manifest.
    """
    manifest = read_manifest(Path(root))
    if manifest is not None:
        verify_files(Path(root), manifest)
        listed = [entry for entry in manifest.files if entry.path.endswith(suffixes)]
        return [_local_file(root, entry.path, entry.sha256) for entry in listed]
    names, links = _walk(root)
    found = sorted(name for name in names if is_data(name, suffixes))
    refuse_tables([root, *(os.path.dirname(os.path.join(root, name)) for name in found)], LocalFolders())
    _check_whole(root, os.listdir(root), len(found), allow_unmanifested)
    _report_unread(root, suffixes, set(names) - set(found), links)
    return [_local_file(root, name) for name in found]


def _walk(root: str) -> tuple[list[str], list[str]]:
    """Return all files below a folder, and the links to folders, which are not followed."""
    files, links = [], []
    for folder, folders, names in os.walk(root, onerror=_refuse):
        files += [os.path.join(folder, name) for name in names]
        links += [path for name in folders if os.path.islink(path := os.path.join(folder, name))]
    return [os.path.relpath(path, root) for path in files], [os.path.relpath(path, root) for path in links]


def _refuse(error: OSError) -> None:
    raise error


def _local_file(root: str, name: str, sha256: str | None = None) -> InputFile:
    file = InputFile.of(os.path.join(root, name))
    return replace(file, sha256=sha256, keys=hive_keys(Path(name).as_posix()))


def remote_directory(
    filesystem: Any, root: str, suffixes: tuple[str, ...], folders: StoreFolders, *, allow_unmanifested: bool
) -> list[InputFile]:
    """Return the files of a directory of an fsspec file system; the rules are those of `local_directory`."""
    files = {posixpath.relpath(path, root): info for path, info in filesystem.find(root, detail=True).items()}
    shown = filesystem.unstrip_protocol(root)
    if MANIFEST_NAME in files:
        content = filesystem.cat_file(files[MANIFEST_NAME]["name"])
        manifest = Manifest.decode(content, path=f"{shown}/{MANIFEST_NAME}")
        _compare(shown, manifest, {name: int(info["size"]) for name, info in files.items()})
        listed = [entry for entry in manifest.files if entry.path.endswith(suffixes)]
        return [_remote_file(filesystem, entry.path, files[entry.path], entry.sha256) for entry in listed]
    found = sorted(name for name in files if is_data(name, suffixes))
    folders.remember(root, [info["name"] for info in files.values()])
    refuse_tables([root, *(posixpath.dirname(files[name]["name"]) for name in found)], folders)
    _check_whole(shown, [PurePosixPath(name).parts[0] for name in files], len(found), allow_unmanifested)
    _report_unread(shown, suffixes, files.keys() - set(found))
    return [_remote_file(filesystem, name, files[name]) for name in found]


def _remote_file(filesystem: Any, name: str, info: dict[str, Any], sha256: str | None = None) -> InputFile:
    path = filesystem.unstrip_protocol(info["name"])
    return InputFile(path, int(info["size"] or 0), modified(info), sha256, hive_keys(name))


def _compare(root: str, manifest: Manifest, found: dict[str, int]) -> None:
    """Raise unless a listing holds exactly the files of the manifest, in their sizes."""
    listed: dict[str, FileEntry] = {entry.path: entry for entry in manifest.files}
    differences = {
        "lacks": listed.keys() - found.keys(),
        "holds, beside those of its manifest,": found.keys() - listed.keys() - {MANIFEST_NAME},
        "has other sizes than its manifest for": {
            name for name in listed.keys() & found.keys() if listed[name].bytes != found[name]
        },
    }
    for problem, names in differences.items():
        if names:
            raise IncompleteInputError(
                f"{root} {problem} {len(names)} file(s): {', '.join(sorted(names)[:_SHOWN])} (run {manifest.run_id!r}"
                f" wrote {len(listed)})",
                hint="Restore the files of that run, or write the output again.",
                path=root,
            )


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


def _report_unread(root: str, suffixes: tuple[str, ...], others: Iterable[str], links: Iterable[str] = ()) -> None:
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


def hidden(name: str) -> bool:
    """Return whether a name begins as Hadoop's hidden files do."""
    return name.startswith((".", "_"))


def _check_whole(root: str, names: Iterable[str], found: int, allow_unmanifested: bool) -> None:
    present: Sequence[str] = sorted(set(names))
    debris = [name for name in present if name in _DEBRIS]
    if debris:
        raise IncompleteInputError(
            f"{root} holds {debris[0]!r}: a job is still writing it, or died while writing; {found} file(s) found",
            hint="Run that job again, or name the files with a glob.",
            path=root,
        )
    if found and not allow_unmanifested and "_SUCCESS" not in present:
        raise IncompleteInputError(
            f"{root} has neither a Penstock manifest nor a _SUCCESS file, so nothing says that its {found} file(s)"
            " are all there",
            hint="Pass allow_unmanifested=True to read it as it is, or name the files with a glob.",
            path=root,
        )
