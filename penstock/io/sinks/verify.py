"""Check that an output on disk is the one its manifest describes, before any parser sees it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from penstock.core.errors import CorruptFileError, IncompleteInputError, InputError, PenstockError
from penstock.io.sinks.files import FileDifference, FileEntry, compare_files
from penstock.io.sinks.manifest import Manifest
from penstock.io.sinks.os_errors import name_error

_SHOWN = 5


def verify_files(
    directory: str | Path, manifest: Manifest, *, hashes: bool = False, error: type[PenstockError] = CorruptFileError
) -> None:
    """Raise unless the directory holds exactly the files of the manifest.

    Parameters
    ----------
    directory : str or Path
        The output.
    manifest : Manifest
        What it should hold.
    hashes : bool
        Also read every file and compare its SHA-256; without it names and sizes are compared.
    error : type of PenstockError
        What a file with another digest raises; a saved model passes ``ArtifactIntegrityError``.

    Raises
    ------
    IncompleteInputError
        Files are missing (the message gives rows expected and present), were added (names and dates), are of another
        size, or are no regular files.
    CorruptFileError
        Or ``error``: the content is not what was written.
    InputError
        The directory or a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> manifest = Manifest.create("penstock/dataset", run_id="r1", files=())
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     verify_files(directory, manifest, hashes=True)
    """
    directory = Path(directory)
    try:
        difference = compare_files(directory, manifest.files)
        _refuse_missing(directory, manifest, difference)
        _refuse_extra(directory, manifest, difference)
        _refuse_resized(directory, difference)
        if hashes:
            for entry in manifest.files:
                _check_hash(directory / entry.path, entry, error)
    except OSError as fault:
        raise InputError(f"cannot read {directory}: {name_error(fault)}", path=str(directory)) from fault


def _refuse_missing(directory: Path, manifest: Manifest, difference: FileDifference) -> None:
    if not difference.missing:
        return
    lost = sum(entry.rows or 0 for entry in difference.missing)
    raise IncompleteInputError(
        f"{directory} lacks {len(difference.missing)} of the {len(manifest.files)} files that run "
        f"{manifest.run_id!r} wrote: {_names(entry.path for entry in difference.missing)}; "
        f"rows expected {manifest.rows}, present {manifest.rows - lost}",
        hint="Restore the files, or write the output again.",
        path=str(directory),
    )


def _refuse_extra(directory: Path, manifest: Manifest, difference: FileDifference) -> None:
    if not difference.extra:
        return
    dated = (f"{name} (modified {_modified(directory / name)})" for name in difference.extra)
    raise IncompleteInputError(
        f"{directory} holds {len(difference.extra)} files that run {manifest.run_id!r} did not write: {_names(dated)}",
        hint="Move them out of the directory; a part that another job added would be read twice.",
        path=str(directory),
    )


def _refuse_resized(directory: Path, difference: FileDifference) -> None:
    if not difference.resized:
        return
    entry = difference.resized[0]
    path = directory / entry.path
    found = f"{path.lstat().st_size} bytes" if path.is_file() and not path.is_symlink() else "no regular file"
    raise IncompleteInputError(
        f"{path} is {found}, expected {entry.bytes} bytes; {len(difference.resized)} files changed since written",
        hint="Restore the files, or write the output again.",
        path=str(path),
    )


def _check_hash(path: Path, entry: FileEntry, error: type[PenstockError]) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != entry.sha256:
        message = f"{path} has sha256 {found}, expected {entry.sha256}: it is not the file that was written"
        raise error(message, hint="Restore the file, or write the output again.", path=str(path))


def _names(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _modified(path: Path) -> str:
    return f"{datetime.fromtimestamp(path.lstat().st_mtime, UTC):%Y-%m-%dT%H:%M:%SZ}"
