"""Whole files as rows: path, size and time from the listing, the content only where it is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import InputError, MissingInputError, PenstockError
from penstock.core.scheduler import Scheduler
from penstock.devices import Device
from penstock.io.formats.base import Format, ReadOptions
from penstock.io.fragments import Fragment, Piece
from penstock.io.sources.files import InputFile, Storage, check_sha256
from penstock.io.sources.stores import why

FILE_FRAGMENT_BYTES = 32 * 2**20
"""Bytes of files that make one fragment, about: compressed images take ten times as much once they are decoded."""
_PER_FILE = 64 * 2**10


@dataclass(frozen=True, kw_only=True)
class WholeFilesOptions(ReadOptions):
    """What `Engine.read_files` takes."""

    extensions: Sequence[str] | None = None
    fragment_bytes: int = FILE_FRAGMENT_BYTES


class WholeFiles(Format[WholeFilesOptions]):
    """Files of any kind, one a row; see `Engine.read_files`."""

    name = "files"
    suffixes = ("",)
    options = WholeFilesOptions
    whole_files = True

    def fragment_bytes(self, device: Device) -> int:
        """Return `FILE_FRAGMENT_BYTES`, on any device: files are taken apart on the host."""
        return FILE_FRAGMENT_BYTES

    def plan(
        self, files: Sequence[InputFile], scheduler: Scheduler, storage: Storage, options: WholeFilesOptions
    ) -> tuple[BinarySource, tuple[Fragment, ...]]:
        """Put files together, in their order, to fragments of about `fragment_bytes`; nothing is read.

        Raises
        ------
        MissingInputError
            No file has one of the extensions.
        """
        names = options.extensions
        endings = ("",) if names is None else tuple(f".{name.lstrip('.')}".lower() for name in names)
        once = {file.path: file for file in files}.values()  # a glob may match a folder and the files in it
        matches = [file for file in once if file.path.lower().endswith(endings)]
        if not matches:
            shown = f"{files[0].path} and {len(files) - 1} more" if len(files) > 1 else files[0].path
            raise MissingInputError(
                f"none of {len(files)} file(s) ends in {', '.join(endings)}: {shown}",
                hint="Pass other extensions, or none to read every file.",
                path=files[0].path,
            )
        return BinarySource(storage), tuple(_pack(matches, options.fragment_bytes))


def _pack(files: Sequence[InputFile], target: int) -> Iterator[Fragment]:
    """Yield fragments; a file counts more than its content, since a small one may hold a large image."""
    pieces: list[Piece] = []
    index = start = weight = 0
    for file in files:
        if pieces and weight + file.size + _PER_FILE > target:
            yield Fragment(index, start, tuple(pieces))
            index, start, weight, pieces = index + 1, start + len(pieces), 0, []
        pieces.append(Piece(file.path, 0, 1, file.size, file.mtime, sha256=file.sha256))
        weight += file.size + _PER_FILE
    yield Fragment(index, start, tuple(pieces))


SCHEMA = pa.schema({"path": pa.string(), "size": pa.int64(), "modified": pa.timestamp("us"), "content": pa.binary()})
_MOST_BYTES = 2**31 - 1


@dataclass(frozen=True)
class BinarySource:
    """Pieces that are one file each."""

    storage: Storage

    @property
    def schema(self) -> pa.Schema:
        """Path, size, modified and content."""
        return SCHEMA

    def read(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return the row of `piece`; the file is opened only for its content.

        Raises
        ------
        IncompleteInputError
            The file changed since it was planned, or is gone.
        CorruptFileError
            It is not the one that its manifest lists.
        InputError
            It cannot be read, or has more than 2 GiB.
        """
        known = {"path": piece.path, "size": piece.size, "modified": _modified(piece)}
        values = {name: self._content(piece) if name == "content" else known[name] for name in columns}
        wanted = pa.schema([SCHEMA.field(name) for name in columns])
        return frames.from_arrow(pa.Table.from_pydict({name: [value] for name, value in values.items()}, wanted), kind)

    def _content(self, piece: Piece) -> bytes:
        if piece.size > _MOST_BYTES:
            problem = f"{piece.path} has {piece.size} bytes, expected at most 2 GiB in one value"
            raise InputError(
                problem, hint="Leave it out, or read it with map_partitions from its path.", path=piece.path
            )
        try:
            with self.storage.open(piece.path) as stream:
                content = bytes(stream.read())
        except PenstockError:
            raise
        except OSError as error:
            raise InputError(f"cannot read {piece.path}: {why(error)}", path=piece.path) from error
        finally:  # checked after reading: whatever came of it, a file that changed meanwhile is the reason to give
            self.storage.check_unchanged(piece)
        if piece.sha256 is not None:
            check_sha256(piece.path, hashlib.sha256(content).hexdigest(), piece.sha256)
        return content


def _modified(piece: Piece) -> datetime | None:
    """Return when the file was changed, in UTC; some stores do not know."""
    return datetime.fromtimestamp(piece.mtime, UTC).replace(tzinfo=None) if piece.mtime else None
