"""The files of an output as its manifest lists them, and how they differ from what lies on disk."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock.core.errors import ConfigError
from penstock.io.sinks.os_errors import translating

MANIFEST_NAME = "_manifest.json"


@dataclass(frozen=True, kw_only=True)
class FileEntry:
    """One file of an output.

    Parameters
    ----------
    path : str
        Relative to the output's directory, with forward slashes, without ``..``.
    bytes : int
        Size.
    sha256 : str
        Digest of the content, 64 hexadecimal digits.
    kind : str
        What the file is read as, such as ``"parquet"``.
    rows : int, optional
        Rows in it, where rows mean something.
    run : str, optional
        The run that its rows are of, as the user names it: rows of a run that is done again take their place.

    Raises
    ------
    ConfigError
        The path leaves the directory, or is that of the manifest.

    Examples
    --------
    >>> FileEntry(path="part-00000.parquet", bytes=912, sha256="0" * 64, kind="parquet", rows=41).rows
    41
    """

    path: str
    bytes: int
    sha256: str
    kind: str
    rows: int | None = None
    run: str | None = None

    def __post_init__(self) -> None:
        """Refuse a path that no output may hold."""
        if not is_inside(self.path) or self.path == MANIFEST_NAME:
            raise ConfigError(f"file {self.path!r} cannot be part of an output", path=self.path)


@dataclass(frozen=True)
class FileDifference:
    """What separates a list of files from a directory: names missing, names not listed, and other sizes."""

    missing: tuple[FileEntry, ...]
    extra: tuple[str, ...]
    resized: tuple[FileEntry, ...]


def file_entry(
    path: str | os.PathLike[str], root: str | os.PathLike[str], rows: int | None = None, *, kind: str = "parquet"
) -> FileEntry:
    r"""Flush a written file to the device, hash it and describe it.

    Parameters
    ----------
    path : str or PathLike
        The file, already closed by its writer.
    root : str or PathLike
        The directory that the entry's path is relative to.
    rows : int, optional
        Rows in the file.
    kind : str
        What the file is read as.

    Raises
    ------
    ConfigError
        The file is not below ``root``.
    OutputError, DiskFullError
        The file cannot be read back or flushed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     path = Path(root) / "scores.csv"
    ...     _ = path.write_text("a,b\n")
    ...     file_entry(path, root, rows=0, kind="csv").bytes
    4
    """
    relative = Path(os.path.relpath(path, root)).as_posix()
    with translating(path), open(path, "rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.tell()
    return FileEntry(path=relative, bytes=size, sha256=digest, kind=kind, rows=rows)


def compare_files(directory: Path, files: Iterable[FileEntry]) -> FileDifference:
    """Return how a directory differs from the list: names and sizes, no content.

    A listed name that is not a regular file (a symbolic link, say) counts as resized. The manifest is never extra.
    """
    present = dict(_walk(directory))
    listed = {entry.path: entry for entry in files}
    extra = present.keys() - listed.keys() - {MANIFEST_NAME}
    return FileDifference(
        missing=tuple(entry for name, entry in listed.items() if name not in present),
        extra=tuple(sorted(extra)),
        resized=tuple(e for name, e in listed.items() if name in present and not _fits(present[name], e)),
    )


def is_inside(path: str) -> bool:
    """Return whether a relative path with forward slashes stays inside its directory and is spelled one way only.

    Examples
    --------
    >>> [is_inside(path) for path in ("day=1/part-0.parquet", "../x", "/etc/passwd", "a//b", "")]
    [True, False, False, False, False]
    """
    parts = PurePosixPath(path).parts
    plain = "/".join(parts) == path and not any(character in path for character in "\\\0")
    return bool(parts) and plain and ".." not in parts and not path.startswith("/")


def _walk(directory: Path, prefix: str = "") -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), f"{prefix}{entry.name}/")
            else:
                yield prefix + entry.name, entry.stat(follow_symlinks=False)


def _fits(status: os.stat_result, entry: FileEntry) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_size == entry.bytes
