"""Datasets cut as no engine would cut them: uneven, with empty fragments, in any order of rows."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.schemas import canonical
from penstock.dataset.dataset import Dataset
from penstock.engines.base import Engine
from penstock.frames import Kind
from penstock.io.fragments import Fragment, Piece
from penstock.io.sources.base import Reader, Source
from penstock.io.sources.memory import MemorySource


def uneven(rows: int, *, few: bool = False) -> list[int]:
    """Return the sizes of fragments that hold `rows` rows together; the first is empty.

    There are nine, several of them empty: more than are merged at once, so that the tree of merges has two levels.
    With `few` there are four, which a cluster is through with sooner.

    Examples
    --------
    >>> uneven(120), uneven(120, few=True), uneven(1, few=True)
    ([0, 1, 13, 0, 24, 2, 40, 40, 0], [0, 1, 40, 79], [0, 1, 0, 0])
    """
    many = (0, 1, rows // 9, 0, rows // 5, 2, rows // 3)
    sizes: list[int] = []
    for wanted in (0, 1, rows // 3) if few else many:
        sizes.append(min(wanted, rows - sum(sizes)))
    return [*sizes, rows - sum(sizes), *([] if few else [0])]


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    """Return the same rows in another order."""
    return table.take(np.random.default_rng(seed).permutation(table.num_rows))


def cut(engine: Engine, table: pa.Table, sizes: Sequence[int] | None = None) -> Dataset:
    """Return a dataset of `table` in fragments of these sizes; one of all rows, unless given.

    Examples
    --------
    >>> import penstock as ps
    >>> dataset = cut(ps.LocalEngine(device="cpu"), pa.table({"x": [1, 2, 3]}), [2, 0, 1])
    >>> [fragment.rows for fragment in dataset.fragments], dataset.to_arrow()["x"].to_pylist()
    ([2, 0, 1], [1, 2, 3])
    """
    sizes = [table.num_rows] if sizes is None else sizes
    starts = [0, *itertools.accumulate(sizes)]
    fragments = (_fragment(i, table, start, size) for i, (start, size) in enumerate(zip(starts, sizes, strict=False)))
    return Dataset(engine, Reader(MemorySource(canonical(table.schema))), tuple(fragments))


def _fragment(index: int, table: pa.Table, start: int, size: int) -> Fragment:
    rows = table.slice(start, size) if size else table.schema.empty_table()
    _, (alone,) = MemorySource.plan(rows, fragment_bytes=sys.maxsize)
    return Fragment(index, start, tuple(replace(piece, first=start) for piece in alone.pieces))


@dataclass(frozen=True)
class OnlyColumns:
    """A source that refuses to be read for any column but those allowed."""

    source: Source
    allowed: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the source."""
        return self.source.schema

    def read(self, piece: Piece, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        """Read the source; AssertionError for a column that is not allowed."""
        more = sorted(set(columns) - set(self.allowed))
        if more:
            raise AssertionError(f"column {more[0]!r} was read, though only {', '.join(self.allowed)} are needed")
        return self.source.read(piece, columns, kind)


@dataclass(frozen=True)
class CountedSource:
    """A source that notes each piece that is read of it, by its first row and its rows, in `reads`.

    Whatever reads its rows ends here, also what no engine is asked for: the ranks of a training. It counts what is read
    in this process.
    """

    source: Source
    reads: list[tuple[int, int]]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the source."""
        return self.source.schema

    def read(self, piece: Piece, columns: Sequence[str], kind: Kind) -> nw.DataFrame:
        """Read the source."""
        self.reads.append((piece.first, piece.rows))
        return self.source.read(piece, columns, kind)

    @property
    def times(self) -> int:
        """How often the piece that was read most often was; empty ones are left out, as they cannot be told apart."""
        return max(Counter(piece for piece in self.reads if piece[1]).values(), default=0)


def count_reads(dataset: Dataset) -> tuple[Dataset, CountedSource]:
    """Return `dataset` over a source that counts what is read of it, and that source.

    Examples
    --------
    >>> import penstock as ps
    >>> dataset, source = count_reads(cut(ps.LocalEngine(device="cpu"), pa.table({"x": [1, 2, 3]}), [2, 0, 1]))
    >>> dataset.head(1).height, dataset.to_arrow().num_rows, source.times
    (1, 3, 2)
    """
    source = CountedSource(dataset.reader.source, [])
    return Dataset(dataset.engine, Reader(source), dataset.fragments, dataset.steps), source


def restricted(dataset: Dataset, columns: Sequence[str]) -> Dataset:
    """Return `dataset` over a source that has all columns and lets only these be read."""
    source = OnlyColumns(dataset.reader.source, tuple(columns))
    return Dataset(dataset.engine, Reader(source), dataset.fragments, dataset.steps)
