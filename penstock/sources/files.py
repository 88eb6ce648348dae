"""Paths, globs, directories and URLs to the files of a dataset, checked for being whole."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import fsspec

from penstock.errors import CorruptFileError, IncompleteInputError, InputError, MissingInputError
from penstock.outputs import read_manifest, verify_files


@dataclass(frozen=True)
class InputFile:
    """One file as it was when the dataset was planned."""

    path: str
    size: int
    mtime: float
    sha256: str | None = None
    keys: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True)
class Storage:
    """Opens files; local ones by path, all others through fsspec. Credentials stay out of every message."""

    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def is_local(self, path: str) -> bool:
        """Return whether `path` names a file of this machine's file system."""
        return "://" not in path

    def open(self, path: str) -> Any:
        """Return the open binary file.

        Raises
        ------
        InputError
            Permission denied or a failing store, with its own message.
        """
        try:
            return open(path, "rb") if self.is_local(path) else fsspec.open(path, "rb", **self.options).open()
        except FileNotFoundError as error:
            raise IncompleteInputError(f"{path} was there when the dataset was planned and is gone", path=path) from error
        except OSError as error:
            raise InputError(f"cannot open {path}: {error.strerror or type(error).__name__}", path=path) from error


def expand(
    paths: str | Path | list[str] | list[Path],
    suffixes: tuple[str, ...],
    storage: Storage,
    *,
    allow_unmanifested: bool = False,
) -> list[InputFile]:
    """Return the files that `paths` (each a file, a glob, a directory or an fsspec URL) stand for, sorted by path.

    A directory is read only when it says that it is whole: a Penstock manifest, which is checked against what is
    there, or the ``_SUCCESS`` file of Spark. `allow_unmanifested` reads a directory without either.

    Raises
    ------
    MissingInputError
        Nothing matches; near names are shown.
    IncompleteInputError
        A directory without a marker, or whose files are not those of its manifest.
    """
    found: list[InputFile] = []
    for path in paths if isinstance(paths, list) else [paths]:
        text = os.fspath(path)
        text = unquote(text.removeprefix("file://")) if text.startswith("file://") else text
        some = _local(text, suffixes, allow_unmanifested) if storage.is_local(text) else _remote(text, suffixes, storage)
        if not some:
            raise _missing(text)
        found += some
    return found


def _local(text: str, suffixes: tuple[str, ...], allow_unmanifested: bool) -> list[InputFile]:
    if os.path.isdir(text):
        return _directory(text, suffixes, allow_unmanifested)
    matches = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))
    if len(matches) > 1:
        matches = [path for path in matches if not _hidden(os.path.basename(path))]
    return [file for path in matches for file in _match(path, suffixes, allow_unmanifested)]


def _match(path: str, suffixes: tuple[str, ...], allow_unmanifested: bool) -> list[InputFile]:
    return _directory(path, suffixes, allow_unmanifested) if os.path.isdir(path) else [_stat(path)]


def _stat(path: str, sha256: str | None = None, root: str | None = None) -> InputFile:
    try:
        found = os.stat(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", path=path) from error
    return InputFile(path, found.st_size, found.st_mtime, sha256, _hive_keys(path, root))


def _hive_keys(path: str, root: str | None) -> tuple[tuple[str, str | None], ...]:
    if root is None:
        return ()
    parts = Path(os.path.relpath(path, root)).parts[:-1]
    pairs = [part.split("=", 1) for part in parts if "=" in part]
    return tuple((key, None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value)) for key, value in pairs)


def _hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _directory(root: str, suffixes: tuple[str, ...], allow_unmanifested: bool) -> list[InputFile]:
    manifest = read_manifest(Path(root))
    if manifest is not None:
        verify_files(Path(root), manifest)
        listed = [entry for entry in manifest.files if entry.path.endswith(suffixes)]
        return [_stat(os.path.join(root, entry.path), entry.sha256, root) for entry in listed]
    files = sorted(
        os.path.join(folder, name)
        for folder, folders, names in os.walk(root)
        if not folders.sort()  # type: ignore[func-returns-value]
        and not any(_hidden(part) and "=" not in part for part in Path(os.path.relpath(folder, root)).parts if part != ".")
        for name in names
        if name.endswith(suffixes) and not _hidden(name)
    )
    _check_whole(root, files, allow_unmanifested)
    return [_stat(path, root=root) for path in files]


def _check_whole(root: str, files: list[str], allow_unmanifested: bool) -> None:
    debris = [name for name in os.listdir(root) if name in ("_temporary", "_metadata.tmp")]
    if debris:
        raise IncompleteInputError(
            f"{root} holds {debris[0]!r}: a job is still writing it, or died while writing; {len(files)} file(s) found",
            hint="Run that job again, or name the files with a glob.",
            path=root,
        )
    if not files and not allow_unmanifested and not os.path.exists(os.path.join(root, "_SUCCESS")):
        return
    if not allow_unmanifested and not os.path.exists(os.path.join(root, "_SUCCESS")):
        raise IncompleteInputError(
            f"{root} has neither a Penstock manifest nor a _SUCCESS file, so nothing says that its {len(files)} file(s)"
            " are all there",
            hint="Pass allow_unmanifested=True to read it as it is, or name the files with a glob.",
            path=root,
        )


def _remote(text: str, suffixes: tuple[str, ...], storage: Storage) -> list[InputFile]:
    filesystem, inner = fsspec.core.url_to_fs(text, **storage.options)
    if filesystem.isdir(inner):
        names = sorted(name for name in filesystem.find(inner) if name.endswith(suffixes))
    else:
        names = sorted(filesystem.glob(inner)) if glob.has_magic(inner) else [inner] * filesystem.exists(inner)
    files = []
    for name in names:
        info = filesystem.info(name)
        files.append(InputFile(filesystem.unstrip_protocol(name), int(info["size"] or 0), _modified(info)))
    return files


def _modified(info: Mapping[str, Any]) -> float:
    stamp = info.get("mtime") or info.get("LastModified") or info.get("created") or 0.0
    return float(stamp.timestamp() if hasattr(stamp, "timestamp") else stamp) if not isinstance(stamp, str) else 0.0


def _missing(text: str) -> MissingInputError:
    folder = os.path.dirname(text.split("*", 1)[0]) or "."
    while folder not in (".", "/") and not os.path.isdir(folder):
        folder = os.path.dirname(folder) or "."
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    near = difflib.get_close_matches(os.path.basename(text), names, n=3, cutoff=0.4) or names[:3]
    shown = ", ".join(os.path.join(folder, name) for name in near) or "nothing"
    return MissingInputError(
        f"{text!r} matches no file (working directory {os.getcwd()})", hint=f"Near it: {shown}.", path=text
    )


def check_unchanged(path: str, size: int, mtime: float) -> None:
    """Raise IncompleteInputError when a local file is not the one that was planned."""
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        raise IncompleteInputError(f"{path} was there when the dataset was planned and is gone", path=path) from error
    if (found.st_size, found.st_mtime) != (size, mtime):
        raise IncompleteInputError(
            f"{path} changed while it was being read: {size} bytes when planned, {found.st_size} bytes now",
            hint="Read it again once nothing writes to it.",
            path=path,
        )


_MAGIC = {b"PAR1": "Parquet", b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"ARROW1": "Arrow"}


def detect(head: bytes) -> str:
    """Return what a file's first bytes look like.

    Examples
    --------
    >>> detect(b"PAR1...."), detect(b"a,b\\n1,2\\n")
    ('Parquet', 'text')
    """
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return name
    return "binary data" if b"\0" in head else "text"


def corrupt(path: str, problem: str, head: bytes = b"") -> CorruptFileError:
    """Return the error for a file that cannot be read as its format."""
    looks = f"; it starts with {head[:8]!r}, which looks like {detect(head)}" if head else ""
    return CorruptFileError(f"{path}: {problem}{looks}", hint="Restore the file or leave it out; nothing was written.", path=path)
