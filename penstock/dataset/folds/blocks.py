"""Rows dealt into numbered blocks by their number or their columns, and the rows of some of the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals as nw

from penstock.core.names import BLOCK
from penstock.dataset.steps import RowLog, Step, history


class Dealer(Protocol):
    """Says which block each row is in, whatever partition it lies in; a small picklable value.

    Attributes
    ----------
    columns : tuple of str
        What it reads; ``__row__`` for the row's number.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...

    def deal(self, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
        """Return the number of each row's block, an integer from 0; null for a row that is in none."""


@dataclass(frozen=True)
class DealBlocks(Step):
    """Notes the block of each row in a column that no schema shows, for the steps after it."""

    dealer: Dealer

    label = "deal blocks"

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return (wanted - {BLOCK}) | frozenset(self.dealer.columns) if BLOCK in wanted else None

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        return frame.with_columns(self.dealer.deal(frame).alias(BLOCK))


@dataclass(frozen=True)
class InBlocks(Step):
    """Keeps the rows of some blocks; those of others are no rows of this dataset, and are not said to be dropped."""

    blocks: tuple[int, ...]
    keeps_rows = False

    @property
    def label(self) -> str:
        return f"rows of {len(self.blocks)} block(s)"

    def needs(self, wanted: frozenset[str]) -> frozenset[str] | None:
        return wanted | {BLOCK}

    def apply(self, frame: nw.DataFrame, log: RowLog) -> nw.DataFrame:
        rows = rows_in(frame, self.blocks)
        log.read -= len(frame) - len(rows)
        return rows


def rows_in(frame: nw.DataFrame[Any], blocks: Sequence[int]) -> nw.DataFrame[Any]:
    """Return the rows of `blocks`."""
    if len(blocks) == 1:
        return frame.filter(nw.col(BLOCK) == blocks[0])
    return frame.filter(nw.col(BLOCK).is_in(list(blocks)))


def chosen_blocks(steps: Sequence[Step]) -> tuple[int, ...]:
    """Return the blocks of which the rows after `steps` are, in order; none where they are no longer known.

    What is gathered over several blocks is, by definition, gathered over each and merged in their order. So a training
    set gives the same numbers, to the bit, whether it is scanned by itself or as the other folds of a search.
    """
    blocks: tuple[int, ...] = ()
    for step in history(steps):
        if isinstance(step, InBlocks):
            blocks = step.blocks
        elif isinstance(step, DealBlocks) or step.makes_rows:
            blocks = ()
    return blocks
