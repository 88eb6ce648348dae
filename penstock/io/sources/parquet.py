"""Parquet: planned from all footers, read by row groups, in the columns needed.

What is fetched lies in memory at the places that it has in the file, and nothing at all others; so the same reader
reads files of disks and of stores.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.utils import merge_offset_ranges

from penstock import frames
from penstock.io.fragments import Piece
from penstock.io.memory_errors import is_out_of_memory
from penstock.io.sources.columnar import ColumnarSource, Footer, check_hash, check_head, overlapping, refuse_file
from penstock.io.sources.files import InputFile, Storage


def read_footer(storage: Storage, file: InputFile) -> Footer:
    """Return the footer of a file.

    Raises
    ------
    CorruptFileError
        The file is empty, cut off, or not Parquet.
    """
    try:
        metadata = read_metadata(storage, file)
        schema = _open(pa.BufferReader(b""), metadata).schema_arrow
        uncoerced = metadata.schema.to_arrow_schema()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        why = "footer magic missing or footer unreadable"
        with storage.open(file.path) as stream:
            head = check_head(file, stream, "a Parquet file")
        raise refuse_file(file, head, "a Parquet file", ("Parquet",), error, why) from error
    groups = tuple(metadata.row_group(index).num_rows for index in range(metadata.num_row_groups))
    int96 = tuple(field.name for field, plain in zip(schema, uncoerced, strict=True) if field.type != plain.type)
    return Footer(file, schema, groups, int96)


_WIDTHS: Mapping[str, float] = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}


def mean_lengths(storage: Storage, file: InputFile) -> dict[str, float]:
    """Return the mean bytes of a value by column, in the first group of rows of a file that can be read.

    A dictionary hides how long its values are; the least and the greatest of them stand for all.
    """
    metadata, lengths = read_metadata(storage, file), dict[str, float]()
    if not metadata.num_rows:
        return lengths
    group = metadata.row_group(0)
    for chunk in map(group.column, range(group.num_columns)):
        name = chunk.path_in_schema.partition(".")[0]
        width = _WIDTHS.get(chunk.physical_type, 0)
        if not width and chunk.is_stats_set and (ends := chunk.statistics).has_min_max:
            width = (len(ends.min_raw) + len(ends.max_raw)) / 2  # as bytes: what is cut may be no text
        size = max(chunk.total_uncompressed_size, chunk.num_values * width)
        lengths[name] = lengths.get(name, 0.0) + size / max(1, group.num_rows)
    return lengths


def _open(source: Any, metadata: pq.FileMetaData, *, page_checksum_verification: bool = False) -> pq.ParquetFile:
    """Open a file so that INT96 times are microseconds: in nanoseconds, a year such as 9999 wraps around."""
    return pq.ParquetFile(
        source,
        metadata=metadata,
        coerce_int96_timestamp_unit="us",
        page_checksum_verification=page_checksum_verification,
    )


@dataclass(frozen=True)
class ParquetSource(ColumnarSource):
    """Pieces of Parquet files. Columns that a piece's file lacks are null; Hive keys are columns.

    A key that a file stores too, and the schema does not leave out, is read from it, and must be what its folder says.

    Times stored as INT96, which Hive, Impala and early Spark write, are ``timestamp[us]``, as Spark reads them: years 1
    to 9999, and what is below a microsecond is cut off.

    Parameters
    ----------
    schema : pyarrow.Schema
    storage : Storage
    page_checksum_verification : bool
    int96 : tuple of str
        Columns that some file stores as INT96; only pyarrow reads them in microseconds.
    """

    page_checksum_verification: bool = False
    int96: tuple[str, ...] = ()

    def read_together(self, pieces: Sequence[Piece], columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame | None:
        """Return the rows of pieces of files that are alike and lie on this machine, read by one call.

        Pages of many files are decompressed together, which a GPU is made for.
        """
        try:
            return self._rows_of_run(pieces, columns, kind)
        except frames.ERRORS as error:
            if is_out_of_memory(error):
                raise
            return None  # one by one they tell which of them is damaged

    def _rows_of_run(self, pieces: Sequence[Piece], columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame | None:
        first = pieces[0]
        names = [name for name in columns if name in first.names] or list(first.names[:1])
        if self._by_pyarrow(names) or not self._is_run(pieces):
            return None
        for piece in pieces:
            check_hash(self.storage, piece)
        rows = sum(piece.rows for piece in pieces)
        frame = frames.read_parquet([piece.path for piece in pieces], first.first, rows, names, kind)
        for piece in pieces:
            self.storage.check_unchanged(piece)
        return self._with_keys(frame, first, columns)

    def _is_run(self, pieces: Sequence[Piece]) -> bool:
        """Return whether all rows between the first and the last of these are theirs, and stored in the same types."""
        first, *others = pieces
        if any(piece.keys or piece.names != first.names for piece in pieces) or any(piece.first for piece in others):
            return False
        if not all(self.storage.is_local(piece.path) for piece in pieces):
            return False
        footers = [read_metadata(self.storage, piece) for piece in pieces]
        ends = [piece.first + piece.rows == footer.num_rows for piece, footer in zip(pieces, footers, strict=True)]
        return all(ends[:-1]) and all(footer.schema.equals(footers[0].schema) for footer in footers)

    def _by_pyarrow(self, columns: Sequence[str]) -> bool:
        return self.page_checksum_verification or not set(columns).isdisjoint(self.int96)

    def rows(self, piece: Piece, columns: Sequence[str], kind: frames.Kind) -> nw.DataFrame:
        """Return columns of `piece`, each of which its file has."""
        by_pyarrow = self._by_pyarrow(columns)
        if self.storage.is_local(piece.path) and not by_pyarrow:
            return frames.read_parquet([piece.path], piece.first, piece.rows, columns, kind)
        metadata = read_metadata(self.storage, piece)
        groups = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
        wanted, skip = overlapping(groups, piece)
        with local_path(self.storage, piece, metadata, wanted, columns) as path:
            if not by_pyarrow:
                return frames.read_parquet([path], piece.first, piece.rows, columns, kind)
            file = _open(path, metadata, page_checksum_verification=self.page_checksum_verification)
            # one by one: pyarrow cannot join the dictionaries of nested columns, which each row group has of its own
            runs = [[index] for index in wanted] or [[]]
            tables = [file.read_row_groups(run, columns=list(columns)) for run in runs]
            return frames.from_arrow(pa.concat_tables(tables).slice(skip, piece.rows), kind)


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
