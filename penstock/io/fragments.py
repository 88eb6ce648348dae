"""What a dataset is made of: pieces of files, put together to fragments of about one size in memory.

A fragment is the unit of work of every engine. It is a description, not data: small, picklable, and the same for the
same files whatever the engine, so that partial results are merged in the same order everywhere. GPUs have larger ones.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.devices import Device
from penstock.frames import Kind, matrices
from penstock.io.row_hashes import hash_rows

FRAGMENT_BYTES = 128 * 2**20
"""Memory that the rows of one fragment take when read, about; see :func:`row_bytes`."""
_OF_GPU = 32


class BadRecord(NamedTuple):
    """A record of a text file that cannot be parsed, and is set aside.

    ``begin`` and ``end`` are bytes of the text of the file, ``line`` is where it begins, from 1. ``row`` is how many
    rows of its piece stand before it, ``reason`` one of few, and ``text`` may be shortened.
    """

    begin: int
    end: int
    line: int
    row: int
    reason: str
    text: str


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of one file, or of a table in memory.

    ``first`` is the row of the file at which the piece starts and ``rows`` how many it has. ``size`` and ``mtime`` are
    the file's when the dataset was planned. ``begin`` and ``end`` are bytes, for text. ``keys`` are the values of
    partition columns. ``sha256`` is known for files that a Penstock manifest lists. ``bad`` are the records between
    ``begin`` and ``end`` that are no rows. ``left_out`` tells the rows of the file that are none of the dataset's,
    where a log says which: their numbers as int64.
    """

    path: str
    first: int
    rows: int
    size: int = 0
    mtime: float = 0.0
    begin: int = 0
    end: int = 0
    names: tuple[str, ...] = ()
    keys: tuple[tuple[str, Any], ...] = ()
    sha256: str | None = None
    table: pa.Table | None = None
    bad: tuple[BadRecord, ...] = ()
    left_out: bytes = b""

    @property
    def divisible(self) -> bool:
        """Whether a part of its rows can be read; bytes of text can only be parsed as a whole."""
        return not self.end

    def cut(self, start: int, stop: int) -> Piece:
        """Return rows `start` to `stop` of the piece."""
        table = None if self.table is None else self.table.slice(start, stop - start)
        return replace(self, first=self.first + start, rows=stop - start, table=table)


@dataclass(frozen=True)
class Fragment:
    """Pieces that are read and processed as one; ``start`` is the number of its first row in the dataset.

    ``persisted`` says that a process that reads it may hold what it reads, so that it is best read there again.
    """

    index: int
    start: int
    pieces: tuple[Piece, ...]
    persisted: bool = False

    @property
    def rows(self) -> int:
        """Rows as they are stored, before any split or filter."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def paths(self) -> list[str]:
        """The files it reads from, each once."""
        return list(dict.fromkeys(piece.path for piece in self.pieces))

    def locate(self, row: int) -> tuple[str, int]:
        """Return the file, and the row in that file (from 0), of the dataset's row number `row`."""
        start = self.start
        for piece in self.pieces:
            if row < start + piece.rows:
                return piece.path, piece.first + row - start
            start += piece.rows
        raise IndexError(row)


def fragment_bytes_on(device: Device) -> int:
    """Return the memory that the rows of one fragment take when read, about: `FRAGMENT_BYTES`, or more on a GPU.

    There it is a 32nd of its memory: a GPU waits for the calls that work on a fragment takes longer than it computes,
    unless each is for millions of rows; and that work takes some times the memory of the fragment.

    Examples
    --------
    >>> fragment_bytes_on(Device("cpu")), fragment_bytes_on(Device("gpu", 0, memory=80 * 2**30)) // 2**20
    (134217728, 2560)
    """
    return max(FRAGMENT_BYTES, (device.memory or 0) // _OF_GPU)


def row_bytes(schema: pa.Schema, lengths: Mapping[str, float] | None = None) -> int:
    """Return how many bytes of memory a row takes when read, about.

    Parameters
    ----------
    schema : pyarrow.Schema
    lengths : mapping of str to float, optional
        The mean bytes of a string or a list by column; where it is not known, the value is taken for 28 bytes.

    Examples
    --------
    >>> schema = pa.schema([("n", pa.int32()), ("short", pa.string()), ("long", pa.string())])
    >>> row_bytes(schema), row_bytes(schema, {"short": 8.0, "long": 1000.0})
    (60, 1060)
    """
    return sum(_width(field.type, (lengths or {}).get(field.name)) for field in schema) or 1


def _width(kind: pa.DataType, length: float | None) -> int:
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:
        if length is None:
            return 28
        # Polars has 12 bytes in the view of a string, of 16. Other lengths count as the next power of two, so that
        # fragments stay as they are when files of a slightly other length are read instead.
        return 16 + (2 ** math.ceil(math.log2(length)) if length > 12 else 0)


def pack(pieces: Iterable[Piece], bytes_per_row: int, target: int = FRAGMENT_BYTES) -> tuple[Fragment, ...]:
    """Put consecutive pieces together to fragments of at most `target` bytes, about, as even as can be.

    A piece that is larger by itself is a fragment. A file of half a fragment or more is cut by itself, and smaller ones
    are put together in order until they are as much, so that files have the same fragments whatever is read after them.

    Examples
    --------
    >>> pieces = [Piece("a", 10 * place, 10) for place in range(4)]
    >>> [fragment.rows for fragment in pack(pieces, bytes_per_row=8, target=240)]
    [20, 20]
    >>> [fragment.rows for fragment in pack([*pieces, Piece("b", 0, 10)], bytes_per_row=8, target=240)]
    [20, 20, 10]
    """
    most = max(1, target // bytes_per_row)
    runs = [run for group in _groups(pieces, most) for run in _cut_evenly(group, most)]
    starts = itertools.accumulate((sum(piece.rows for piece in run) for run in runs), initial=0)
    return tuple(
        Fragment(index, start, _joined(run)) for index, (start, run) in enumerate(zip(starts, runs, strict=False))
    )


def _groups(pieces: Iterable[Piece], most: int) -> Iterator[list[Piece]]:
    """Yield the pieces that are cut by themselves: of a file of half of `most` rows, or of smaller ones of so many."""
    group: list[Piece] = []
    rows = 0
    for _, file in itertools.groupby(pieces, key=attrgetter("path")):
        of_file = list(file)
        size = sum(piece.rows for piece in of_file)
        if group and 2 * size >= most:
            yield group
            group, rows = [], 0
        group.extend(of_file)
        rows += size
        if 2 * rows >= most:
            yield group
            group, rows = [], 0
    if group:
        yield group


def _cut_evenly(pieces: list[Piece], most: int) -> list[list[Piece]]:
    """Return runs of pieces, as few as fit `most` rows each, and the largest as small as it can be."""
    cuts = _even(list(itertools.accumulate(piece.rows for piece in pieces)), most)
    return [pieces[low:high] for low, high in itertools.pairwise(cuts)]


def _even(ends: Sequence[int], most: int) -> list[int]:
    """Return where to cut pieces that end at `ends`, so that the largest of as few runs as possible is smallest.

    Were the last run what the others leave, a machine would wait for the full ones while it does little.
    """
    cuts = _cuts(ends, most)
    low, high = 0, most
    while high - low > 1:
        tried = (low + high) // 2
        fewer = _cuts(ends, tried)
        if len(fewer) == len(cuts):
            cuts, high = fewer, tried
        else:
            low = tried
    return cuts


def _cuts(ends: Sequence[int], most: int) -> list[int]:
    """Return where to cut into runs that are filled up to `most`, each of one piece at least."""
    cuts = [0]
    while cuts[-1] < len(ends):
        last = cuts[-1]
        begun = ends[last - 1] if last else 0
        cuts.append(max(bisect_right(ends, begun + most, last), last + 1))
    return cuts


def _joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Join pieces that lie next to each other in one Parquet file, so that it is opened once."""
    joined = pieces[:1]
    for piece in pieces[1:]:
        last = joined[-1]
        adjacent = piece.path == last.path and piece.first == last.first + last.rows
        if adjacent and piece.table is None and not piece.end:
            joined[-1] = replace(last, rows=last.rows + piece.rows)
        else:
            joined.append(piece)
    return tuple(joined)


@dataclass(frozen=True)
class Sample:
    """Rows whose hashed number falls between two fractions: the same rows on every engine, device and partitioning.

    ``first`` is added to the numbers: of rows that are part of a larger dataset, that of the first one there.
    """

    seed: int
    low: float
    high: float
    first: int = field(default=0, repr=False)

    def mask(self, rows: Any) -> Any:
        """Return which of the row numbers `rows` (uint64) are in the sample, where they are."""
        unit = hash_rows(rows + np.uint64(self.first), self.seed)
        return (unit >= self.low) & (unit < self.high)


def kept_rows(fragment: Fragment, samples: tuple[Sample, ...], kind: Kind = "cpu") -> Any | None:
    """Return which rows of `fragment` the samples keep, as a mask on a device, or None for all."""
    if not samples:
        return None
    rows = matrices.arange(fragment.start, fragment.start + fragment.rows, kind)
    return _in_all(samples, rows.astype(np.uint64))


def bad_records(fragment: Fragment, samples: tuple[Sample, ...]) -> list[tuple[str, BadRecord]]:
    """Return the bad records of `fragment`, each with its file; a sample has those before the rows that it keeps.

    So each is in one part of a split, and in the same one wherever the files are cut.
    """
    records, rows, start = [], [], fragment.start
    for piece in fragment.pieces:
        records += [(piece.path, record) for record in piece.bad]
        rows += [start + record.row for record in piece.bad]
        start += piece.rows
    if not samples or not records:
        return records
    return list(itertools.compress(records, _in_all(samples, np.array(rows, dtype=np.uint64)).tolist()))


def _in_all(samples: tuple[Sample, ...], rows: Any) -> Any:
    return reduce(np.logical_and, [sample.mask(rows) for sample in samples])


def deal(fragments: Sequence[Fragment], size: int) -> list[tuple[Fragment, ...]]:
    """Cut a dataset into `size` runs of rows of the same length, as nearly as text allows; some may be empty.

    Examples
    --------
    >>> whole = Fragment(0, 0, (Piece("a", 0, 6), Piece("b", 0, 4)))
    >>> [[(f.start, f.rows) for f in run] for run in deal([whole], 2)]
    [[(0, 5)], [(5, 5)]]
    """
    total = sum(fragment.rows for fragment in fragments)
    bounds = [total * rank // size for rank in range(size + 1)]
    return [tuple(_between(fragments, low, high)) for low, high in itertools.pairwise(bounds)]


SLICE_ROWS = 2**14
"""Fragments are cut at multiples of so many rows."""


def halves(fragment: Fragment) -> list[Fragment]:
    """Cut a fragment in two at a multiple of `SLICE_ROWS`, or return it alone where that cannot be.

    Examples
    --------
    >>> [(half.start, half.rows) for half in halves(Fragment(0, 5, (Piece("a", 0, 50_000),)))]
    [(5, 16384), (16389, 33616)]
    """
    if not all(piece.divisible for piece in fragment.pieces):
        return [fragment]
    middle = fragment.start + fragment.rows // (2 * SLICE_ROWS) * SLICE_ROWS
    return [*_between([fragment], 0, middle), *_between([fragment], middle, fragment.start + fragment.rows)]


def runs(fragments: Sequence[Fragment], count: int, rows: int) -> list[tuple[Fragment, ...]]:
    """Return `count` runs of about so many rows each, or of all there are, that begin evenly spread over a dataset.

    Of text, which has to be read piece by piece, there are two runs, of a piece each.

    Examples
    --------
    >>> whole = Fragment(0, 0, (Piece("a", 0, 60), Piece("b", 0, 40)))
    >>> [[(f.start, f.rows) for f in run] for run in runs([whole], 4, 12)]
    [[(0, 12)], [(25, 12)], [(50, 12)], [(75, 12)]]
    """
    total = sum(fragment.rows for fragment in fragments)
    if all(piece.divisible for fragment in fragments for piece in fragment.pieces):
        starts = [total * run // count for run in range(count)]
        return [tuple(_between(fragments, start, start + min(rows, total // count))) for start in starts]
    first_and_middle = dict.fromkeys((fragments[0], fragments[len(fragments) // 2]))
    return [(replace(fragment, pieces=fragment.pieces[:1]),) for fragment in first_and_middle]


def _between(fragments: Sequence[Fragment], low: int, high: int) -> Iterator[Fragment]:
    for fragment in fragments:
        start, pieces, first = fragment.start, [], None
        for piece in fragment.pieces:
            begin, end = _overlap(piece, start, low, high)
            if begin < end:
                first = start + begin if first is None else first
                pieces.append(piece if end - begin == piece.rows else piece.cut(begin, end))
            start += piece.rows
        if first is not None:
            yield replace(fragment, start=first, pieces=tuple(pieces))


def _overlap(piece: Piece, start: int, low: int, high: int) -> tuple[int, int]:
    """Return which rows of `piece`, which starts at row `start` of the dataset, lie between `low` and `high`."""
    if piece.divisible:
        return max(0, low - start), min(piece.rows, high - start)
    middle = start + piece.rows / 2
    return (0, piece.rows) if low <= middle < high else (0, 0)
