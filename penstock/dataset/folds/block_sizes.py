"""How many rows each block has, and the error for folds that lack some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from penstock.core.errors import EmptyInputError
from penstock.core.names import BLOCK
from penstock.dataset.folds.blocks import Dealer
from penstock.dataset.folds.folds import BlockSplit
from penstock.statistics.base import State, Statistic

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class BlockSizes(Statistic):
    """How many rows each of `blocks` blocks has, and as the last number how many are in none."""

    columns: tuple[str, ...] = field(init=False)
    dealer: Dealer
    blocks: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", self.dealer.columns)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the rows of one partition."""
        dealt = frame.select(self.dealer.deal(frame).alias(BLOCK).fill_null(self.blocks))
        return np.bincount(dealt[BLOCK].to_numpy(), minlength=self.blocks + 1).tolist()

    def merge(self, states: Sequence[State]) -> State:
        """Add up, block by block."""
        return [sum(sizes) for sizes in zip(*states, strict=True)]

    def finish(self, state: State) -> list[int]:
        """Return the numbers."""
        return list(state)


def block_sizes(dataset: Dataset, dealer: Dealer, blocks: int) -> list[int]:
    """Return how many rows each block has, and how many are in none; reads what the dealer reads."""
    statistic = BlockSizes(dealer, blocks)
    (state,), _ = dataset.gather((statistic,), label="folds: rows of each")
    return statistic.finish(state)


def check_sizes(splits: Sequence[BlockSplit], sizes: Sequence[int], hint: str) -> None:
    """Raise EmptyInputError if a fold has no row to train on, or none to validate with."""
    for index, split in enumerate(splits):
        for blocks, use in ((split.validation, "validate with"), (split.train, "train on")):
            if not sum(sizes[block] for block in blocks):
                raise EmptyInputError(f"fold {index} of {len(splits)} has no row to {use}", hint=hint)
