"""Sums over the rows that share a number, as runs of distinct numbers that are ascending and so cheap to merge.

What 10 million distinct numbers need is memory, not speed: columns keep the smallest types that hold them, and runs are
merged a block of numbers at a time, so that beside the runs and the result there is little else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.frames import matrices

Run = tuple[Any, ...]
"""Distinct numbers, ascending, and for each of some columns its sum over the rows with that number."""

_BLOCK = 2**20
_SAMPLED = 2**16


def add_ties(columns: Sequence[Any]) -> Run:
    """Return the distinct values of the first column, ascending, with sums of the others: where the columns are.

    Parameters
    ----------
    columns : sequence of array of shape (n_rows,)
        Numbers without NaN, then what to add up. NumPy's, or CuPy's. Floats are added as float64; booleans and
        integers as the smaller of uint32 and int64 that holds the total of the column.

    Examples
    --------
    >>> numbers, counts = add_ties([np.array([0.5, 0.25, 0.5]), np.array([True, True, False])])
    >>> numbers.tolist(), counts.tolist()
    ([0.25, 0.5], [1, 1])
    """
    return _added(columns, [_sum_type([each]) for each in columns[1:]])


def merge_ties(runs: Sequence[Run], check: Callable[[int, int], None]) -> Run:
    """Return the run of the rows of all `runs`, which are of the same columns.

    Parameters
    ----------
    check : callable
        Told how many distinct numbers there are so far, and how many bytes one takes; it may raise.
    """
    numbers = np.result_type(*(run[0] for run in runs))
    kinds = [_sum_type(column) for column in list(zip(*runs, strict=True))[1:]]
    merged = tuple(np.empty(sum(len(run[0]) for run in runs), kind) for kind in (numbers, *kinds))
    end = 0
    for block in _blocks(runs):
        added = _added([np.concatenate(column) for column in zip(*block, strict=True)], kinds)
        for column, part in zip(merged, added, strict=True):
            column[end : end + len(part)] = part
        end += len(added[0])
        check(end, sum(column.itemsize for column in merged))
    return tuple(column[:end] for column in merged)


def _blocks(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Yield the same stretch of numbers of every run, ascending, about a million in all; no number is in two."""
    sampled = np.sort(np.concatenate([run[0][::_SAMPLED] for run in runs]))
    edges = sampled[_BLOCK // _SAMPLED :: _BLOCK // _SAMPLED]
    cuts = [[0, *np.searchsorted(run[0], edges), len(run[0])] for run in runs]
    for place in range(len(edges) + 1):
        yield [tuple(column[at[place] : at[place + 1]] for column in run) for run, at in zip(runs, cuts, strict=True)]


def _added(columns: Sequence[Any], kinds: Sequence[np.dtype]) -> Run:
    if not isinstance(columns[0], np.ndarray):
        return _added_on_gpu(columns, kinds)
    order = np.argsort(columns[0], kind="stable")  # timsort: merges what is sorted already
    numbers = columns[0][order]
    first = np.ones_like(numbers, dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    sums = (np.add.reduceat(each[order], starts, dtype=kind) for each, kind in zip(columns[1:], kinds, strict=True))
    return numbers[starts], *sums


def _added_on_gpu(columns: Sequence[Any], kinds: Sequence[np.dtype]) -> Run:
    """Return the run on the host, by one copy of all columns."""
    numbers, places = np.unique(columns[0], return_inverse=True)
    # CuPy's `reduceat` subtracts running sums, which would leave some weight where there is none.
    sums = [np.bincount(places, each.astype(np.float64), len(numbers)) for each in columns[1:]]
    run = zip(matrices.to_host(np.stack([numbers, *sums])), (columns[0].dtype, *kinds), strict=True)
    return tuple(column.astype(kind) for column, kind in run)


def _sum_type(parts: Sequence[Any]) -> np.dtype:
    if parts[0].dtype.kind == "f":
        return np.dtype(np.float64)
    if parts[0].dtype.kind == "b" and sum(map(len, parts)) < 2**32:
        return np.dtype(np.uint32)
    return np.dtype(np.uint32 if sum(int(part.sum(dtype=np.int64)) for part in parts) < 2**32 else np.int64)
