"""One file of a dataset: as it was planned, how it is opened, and what is said when it is not what it should be."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import fsspec

from penstock.config.secrets import secret_values
from penstock.core.errors import CorruptFileError, IncompleteInputError, InputError
from penstock.core.locations import check_name, is_url
from penstock.core.recording import measure
from penstock.io.fragments import Piece
from penstock.io.sinks.partitions import PartitionColumn
from penstock.io.sources.stores import modified, open_patiently, patiently, why

_OF_A_PROCESS = re.compile("/(dev/(std(in|out|err)$|fd/)|proc/)")
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


@dataclass(frozen=True)
class InputFile:
    """One file as it was when the dataset was planned."""

    path: str
    size: int
    mtime: float
    sha256: str | None = None
    keys: tuple[tuple[str, str | None], ...] = ()
    key_columns: tuple[PartitionColumn, ...] = ()
    """What the manifest says of the columns that `keys` are values of."""
    columns: tuple[tuple[str, str], ...] = ()
    """All columns of the output, each with the name of its type, as the manifest lists them."""
    inode: tuple[int, int] | None = None
    """Device and number of a local file, the same under all of its names."""

    @classmethod
    def of(cls, path: str) -> InputFile:
        """Return a local file as it is now.

        Raises
        ------
        ConfigError
            Its name is not UTF-8.
        InputError
            It cannot be looked at, or is a pipe, a socket or a device: data is read more than once, by any process.
        """
        try:
            status = os.stat(check_name(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {why(error)}", path=path) from error
        if not stat.S_ISREG(status.st_mode) or _OF_A_PROCESS.match(path):
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), f"what one process has open as {os.path.basename(path)}")
            raise InputError(
                f"{path} is {kind}, expected a file on disk",
                hint="Write it to a file first: data is read more than once, and by other processes than this one.",
                path=path,
            )
        return cls(path, status.st_size, status.st_mtime, inode=(status.st_dev, status.st_ino))


@dataclass(frozen=True)
class Storage:
    """Opens files; local ones by path, all others through fsspec. Credentials stay out of every message."""

    options: Mapping[str, Any] = field(default_factory=dict, repr=False, metadata={"fingerprint": False})

    @property
    def secrets(self) -> list[str]:
        """The options whose names say that they are secret, which no error may show."""
        return secret_values(self.options)

    def is_local(self, path: str) -> bool:
        """Return whether `path` names a file of this machine's file system."""
        return not is_url(path)

    def open(self, path: str) -> Any:
        """Return the open binary file; one of a store asks again when opening or a read fails.

        Raises
        ------
        InputError
            Permission denied, or a store that fails three times, with its own message; also by a read.
        """
        try:
            if self.is_local(path):
                return open(path, "rb")
            return open_patiently(lambda: fsspec.open(path, "rb", **self.options).open(), path, self.secrets)
        except FileNotFoundError as error:
            raise _gone(path) from error
        except OSError as error:
            raise InputError(f"cannot open {path}: {why(error)}", path=path) from error

    def fetch(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return ranges of bytes of a store's file, asked for side by side where the store's client can.

        Raises
        ------
        IncompleteInputError, InputError
            The file is gone, or shorter; or the store fails three times.
        """

        def ask() -> list[bytes]:
            filesystem, inner = fsspec.core.url_to_fs(path, **self.options)
            starts, ends = [begin for begin, _ in ranges], [end for _, end in ranges]
            blocks: list[Any] = filesystem.cat_ranges([inner] * len(ranges), starts, ends, on_error="raise")
            for block in blocks:
                if isinstance(block, Exception):  # clients that ask side by side return them
                    raise block
            return blocks

        try:
            with measure("read"):
                blocks = patiently(ask, path, self.secrets)
        except FileNotFoundError as error:
            raise _gone(path) from error
        except OSError as error:
            raise InputError(f"cannot read {path}: {why(error)}", path=path) from error
        for (begin, end), block in zip(ranges, blocks, strict=True):
            if len(block) != end - begin:
                problem = f"{path} has {len(block)} bytes from byte {begin} on, where {end - begin} were planned"
                raise IncompleteInputError(problem, hint="Plan the dataset again.", path=path)
        return blocks

    def sha256(self, path: str) -> str:
        """Return the digest of the content of a file."""
        with self.open(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    def version(self, file: InputFile | Piece) -> tuple[object, ...]:
        """Return what changes with the content of a file; of a local one also where size and mtime were put back."""
        if not self.is_local(file.path):
            return file.path, file.size, file.mtime
        status = _status(file.path)
        return file.path, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def check_unchanged(self, file: InputFile | Piece) -> None:
        """Raise IncompleteInputError when a file, local or not, is not the one that was planned."""
        path = file.path
        size, mtime = self.measure(path)
        if (size, mtime) != (file.size, file.mtime):
            times = f"; modified {_show_time(file.mtime)} and {_show_time(mtime)}" if mtime != file.mtime else ""
            raise IncompleteInputError(
                f"{path} changed while it was being read: {file.size} bytes when planned, {size} bytes now{times}",
                hint="Read it again once nothing writes to it.",
                path=path,
            )

    def measure(self, path: str) -> tuple[int, float]:
        """Return the size of a file in bytes, and when it was changed, as it is now; IncompleteInputError if gone."""
        if self.is_local(path):
            status = _status(path)
            return status.st_size, status.st_mtime
        try:
            info = patiently(lambda: self._info(path), path, self.secrets)
        except FileNotFoundError as error:
            raise _gone(path) from error
        return int(info["size"] or 0), modified(info)

    def _info(self, path: str) -> Mapping[str, Any]:
        filesystem, inner = fsspec.core.url_to_fs(path, **self.options)
        return filesystem.info(inner)


def _status(path: str) -> os.stat_result:
    try:
        return os.stat(path)
    except FileNotFoundError as error:
        raise _gone(path) from error


def _gone(path: str) -> IncompleteInputError:
    message = f"{path} was there when the dataset was planned and is gone"
    if is_url(path):
        return IncompleteInputError(message, hint="Plan the dataset again.", path=path)
    return IncompleteInputError(
        f"{message}, looked for on host {socket.gethostname()} from {os.getcwd()}",
        hint="Plan the dataset again; or does this worker not mount the driver's file system?",
        path=path,
    )


def _show_time(stamp: float) -> str:
    return f"{datetime.fromtimestamp(stamp, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


_MAGIC = {
    b"PAR1": "Parquet", b"PARE": "encrypted Parquet", b"ORC": "ORC", b"Obj\x01": "Avro", b"ARROW1\0\0": "Arrow",
    b"FEA1": "Feather, version 1",
    b"\xff\xff\xff\xff": "an Arrow stream", b"SQLite format 3\0": "SQLite", b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh91AY&SY": "bzip2", b"\xfd7zXZ\0": "xz",
}  # fmt: skip
_READERS = {
    "ORC": "engine.read_orc",
    "Avro": "engine.read_avro",
    "Arrow": "engine.read_arrow",
    "an Arrow stream": "engine.read_arrow",
    "Feather, version 1": "pyarrow.feather.read_table(path), and pass the table to engine.from_arrow",
    "SQLite": "engine.read_sql(table, 'sqlite:///path')",
    "Parquet": "engine.read_parquet",
}


def detect(head: bytes) -> str:
    r"""Return what a file's first bytes look like.

    Examples
    --------
    >>> detect(b"PAR1\x15\x04"), detect(b"ORC\x11\0"), detect(b"ORC,b,c")
    ('Parquet', 'ORC', 'text')
    """
    for magic, name in _MAGIC.items():
        after = head[len(magic) : len(magic) + 8]
        is_header = magic.isalnum() and after and not any(byte < 32 and byte not in b"\t\r\n" for byte in after)
        if head.startswith(magic) and not is_header:
            return name
    return "binary data" if b"\0" in head else "text"


def corrupt(path: str, problem: str, head: bytes = b"", expected: str | None = None) -> CorruptFileError:
    """Return the error for a file that cannot be read as its format, `expected`."""
    kind = detect(head) if head else None
    looks = f"; it starts with {head[:8]!r}, which looks like {kind}" if kind else ""
    hint = "Restore the file or leave it out; nothing was written."
    if kind in _READERS and kind != expected:
        hint = f"Read it with {_READERS[kind]}."
    return CorruptFileError(f"{path}: {problem}{looks}", hint=hint, path=path)


def check_rows(path: str, rows: int, planned: int) -> None:
    """Raise IncompleteInputError for a part of an input that has not as many rows as when it was planned."""
    if rows != planned:
        raise IncompleteInputError(
            f"{path} has {rows} rows where {planned} were when planned",
            hint="Read it again once nothing writes to it.",
            path=path,
        )


def check_sha256(path: str, digest: str, expected: str) -> None:
    """Raise CorruptFileError for a file whose content is not the one that its manifest lists."""
    if digest != expected:
        raise corrupt(path, f"sha256 is {digest[:16]}..., its manifest lists {expected[:16]}...")
