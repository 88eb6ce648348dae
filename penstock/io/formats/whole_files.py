"""Whole files as rows: path, size and time from the listing, the content only where it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.core.errors import MissingInputError
from penstock.core.scheduler import Scheduler
from penstock.devices import Device
from penstock.io.formats.base import Format, ReadOptions
from penstock.io.fragments import Fragment, Piece
from penstock.io.sources.binary import BinarySource
from penstock.io.sources.files import InputFile, Storage

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
