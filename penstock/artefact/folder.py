"""Reading a model directory that somebody else may have written: every file once, and hashed before it is parsed."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from penstock.artefact.layout import FIXED, JSON, JSON_LIMIT, MANIFEST_LIMIT, check_magic, detect, kind_of
from penstock.core.errors import (
    ArtifactError,
    ArtifactIntegrityError,
    ConfigError,
    InputError,
    MissingInputError,
    UntrustedArtifactError,
)
from penstock.io.sinks import MANIFEST_NAME, MODEL, FileEntry, Manifest

# Without O_NONBLOCK, opening a pipe that was put in the place of a file would wait for a writer.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

_LARGE = 64 * 2**20
_OF_RUN = "files-[A-Za-z0-9_-]{1,64}-[0-9a-f]{8}/"


@dataclass(frozen=True)
class RecordedDigests:
    """Digests of a saved model, as recorded elsewhere: of its manifest, and of all that was learned."""

    manifest: str
    learned: str
    by: str

    def check(self, manifest: str, learned: object, path: str) -> None:
        """Raise ArtifactIntegrityError unless a model has these digests."""
        for name, recorded, found in (("manifest", self.manifest, manifest), ("digest", self.learned, learned)):
            if found != recorded:
                message = f"the {name} of {path} is {found}, and {self.by} records {recorded}: it was changed"
                hint = "Restore the folder from a backup; or remove it, and register the model again."
                raise ArtifactIntegrityError(message, hint=hint, path=path)


@dataclass(frozen=True)
class Located:
    """A saved model by its path or URL, and its digests where somebody recorded them."""

    location: str
    recorded: RecordedDigests | None = None


@dataclass(frozen=True)
class Contents:
    """A model's manifest with its digest, and the verified bytes of every file that it lists."""

    manifest: Manifest
    digest: str
    files: Mapping[str, bytes]
    folder: str = ""

    @property
    def learned(self) -> object:
        """The digest of all that was learned, as the manifest has it."""
        return self.manifest.metadata.get("digest")

    @property
    def hashes(self) -> dict[str, str]:
        """The sha256 of every file that the manifest lists, by its path."""
        return {entry.path.removeprefix(self.folder): entry.sha256 for entry in self.manifest.files}

    def rows(self, path: str) -> int | None:
        """Return how many rows the manifest gives a file."""
        return next(entry.rows for entry in self.manifest.files if entry.path == self.folder + path)


def manifest_digest(data: bytes) -> str:
    """Return the digest that identifies a saved model: that of its manifest, which has those of all other files."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def read_folder(
    path: Path,
    expect: str | None,
    recorded: RecordedDigests | None = None,
    *,
    wanted: Callable[[str], bool] = lambda name: True,
) -> Contents:
    """Return the verified contents of a model directory; nothing but its manifest has been parsed then.

    Parameters
    ----------
    path : Path
        The directory; it may be reached through a symbolic link, but it holds none.
    expect : str, optional
        Digest that the manifest must have.
    recorded : RecordedDigests, optional
        Digests that the model must have besides.
    wanted : callable
        Says of the path of a file whether it is read and hashed; all are, unless given.

    Raises
    ------
    MissingInputError, InputError
        There is no such directory, or it cannot be read.
    UntrustedArtifactError
        Links, devices, names that no model has, or files of another type than their names say.
    ArtifactIntegrityError
        The files are not exactly those that were saved, or not those of `expect` and `recorded`.
    ArtifactVersionError
        It was written by another version of the format.
    """
    if expect is not None and not re.fullmatch("sha256:[0-9a-f]{64}", expect):
        raise ConfigError(f"expect is {expect!r}, expected 'sha256:' and 64 hexadecimal digits, as save returns them")
    with _opened(path) as root:
        found = dict(_walk(root))
        if MANIFEST_NAME not in found:
            raise ArtifactIntegrityError(f"{path} has no {MANIFEST_NAME}: it is no saved model", path=str(path))
        data = _read_manifest(root)
        _check_expected(data, expect, path)
        check_magic(data, MANIFEST_NAME)
        manifest = Manifest.decode(data, path=str(path / MANIFEST_NAME), error=ArtifactIntegrityError)
        if recorded is not None:
            recorded.check(manifest_digest(data), manifest.metadata.get("digest"), str(path))
        _check_listing(manifest, found, path)
        folder = _folder_of(manifest)
        listed = {entry.path.removeprefix(folder): entry for entry in manifest.files}
        files = {name: _verified(root, entry) for name, entry in listed.items() if wanted(name)}
    for name, content in files.items():
        check_magic(content, name)
    return Contents(manifest, manifest_digest(data), files, folder)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open the directory; whatever the operating system refuses inside becomes an error of this library."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise MissingInputError(f"{path} does not exist", path=str(path)) from error
    except NotADirectoryError as error:
        raise _not_a_folder(path) from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", path=str(path)) from error
    try:
        yield descriptor
    except OSError as error:
        if isinstance(error, InputError | ArtifactError):
            raise
        raise InputError(f"cannot read {path}: {error.strerror} ({error.filename})", path=str(path)) from error
    finally:
        os.close(descriptor)


def _not_a_folder(path: Path) -> UntrustedArtifactError:
    with open(path, "rb") as file:
        kind = detect(file.read(300))
    return UntrustedArtifactError(
        f"{path} is a file, {kind}; a saved model is a directory",
        hint="Only models written by this library are loaded; unpack an archive first.",
        path=str(path),
    )


def _walk(root: int, prefix: str = "") -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(root) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            name, status = prefix + entry.name, entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) and (not prefix or re.fullmatch(_OF_RUN, prefix)):
                below = os.open(entry.name, _FLAGS | os.O_DIRECTORY, dir_fd=root)
                try:
                    yield from _walk(below, f"{name}/")
                finally:
                    os.close(below)
                continue
            _check_regular(status, name)
            yield name, status


def _check_regular(status: os.stat_result, name: str) -> None:
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe",
             stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}  # fmt: skip
    found = kinds.get(stat.S_IFMT(status.st_mode)) or ("a hard link to another file" if status.st_nlink > 1 else None)
    if found:
        raise UntrustedArtifactError(
            f"{name} is {found}, expected a plain file", hint="Copy the model with its files, not links.", path=name
        )


def _folder_of(manifest: Manifest) -> str:
    """Return the folder of its run, with a slash, in which a model that was saved in a store has all its files."""
    folders = {entry.path.partition("/")[0] for entry in manifest.files}
    folder = folders.pop() if len(folders) == 1 else ""
    return f"{folder}/" if re.fullmatch(f"files-{re.escape(manifest.run_id)}-[0-9a-f]{{8}}", folder) else ""


def _check_listing(manifest: Manifest, found: Mapping[str, os.stat_result], path: Path) -> None:
    if manifest.format != MODEL:
        raise ArtifactError(f"{path} is a {manifest.format}, expected a {MODEL}", path=str(path))
    listed, folder = {entry.path: entry for entry in manifest.files}, _folder_of(manifest)
    for name, entry in listed.items():
        kind = kind_of(name.removeprefix(folder))
        if kind is None or entry.kind != kind:
            raise UntrustedArtifactError(f"the manifest lists {name!r} as {entry.kind}: no model has that", path=name)
    present = found.keys() - {MANIFEST_NAME}
    differences = {"lacks": listed.keys() - present, "holds files not saved with it:": present - listed.keys()}
    for what, names in differences.items():
        if names:
            raise ArtifactIntegrityError(f"{path} {what} {', '.join(sorted(names))}", path=min(names))
    lost = [name for name in FIXED if folder + name not in listed]
    if lost:
        raise ArtifactError(f"the manifest of {path} does not list {lost[0]}", path=lost[0])


def _check_expected(data: bytes, expect: str | None, path: Path) -> None:
    found = manifest_digest(data)
    if expect is not None and found != expect:
        raise ArtifactIntegrityError(
            f"{path} is {found}, expected {expect}: it is another model, or was changed", path=str(path)
        )


def _verified(root: int, entry: FileEntry) -> bytes:
    with _open(root, entry.path) as file:
        size = os.fstat(file.fileno()).st_size
        if size != entry.bytes or (entry.kind == JSON and size > JSON_LIMIT):
            expected = entry.bytes if size != entry.bytes else f"{JSON_LIMIT} at most"
            raise ArtifactIntegrityError(f"{entry.path} has {size} bytes, expected {expected}", path=entry.path)
        if size > _LARGE:  # of a file of a wrong hash no more than a block is ever in memory
            _check_hash(hashlib.file_digest(file, "sha256").hexdigest(), entry)
            file.seek(0)
        data = file.read(size + 1)
    _check_hash(hashlib.sha256(data).hexdigest(), entry)
    return data


def _check_hash(found: str, entry: FileEntry) -> None:
    if found != entry.sha256:
        raise ArtifactIntegrityError(
            f"{entry.path} has sha256 {found}, expected {entry.sha256}: it is not the file that was saved",
            hint="Restore the file, or save the model again.",
            path=entry.path,
        )


def _read_manifest(root: int) -> bytes:
    with _open(root, MANIFEST_NAME) as file:
        data = file.read(MANIFEST_LIMIT + 1)
    if len(data) > MANIFEST_LIMIT:
        message = f"{MANIFEST_NAME} has more than {MANIFEST_LIMIT} bytes"
        raise ArtifactIntegrityError(message, path=MANIFEST_NAME)
    return data


@contextmanager
def _open(root: int, name: str) -> Iterator[BufferedReader]:
    """Open a file, which is checked through the same descriptor; no symbolic link on the way is followed."""
    *folders, last = name.split("/")
    folder = os.dup(root)
    try:
        for step in folders:
            inner = os.open(step, _FLAGS | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        descriptor = os.open(last, _FLAGS, dir_fd=folder)
    finally:
        os.close(folder)
    with open(descriptor, "rb") as file:
        _check_regular(os.fstat(descriptor), name)
        yield file
