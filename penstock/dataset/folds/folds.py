"""The folds of a dataset: for each, the rows to train on and the rows to validate with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

from penstock.dataset.folds.blocks import DealBlocks, Dealer, InBlocks

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

Part = Literal["train", "validation"]
"""One side of a fold."""


@dataclass(frozen=True)
class Fold:
    """One split of a dataset.

    Attributes
    ----------
    index : int
        From 0.
    train, validation : Dataset
        Datasets like any other.
    """

    index: int
    train: Dataset
    validation: Dataset


@dataclass(frozen=True)
class BlockSplit:
    """The numbers of the blocks that a fold trains on, and of those it validates with."""

    train: tuple[int, ...]
    validation: tuple[int, ...]

    def of(self, part: Part) -> tuple[int, ...]:
        """Return the blocks of one side."""
        return self.train if part == "train" else self.validation


@dataclass(frozen=True)
class Folds(Sequence[Fold]):
    """What `Dataset.folds` gives: a sequence of `Fold`.

    Attributes
    ----------
    dataset : Dataset
        The rows of all folds.
    dealer : Dealer
        Which block each of them is in.
    splits : tuple of BlockSplit
        Of which blocks each fold is made.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> folds = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": range(100)})).folds(4, stratify="x")
    >>> len(folds), folds[-1].index, [(fold.train.count(), fold.validation.count()) for fold in folds[:2]]
    (4, 3, [(75, 25), (75, 25)])
    """

    dataset: Dataset
    dealer: Dealer
    splits: tuple[BlockSplit, ...]

    @property
    def dealt(self) -> Dataset:
        """The rows of all folds, with the block of each noted for the steps to come."""
        return self.dataset.with_step(DealBlocks(self.dealer))

    @overload
    def __getitem__(self, index: int) -> Fold: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Fold]: ...

    def __getitem__(self, index: int | slice) -> Fold | Sequence[Fold]:
        """Return one fold, or several."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        split, dealt = self.splits[place], self.dealt
        return Fold(place, dealt.with_step(InBlocks(split.train)), dealt.with_step(InBlocks(split.validation)))

    def __len__(self) -> int:
        """Return how many folds there are."""
        return len(self.splits)

    def __iter__(self) -> Iterator[Fold]:
        """Yield each fold."""
        return (self[place] for place in range(len(self)))


def held_out_in_turn(blocks: int) -> tuple[BlockSplit, ...]:
    """Return the splits of k folds: each block is validated with once, by what was trained on all others.

    Examples
    --------
    >>> held_out_in_turn(3)[1]
    BlockSplit(train=(0, 2), validation=(1,))
    """
    every = range(blocks)
    return tuple(BlockSplit(tuple(other for other in every if other != block), (block,)) for block in every)
