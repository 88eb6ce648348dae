"""Few rows of a product: those among which every pair of values of two parameters occurs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

Pair = tuple[tuple[str, int], tuple[str, int]]


def covering(rows: Sequence[Mapping[str, int]]) -> list[int]:
    """Return the places of rows, in order, in which every pair that is in any row is; greedily, and always the same."""
    left = {pair for row in rows for pair in _pairs(row)}
    chosen = []
    while left:
        best = max(range(len(rows)), key=lambda place: len(left.intersection(_pairs(rows[place]))))
        left.difference_update(_pairs(rows[best]))
        chosen.append(best)
    return sorted(chosen)


def _pairs(row: Mapping[str, int]) -> Iterable[Pair]:
    return itertools.combinations(sorted(row.items()), 2)
