"""The manifest: the last file written of an output, and the only thing that makes a directory one."""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from penstock.core.errors import (
    ArtifactVersionError,
    ConfigError,
    CorruptFileError,
    IncompleteInputError,
    InputError,
    MissingInputError,
    PenstockError,
    UntrustedArtifactError,
)
from penstock.io.sinks.files import MANIFEST_NAME, FileDifference, FileEntry, compare_files, is_inside
from penstock.io.sinks.os_errors import name_error
from penstock.io.sinks.strict_json import Json, encode_json, read_json

DATASET = "penstock/dataset"
MODEL = "penstock/model"
FORMAT_VERSION = 1

#: A manifest takes about 150 bytes a file.
MANIFEST_LIMIT = 64 * 2**20

_RESERVED = ("format", "format_version", "run_id", "created_utc", "library", "files")
_Value = TypeVar("_Value")


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Which files an output is made of, who wrote it, and what its writer wants to remember.

    Parameters
    ----------
    format : str
        ``"penstock/dataset"`` or ``"penstock/model"``.
    run_id : str
        The run that wrote it.
    created_utc : str
        ISO 8601, in UTC, to the second.
    library : str
        Version of the library that wrote it.
    files : tuple of FileEntry
        Every file but the manifest itself.
    metadata : mapping of str to JSON values
        Stored at the top level of the document beside the fields above.

    Examples
    --------
    >>> files = (FileEntry(path="part-0.parquet", bytes=912, sha256="0" * 64, kind="parquet", rows=41),)
    >>> manifest = Manifest.create(DATASET, run_id="r1", files=files, metadata={"sorted": True})
    >>> Manifest.decode(manifest.encode(), path="_manifest.json") == manifest
    True
    """

    format: str
    run_id: str
    created_utc: str
    library: str
    files: tuple[FileEntry, ...]
    metadata: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def create(
        cls, format: str, *, run_id: str, files: Iterable[FileEntry], metadata: Mapping[str, Json] | None = None
    ) -> Manifest:
        """Return a manifest dated now; ConfigError for a file listed twice or metadata under a reserved name."""
        files, metadata = tuple(files), dict(metadata or {})
        clashes = sorted(metadata.keys() & set(_RESERVED))
        if clashes:
            raise ConfigError(f"metadata names {clashes} belong to the manifest itself", hint="Rename them.")
        if format not in (DATASET, MODEL):
            raise ConfigError(f"format is {format!r}, expected {DATASET!r} or {MODEL!r}")
        repeated = _repeated(entry.path for entry in files)
        if repeated:
            raise ConfigError(f"file {repeated!r} is listed twice", path=repeated)
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        return cls(format=format, run_id=run_id, created_utc=now, library=_version(), files=files, metadata=metadata)

    @property
    def rows(self) -> int:
        """Rows in all files that count any."""
        return sum(entry.rows or 0 for entry in self.files)

    def encode(self) -> bytes:
        """Return the document's bytes; ConfigError when the metadata is not strict JSON."""
        document = {
            "format": self.format,
            "format_version": FORMAT_VERSION,
            "run_id": self.run_id,
            "created_utc": self.created_utc,
            "library": self.library,
            "files": [_without_none(asdict(entry)) for entry in self.files],
            **self.metadata,
        }
        return encode_json(document, MANIFEST_LIMIT, path=MANIFEST_NAME)

    @classmethod
    def decode(cls, data: bytes, *, path: str, error: type[PenstockError] = CorruptFileError) -> Manifest:
        """Return the manifest in these bytes; the errors are those of ``read_manifest``."""
        document = read_json(data, MANIFEST_LIMIT, path=path, error=error)
        return _Reader(path, error).manifest(document)


def read_manifest(directory: str | Path, *, error: type[PenstockError] = CorruptFileError) -> Manifest | None:
    """Return the manifest of an output, or None where there is none (or no such directory).

    Parameters
    ----------
    directory : str or Path
        The output.
    error : type of PenstockError
        What to raise for a manifest that is damaged; a saved model passes ``ArtifactIntegrityError``.

    Raises
    ------
    CorruptFileError
        Or ``error``: not strict JSON, a field missing or of the wrong type, a file listed twice.
    ArtifactVersionError, UntrustedArtifactError
        For a model in place of ``error``: a format version that this library does not read, a path that leaves the
        directory.
    InputError
        The manifest cannot be read.

    Examples
    --------
    >>> read_manifest("no/such/output") is None
    True
    """
    path = str(Path(directory) / MANIFEST_NAME)
    try:
        document = read_json(path, MANIFEST_LIMIT, error=error)
    except MissingInputError:
        return None
    return _Reader(path, error).manifest(document)


@dataclass(frozen=True)
class _Reader:
    """Builds a manifest from a parsed document; holds what every complaint needs."""

    path: str
    error: type[PenstockError]

    def manifest(self, document: Json) -> Manifest:
        fields = self._object(document)
        kind = self._field(fields, "format", str)
        if kind not in (DATASET, MODEL):
            raise self.error(f"{self.path} has format {kind!r}, expected {DATASET!r} or {MODEL!r}", path=self.path)
        self._check_version(fields, ArtifactVersionError if kind == MODEL else self.error)
        unsafe = UntrustedArtifactError if kind == MODEL else self.error
        files = tuple(self._entry(entry, unsafe) for entry in self._field(fields, "files", list))
        repeated = _repeated(entry.path for entry in files)
        if repeated:
            raise self.error(f"{self.path} lists {repeated!r} twice", path=self.path)
        texts = {name: self._field(fields, name, str) for name in ("run_id", "created_utc", "library")}
        metadata = {name: value for name, value in fields.items() if name not in _RESERVED}
        return Manifest(format=kind, files=files, metadata=metadata, **texts)

    def _check_version(self, fields: dict[str, Any], error: type[PenstockError]) -> None:
        version = self._field(fields, "format_version", int)
        if version != FORMAT_VERSION:
            message = f"{self.path} has format version {version}, this library ({_version()}) reads {FORMAT_VERSION}"
            raise error(message, hint="Read it with the version of the library that wrote it.", path=self.path)

    def _entry(self, document: Json, unsafe: type[PenstockError]) -> FileEntry:
        fields = self._object(document)
        path = self._field(fields, "path", str)
        if not is_inside(path) or path == MANIFEST_NAME:
            raise unsafe(f"{self.path} lists {path!r}, which is no path inside the directory", path=self.path)
        rows = self._field(fields, "rows", int) if "rows" in fields else None
        run = self._field(fields, "run", str) if "run" in fields else None
        texts = {name: self._field(fields, name, str) for name in ("sha256", "kind")}
        return FileEntry(path=path, bytes=self._field(fields, "bytes", int), rows=rows, run=run, **texts)

    def _object(self, document: Json) -> dict[str, Any]:
        if not isinstance(document, dict):
            raise self.error(f"{self.path} holds {type(document).__name__}, expected an object", path=self.path)
        return document

    def _field(self, fields: dict[str, Any], name: str, kind: type[_Value]) -> _Value:
        value = fields.get(name)
        if type(value) is not kind:
            actual = type(value).__name__ if name in fields else "missing"
            raise self.error(f"{self.path}: {name!r} is {actual}, expected {kind.__name__}", path=self.path)
        return value


def _repeated(paths: Iterable[str]) -> str | None:
    return next((path for path, count in Counter(paths).items() if count > 1), None)


def _without_none(document: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in document.items() if value is not None}


def _version() -> str:
    try:
        return importlib.metadata.version("penstock")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


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
