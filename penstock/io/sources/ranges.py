"""Text files as ranges of bytes that start and end at records: opened, cut, read, and searched for what is wrong."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import BadRowsError, CorruptFileError
from penstock.io.fragments import Piece
from penstock.io.sources.files import InputFile, Storage, check_sha256, corrupt, detect
from penstock.io.sources.quotes import RecordEnds

HEAD_BYTES = 2**20
RECORD_BYTES = 64 * 2**20
"""A longer record is taken for a quote that never closes, before it fills the memory."""
BLOCK_BYTES = 2**20
"""Of a text that is parsed in parallel."""
_READ_BYTES = 8 * 2**20
_LARGEST_BLOCK = 2**31 - 1
_CODECS = {".gz": "gzip", ".zst": "zstd"}
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Range:
    """Bytes ``begin`` to ``end`` (None: the end of the file) of the text of a file, whole records.

    ``names`` are those of the file's header.
    """

    file: InputFile
    names: tuple[str, ...]
    begin: int
    end: int | None
    last: bool


def is_compressed(path: str) -> bool:
    """Return whether the name says so: ``.gz`` or ``.zst``."""
    return path.endswith(tuple(_CODECS))


@contextmanager
def open_text(storage: Storage, path: str) -> Iterator[Any]:
    """Open a file for its bytes, decompressed; one that cannot be decompressed raises CorruptFileError."""
    codec = next((name for suffix, name in _CODECS.items() if path.endswith(suffix)), None)
    with storage.open(path) as stream:
        if codec is None:
            yield stream
            return
        try:
            yield pa.CompressedInputStream(stream, codec)
        except OSError as error:
            raise corrupt(path, f"cannot be decompressed ({error}), expected {codec}") from error


def read_bytes(storage: Storage, file: InputFile | Piece, begin: int, end: int | None) -> bytes:
    """Return bytes of the text of a file that is still the one that was planned."""
    try:
        with open_text(storage, file.path) as stream:
            if is_compressed(file.path):
                text: bytes = stream.read()
                return text[begin:end]
            stream.seek(begin)
            return bytes(stream.read(-1 if end is None else end - begin))
    finally:  # checked after reading: whatever came of it, a file that changed meanwhile is the reason to give
        storage.check_unchanged(file)


def line_at(storage: Storage, path: str, position: int) -> int:
    r"""Return the line, from 1, of a byte of the text of a file; a line ends at ``\n``, ``\r\n`` or a ``\r`` alone."""
    line, before = 1, b""
    with open_text(storage, path) as stream:
        while position > 0 and (block := stream.read(min(position, _READ_BYTES))):
            line += count_lines(before + block) - count_lines(before)
            before = block[-1:]
            position -= len(block)
    return line


def count_lines(text: bytes) -> int:
    r"""Return how many lines end in a text: at ``\n``, ``\r\n`` or a ``\r`` alone."""
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def read_head(storage: Storage, file: InputFile, expected: str) -> tuple[bytes, int]:
    """Return the first bytes of the text without a byte order mark, and how long that mark was.

    Raises
    ------
    CorruptFileError
        The file is empty, not text, or not the one its manifest lists.
    """
    if not file.size:
        raise corrupt(file.path, f"0 bytes, expected {expected}")
    if file.sha256 is not None:
        check_sha256(file.path, storage.sha256(file.path), file.sha256)
    with open_text(storage, file.path) as stream:
        head = stream.read(HEAD_BYTES)
    if not head:
        raise corrupt(file.path, f"0 bytes of text, expected {expected}")
    if detect(head[:4096]) != "text":
        raise corrupt(file.path, f"not {expected} ({file.size} bytes)", head[:4096])
    mark = len(BOM) if head.startswith(BOM) else 0
    return head[mark:], mark


def cut(
    storage: Storage, file: InputFile, begin: int, step: int, record_ends: RecordEnds | None
) -> list[tuple[int, int | None]]:
    """Return the bounds of ranges of about `step` bytes, from `begin` to the end of the file; each ends after a record.

    The end of a compressed file is None: it is one range, whose length is known once it is read.

    Parameters
    ----------
    record_ends : RecordEnds or None
        None where every newline ends a record, so that most of the file need not be read.

    Raises
    ------
    CorruptFileError
        A quote is still open after 64 MiB.
    BadRowsError
        A record is longer than 64 MiB.
    """
    if is_compressed(file.path):
        return [(begin, None)]
    if file.size - begin <= step:
        return [(begin, file.size)]
    with open_text(storage, file.path) as stream:
        stream.seek(begin)
        if record_ends is None:
            bounds = _at_lines(storage, file, stream, begin, step)
        else:
            bounds = _at_records(storage, file, stream, begin, step, record_ends)
    return list(pairwise(bounds if bounds[-1] == file.size else [*bounds, file.size]))


def _at_lines(storage: Storage, file: InputFile, stream: Any, begin: int, step: int) -> list[int]:
    bounds = [begin]
    while file.size - bounds[-1] > step:
        stream.seek(bounds[-1] + step - 1)
        line = stream.readline(RECORD_BYTES)
        if len(line) == RECORD_BYTES and not line.endswith(b"\n"):
            raise _too_long(storage, file.path, bounds[-1] + step)
        bounds.append(stream.tell())
    return bounds


def _at_records(
    storage: Storage, file: InputFile, stream: Any, begin: int, step: int, record_ends: RecordEnds
) -> list[int]:
    bounds, seen, last = [begin], begin, begin
    while block := stream.read(min(step, _READ_BYTES)):
        ends = seen + record_ends.feed(block)
        last = int(ends[-1]) if len(ends) else last
        while last - bounds[-1] >= step:
            bounds.append(int(ends[np.searchsorted(ends, bounds[-1] + step)]))
        seen += len(block)
        if seen - last > RECORD_BYTES:
            if record_ends.open:
                within = f"within {RECORD_BYTES} bytes, which a record may have"
                raise unclosed(storage, file.path, begin + record_ends.opened, within)
            raise _too_long(storage, file.path, last)
    return bounds


def _too_long(storage: Storage, path: str, position: int) -> BadRowsError:
    line = line_at(storage, path, position)
    problem = f"{path}, line {line}: a record of more than {RECORD_BYTES} bytes"
    return BadRowsError(problem, hint="Repair or leave out the line.", path=path)


def unclosed(storage: Storage, path: str, position: int, within: str = "") -> CorruptFileError:
    """Return the error for a quote that opens at `position` of the text and never closes, or not `within` so far."""
    closed = f"not closed {within}" if within else "never closed"
    return corrupt(path, f"the quote that opens in line {line_at(storage, path, position)} is {closed}")


def odd_characters(data: bytes) -> str | None:
    """Return why `data` is no text, or None where it is UTF-8 without NUL."""
    if b"\0" in data:
        return "a NUL byte"
    return None if _is_utf8(data) else "not UTF-8"


def check_characters(storage: Storage, item: Range, data: bytes) -> None:
    """Raise CorruptFileError unless `data` is UTF-8 without NUL."""
    nul = data.find(b"\0")
    if nul >= 0:
        raise corrupt(item.file.path, f"line {line_at(storage, item.file.path, item.begin + nul)} holds a NUL byte")
    if _is_utf8(data):
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = line_at(storage, item.file.path, item.begin + error.start)
        odd = data[error.start : error.end].hex(" ")
        problem = f"line {line} is not UTF-8: {odd} at byte {item.begin + error.start} of the text"
        raise corrupt(item.file.path, problem) from None


def _is_utf8(data: bytes) -> bool:
    """Check without a copy; to decode would hold up to five times the memory."""
    offsets = pa.array([0, len(data)], pa.int64()).buffers()[1]
    text = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, pa.py_buffer(data)])
    try:
        text.cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def first_bad(data: bytes, ends: Sequence[int], parse: Callable[[bytes], object]) -> tuple[int, int]:
    """Return the bounds of the first record without which `data` would parse.

    Parsers say what is wrong, but not in a form to rely on where.
    """
    bad = min(first_failure(len(ends), lambda place: parse(data[: ends[place]])), len(ends) - 1)
    return (ends[bad - 1] if bad else 0), ends[bad]


def first_failure(count: int, parse: Callable[[int], object]) -> int:
    """Return the first place for which `parse` raises ArrowInvalid, as it does for all after it; `count` if for none.

    It halves the places again and again.
    """

    def fails(place: int) -> bool:
        try:
            parse(place)
        except pa.ArrowInvalid:
            return True
        return False

    return bisect.bisect_left(range(count), True, key=fails)


def whole_blocks(read: Callable[[pa.BufferReader, int], pa.Table], data: bytes, block: int = BLOCK_BYTES) -> pa.Table:
    """Parse `data` in blocks, in parallel, or as one block when a record is longer than a block."""
    try:
        return read(pa.BufferReader(data), min(block, _LARGEST_BLOCK))
    except pa.ArrowInvalid:
        if len(data) <= block:
            raise
        return read(pa.BufferReader(data), min(len(data), _LARGEST_BLOCK))
