"""The order of rows in each epoch: a permutation that each rank computes for its own rows alone.

The place of a row depends on its number among all rows of the dataset, the seed and the epoch, so a batch is the same
set of rows whatever the engine, the partitioning and the number of ranks, and takes no memory for rows of other ranks.
The permutation is a Feistel network over a square of at least as many numbers, walked until a number is inside: Black
and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002. SplitMix64 is the round function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.io.fragments import hash_rows

_ROUNDS = 6


@dataclass(frozen=True)
class Order:
    """Batches of the rows of one rank.

    Parameters
    ----------
    seed : int
    total : int
        Rows of all ranks.
    begin, end : int
        Numbers of the rows of this rank.
    size : int
        Rows of a batch, over all ranks.

    Examples
    --------
    >>> halves = [Order(0, 6, begin, begin + 3, 4).batches(epoch=0) for begin in (0, 3)]
    >>> [len(one) + len(other) for one, other in zip(*halves)]
    [4, 2]
    """

    seed: int
    total: int
    begin: int
    end: int
    size: int

    @property
    def count(self) -> int:
        """How many batches an epoch has; the last may be smaller."""
        return -(-self.total // self.size)

    def batches(self, epoch: int) -> list[np.ndarray]:
        """Return, for each batch, which of this rank's rows are in it, counted from 0; some may be empty."""
        numbers = np.arange(self.begin, self.end, dtype=np.uint64)
        places = shuffled(numbers, self.total, round_keys(self.seed, epoch))
        order = np.argsort(places)
        return np.split(order, np.searchsorted(places[order], np.arange(self.size, self.total, self.size)))


def round_keys(seed: int, epoch: int) -> list[int]:
    """Return the keys of the rounds of one epoch."""
    counters = np.arange(epoch * _ROUNDS, (epoch + 1) * _ROUNDS, dtype=np.uint64)
    return [int(unit * 2.0**53) for unit in hash_rows(counters, seed)]


def shuffled(numbers: np.ndarray, total: int, keys: list[int]) -> np.ndarray:
    """Return the place of each number (uint64, below `total`) in a permutation of all numbers below `total`.

    Examples
    --------
    >>> sorted(shuffled(np.arange(5, dtype=np.uint64), 5, round_keys(7, epoch=0)).tolist())
    [0, 1, 2, 3, 4]
    """
    width = math.isqrt(max(total - 1, 0)) + 1
    places = _scrambled(numbers, width, keys)
    while len(outside := np.flatnonzero(places >= total)):
        places[outside] = _scrambled(places[outside], width, keys)
    return places


def _scrambled(numbers: np.ndarray, width: int, keys: list[int]) -> np.ndarray:
    """Return a permutation of the numbers below the square of `width`."""
    left, right = np.divmod(numbers, np.uint64(width))
    for key in keys:
        mixed = (hash_rows(right, key) * width).astype(np.uint64)
        left, right = right, (left + mixed) % np.uint64(width)
    made: np.ndarray = left * np.uint64(width) + right
    return made
