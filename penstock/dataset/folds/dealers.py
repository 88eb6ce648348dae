"""Ways to deal rows into blocks, none of which depends on how a dataset is cut into partitions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.core.names import BLOCK
from penstock.dataset.folds.blocks import Dealer
from penstock.dataset.folds.keys import GroupHash, RowHash, TimeOrder
from penstock.frames import ROW, matrices
from penstock.io.row_hashes import hash_rows
from penstock.statistics.aggregates import row_numbers
from penstock.statistics.grouped.folds import folds
from penstock.statistics.labels import categories, without_minus_zero

SPLIT_STREAM = 0x632BE59BD9B4E019
"""What the seed of a split of a split moves by, so that it does not repeat the first."""
_THINNING = 0x2545F4914F6CDD1D


@dataclass(frozen=True)
class ByRow:
    """Deals rows at random, by their number and a seed: about as many to each block."""

    blocks: int
    seed: int

    columns = (ROW,)

    def deal(self, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
        """Return the block of each row."""
        return _series(frame, folds(row_numbers(frame), self.blocks, self.seed))


@dataclass(frozen=True)
class ByColumn:
    """Deals rows by a column of the numbers of their blocks; those of other numbers, or of null, are in none."""

    column: str
    blocks: int

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def deal(self, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
        """Return the block of each row."""
        block = nw.when(~self.strays()).then(nw.col(self.column).cast(nw.Int64))
        return frame.select(block.alias(BLOCK))[BLOCK]

    def strays(self) -> nw.Expr:
        """Return the expression that is true for the rows of no block."""
        inside: nw.Expr = (nw.col(self.column) >= 0) & (nw.col(self.column) < self.blocks)
        return ~inside.fill_null(False)


@dataclass(frozen=True)
class Stratified:
    """Deals the rows of each class in the order of a hash of their numbers.

    Parameters
    ----------
    key : RowHash
    column : str or None
        Of the classes, null among them; without it all rows are of one.
    kind : pyarrow.DataType
        Of the column.
    classes : tuple
    bounds : tuple of tuple of int
        For each class the hashes at which the second block begins, the third, and so on; ascending.
    """

    key: RowHash
    column: str | None
    kind: pa.DataType
    classes: tuple[Any, ...] = field(repr=False)
    bounds: tuple[tuple[int, ...], ...] = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.key.columns if self.column is None else (*self.key.columns, self.column)

    def deal(self, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
        """Return the block of each row.

        Raises
        ------
        DataValueError
            A class was not there when the blocks were made.
        """
        codes, hashes = self._codes(frame), self.key.values(frame)
        blocks = np.zeros(len(hashes), np.int64)
        for begin in np.array(self.bounds, np.uint64).reshape(len(self.classes), -1).T:
            blocks += hashes >= begin[codes]
        return _series(frame, blocks)

    def _codes(self, frame: nw.DataFrame[Any]) -> np.ndarray:
        if self.column is None:
            return np.zeros(len(frame), np.int64)
        values = without_minus_zero(categories(frame, self.column).cast(self.kind))
        codes = pc.index_in(values, value_set=pa.array(self.classes, self.kind))
        if codes.null_count:
            known = nw.col(self.column).is_in([value for value in self.classes if value is not None])
            raise DataValueError(
                f"column {self.column!r} has classes that were not there when its rows were dealt by them",
                hint="Steps before have to give the same rows each time.",
                column=self.column,
                rows=codes.null_count,
                predicate=~known,
            )
        return codes.to_numpy()


@dataclass(frozen=True)
class ByGroup:
    """Deals all rows of a group into one block, by a table of the hashes of the groups.

    Parameters
    ----------
    key : GroupHash
    shift : int
        How many low bits the hashes of the table are without: groups that are equal in the others share a block.
    hashes, blocks : tuple of int
        The hashes in ascending order, and the block of each. A group that is not among them goes with its neighbour.
    """

    key: GroupHash
    shift: int
    hashes: tuple[int, ...] = field(repr=False)
    blocks: tuple[int, ...] = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.key.columns

    def deal(self, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
        """Return the block of each row."""
        hashes = self.key.values(frame) >> np.uint64(self.shift)
        places = np.searchsorted(np.array(self.hashes, np.uint64), hashes)
        return _series(frame, np.array(self.blocks, np.int64)[np.minimum(places, len(self.blocks) - 1)])


@dataclass(frozen=True)
class ByTime:
    """Deals rows into spans of time: block 0 is before the first cut, and each cut begins the next block."""

    key: TimeOrder
    cuts: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.key.columns

    def deal(self, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
        """Return the block of each row."""
        times = self.key.values(frame)
        return _series(frame, np.searchsorted(np.array(self.cuts, np.uint64), times, side="right"))


@dataclass(frozen=True)
class ByShare:
    """Deals a share of the rows into block 0 and the others into block 1, as `Dataset.split` cuts them.

    ``level`` is how many splits there were before.
    """

    share: float
    seed: int
    level: int

    columns = (ROW,)

    def deal(self, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
        """Return the block of each row."""
        bound = self.share / math.fsum([self.share, 1 - self.share])
        unit = hash_rows(row_numbers(frame), self.seed + SPLIT_STREAM * self.level)
        return _series(frame, unit >= bound)


@dataclass(frozen=True)
class Thinned:
    """Deals as another dealer does, but of each block's rows only a share: what is beyond goes to blocks of its own.

    Of several shares, ascending, the rows of block b beyond the first are in block ``b + blocks``, beyond the second in
    ``b + 2 * blocks``, and so on. The rows of a share are among those of every greater one.
    """

    dealer: Dealer
    blocks: int
    fractions: tuple[float, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (ROW, *self.dealer.columns)

    def deal(self, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
        """Return the block of each row."""
        fractions = matrices.to_device(np.array(self.fractions), frames.kind_of(frame))
        beyond = np.searchsorted(fractions, hash_rows(row_numbers(frame), _THINNING), side="right")
        return self.dealer.deal(frame) + _series(frame, beyond) * self.blocks


def _series(frame: nw.DataFrame[Any], blocks: Any) -> nw.Series[Any]:
    return matrices.column(frame, BLOCK, matrices.to_device(blocks.astype(np.int64), frames.kind_of(frame)))
