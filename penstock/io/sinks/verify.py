"""Check that an output on disk is the one its manifest describes, before any parser sees it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from penstock.core.errors import IncompleteInputError, InputError
from penstock.io.sinks.files import FileDifference, compare_files
from penstock.io.sinks.manifest import Manifest
from penstock.io.sinks.os_errors import name_error

_SHOWN = 5


def verify_files(directory: str | Path, manifest: Manifest) -> None:
    """Raise unless the directory holds exactly the files of the manifest; who reads a file compares its content.

    Parameters
    ----------
    directory : str or Path
        The output.
    manifest : Manifest
        What it should hold.

    Raises
    ------
    IncompleteInputError
        Files are missing (the message gives rows expected and present), were added (names and dates), are of another
        size, or are no regular files.
    InputError
        The directory or a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> manifest = Manifest.create("penstock/dataset", run_id="r1", files=())
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     verify_files(directory, manifest)
    """
    directory = Path(directory)
    try:
        difference = compare_files(directory, manifest.files)
        if difference.missing:
            raise _missing(directory, manifest, difference)
        if difference.extra:
            raise _extra(directory, manifest, difference)
        if difference.resized:
            raise _resized(directory, difference)
    except OSError as error:
        raise InputError(f"cannot read {directory}: {name_error(error)}", path=str(directory)) from error


def _missing(directory: Path, manifest: Manifest, difference: FileDifference) -> IncompleteInputError:
    lost = sum(entry.rows or 0 for entry in difference.missing)
    return IncompleteInputError(
        f"{directory} lacks {len(difference.missing)} of the {len(manifest.files)} files that run "
        f"{manifest.run_id!r} wrote: {_names(entry.path for entry in difference.missing)}; "
        f"rows expected {manifest.rows}, present {manifest.rows - lost}",
        hint="Restore the files, or write the output again.",
        path=str(directory),
    )


def _extra(directory: Path, manifest: Manifest, difference: FileDifference) -> IncompleteInputError:
    dated = (f"{name} (modified {_modified(directory / name)})" for name in difference.extra)
    return IncompleteInputError(
        f"{directory} holds {len(difference.extra)} files that run {manifest.run_id!r} did not write: {_names(dated)}",
        hint="Move them out of the directory; a part that another job added would be read twice.",
        path=str(directory),
    )


def _resized(directory: Path, difference: FileDifference) -> IncompleteInputError:
    entry = difference.resized[0]
    path = directory / entry.path
    actual = f"{path.lstat().st_size} bytes" if path.is_file() and not path.is_symlink() else "no regular file"
    return IncompleteInputError(
        f"{path} is {actual}, expected {entry.bytes} bytes; {len(difference.resized)} files changed since written",
        hint="Restore the files, or write the output again.",
        path=str(path),
    )


def _names(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _modified(path: Path) -> str:
    return f"{datetime.fromtimestamp(path.lstat().st_mtime, UTC):%Y-%m-%dT%H:%M:%SZ}"
