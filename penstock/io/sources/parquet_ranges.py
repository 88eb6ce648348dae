"""The part of a Parquet file in a store that a read takes, as a file of this machine. No byte of it is fetched twice.

What is fetched lies in memory at the places that it has in the file, and nothing at all others; so the same reader
reads files of disks and of stores.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.utils import merge_offset_ranges

from penstock.io.fragments import Piece
from penstock.io.sources.files import InputFile, Storage

FOOTER_BYTES = 2**16
"""What is fetched of the end of a file at first: footers are seldom longer."""
_GAP = 2**19
"""To fetch a gap between two ranges takes no longer than another request, about."""
_MAGIC = b"PAR1"
_TAIL = 8
_KNOWN_FOOTERS = 64

_known: OrderedDict[object, bytes] = OrderedDict()
_lock = threading.Lock()


def read_metadata(storage: Storage, file: InputFile | Piece) -> pq.FileMetaData:
    """Return the footer of a file.

    Raises
    ------
    pyarrow.ArrowInvalid
        It is not that of a Parquet file.
    """
    if storage.is_local(file.path):
        with storage.open(file.path) as stream:
            return pq.read_metadata(stream)
    return pq.read_metadata(pa.BufferReader(_footer(storage, file)))


def _footer(storage: Storage, file: InputFile | Piece) -> bytes:
    """Return the last bytes of a file, its footer among them; planning and each fragment ask for it."""
    version = storage.version(file)
    with _lock:
        if version in _known:
            _known.move_to_end(version)
            return _known[version]
    (end,) = storage.fetch(file.path, [(max(0, file.size - FOOTER_BYTES), file.size)])
    length = int.from_bytes(end[-_TAIL:-4], "little") + _TAIL
    if len(end) < length <= file.size:
        (end,) = storage.fetch(file.path, [(file.size - length, file.size)])
    with _lock:
        _known[version] = end
        while len(_known) > _KNOWN_FOOTERS:
            _known.popitem(last=False)
    return end


@contextmanager
def local_path(
    storage: Storage, piece: Piece, metadata: pq.FileMetaData, groups: Iterable[int], columns: Sequence[str]
) -> Iterator[str]:
    """Give a path of this machine that columns of some row groups can be read from."""
    if storage.is_local(piece.path):
        yield piece.path
        return
    end = _footer(storage, piece)
    ranges = _merged(sorted(_chunks(metadata, groups, frozenset(columns))))
    blocks = storage.fetch(piece.path, ranges) if ranges else []
    parts = [(0, _MAGIC), (piece.size - len(end), end), *zip([begin for begin, _ in ranges], blocks, strict=True)]
    with _in_memory() as file:
        os.ftruncate(file, piece.size)
        for place, block in parts:
            _write(file, block, place)
        yield f"/dev/fd/{file}"


def _chunks(metadata: pq.FileMetaData, groups: Iterable[int], columns: frozenset[str]) -> Iterator[tuple[int, int]]:
    for group in map(metadata.row_group, groups):
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.path_in_schema in columns or chunk.path_in_schema.partition(".")[0] in columns:
                begin = min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)))
                yield begin, begin + chunk.total_compressed_size


def _merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    starts, ends = [begin for begin, _ in ranges], [end for _, end in ranges]
    _, starts, ends = merge_offset_ranges([""] * len(ranges), starts, ends, max_gap=_GAP)
    return list(zip(starts, ends, strict=True))


@contextmanager
def _in_memory() -> Iterator[int]:
    """Give a new file that no folder has, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("penstock")
        try:
            yield file
        finally:
            os.close(file)
    else:
        with tempfile.TemporaryFile() as stream:
            yield stream.fileno()


def _write(file: int, data: bytes, place: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(file, rest, place)
        rest, place = rest[written:], place + written
