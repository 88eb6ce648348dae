"""Folds that train on shares of their rows, each among those of every greater one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.dataset.folds.dealers import Thinned
from penstock.dataset.folds.folds import BlockSplit, Folds


def thinned(folds: Folds, fraction: float) -> Folds:
    """Return folds that train on a fraction of their rows, and validate with all of theirs."""
    return folds if fraction == 1 else all_thinned(folds, [fraction])


def all_thinned(folds: Folds, fractions: Sequence[float]) -> Folds:
    """Return the folds of every fraction, one fraction after the other, to be fitted side by side.

    Parameters
    ----------
    folds : Folds
    fractions : sequence of float
        Ascending.
    """
    blocks = 1 + max(block for split in folds.splits for block in (*split.train, *split.validation))
    every = range(len(fractions) + 1)
    splits = tuple(
        BlockSplit(_shares(split.train, blocks, range(place + 1)), _shares(split.validation, blocks, every))
        for place in range(len(fractions))
        for split in folds.splits
    )
    return replace(folds, dealer=Thinned(folds.dealer, blocks, tuple(fractions)), splits=splits)


def _shares(of_blocks: Sequence[int], blocks: int, shares: range) -> tuple[int, ...]:
    """Return the blocks that the first so many shares of some blocks are in."""
    return tuple(block + blocks * share for block in of_blocks for share in shares)
