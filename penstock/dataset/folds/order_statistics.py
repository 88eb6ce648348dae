"""The rows that stand at given places when all are put in order by a key: exact, without a sort of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from penstock.statistics.key_counts import Key, KeyCounts, KeyTable

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

LAST = 2**64 - 1
MOST_KEYS = 2**16
"""How many different keys are counted one by one."""


class RankedKey(NamedTuple):
    """The key at a rank; how many rows of this key are before that rank, and how many there are."""

    key: int
    before: int
    rows: int


@dataclass(frozen=True)
class OrderStatistics:
    """Keys at places in the order, class by class.

    Attributes
    ----------
    classes : tuple
        The classes, in ascending order, null last.
    rows : tuple of int
        How many rows each has.
    ranked : tuple of tuple of RankedKey
        For each class the keys at its ranks; the largest of all keys for a rank after the last row.
    """

    classes: tuple[Any, ...]
    rows: tuple[int, ...]
    ranked: tuple[tuple[RankedKey, ...], ...]

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """The keys alone."""
        return tuple(tuple(each.key for each in of_class) for of_class in self.ranked)


class _Sought(NamedTuple):
    """A row to find: the `rank`-th, from 0, of the `rows` of a class whose key lies in a range."""

    code: int
    range: int
    rank: int
    rows: int = 0


def order_statistics(
    dataset: Dataset,
    key: Key,
    ranks: Callable[[tuple[Any, ...], tuple[int, ...]], Sequence[Sequence[int]]],
    by: str | None = None,
    label: str = "folds",
) -> OrderStatistics:
    """Return the keys at given ranks of each class of the column `by`, or of all rows.

    One scan finds them where there are at most 65,536 different keys. Of more it finds narrow ranges that they lie
    in, and another scan or two find them there.

    Parameters
    ----------
    ranks : callable
        For all classes and their numbers of rows, the ranks that are asked for of each: from 0, ascending.
    """
    statistic = KeyCounts(key, by, MOST_KEYS)
    table = _gather(dataset, statistic, label)
    classes, rows = tuple(table.classes.to_pylist()), tuple(table.rows().tolist())
    wanted = ranks(classes, rows)
    places = [(code, rank) for code, of_class in enumerate(wanted) for rank in of_class if rank < rows[code]]
    sought = [_Sought(code, 0, rank) for code, rank in places]
    sought = _narrowed(table, range(len(classes)), 64, sought)
    while table.shift:
        inside = tuple(dict.fromkeys((classes[each.code], each.range) for each in sought))
        if not inside:
            break
        shift = table.shift
        table = _gather(dataset, replace(statistic, inside=inside, shift=shift), f"{label}, closer")
        now = {value: code for code, value in enumerate(table.classes.to_pylist())}
        sought = _narrowed(table, [now.get(value, -1) for value in classes], shift, sought)
    keys = {place: RankedKey(*each[1:]) for place, each in zip(places, sought, strict=True)}
    end = RankedKey(LAST, 0, 0)
    ranked = (tuple(keys.get((code, rank), end) for rank in of_class) for code, of_class in enumerate(wanted))
    return OrderStatistics(classes, rows, tuple(ranked))


def _gather(dataset: Dataset, statistic: KeyCounts, label: str) -> KeyTable:
    (state,), _ = dataset.gather((statistic,), label=label)
    return statistic.finish(state)


def _narrowed(table: KeyTable, codes: Sequence[int], shift: int, sought: Sequence[_Sought]) -> list[_Sought]:
    """Return the same rows, sought in the ranges of `table`, which lie in those that they were sought in.

    Parameters
    ----------
    codes : sequence of int
        For each code of a class in `sought`, the one in `table`.
    shift : int
        How many low bits the ranges of `sought` are without.
    """
    starts = np.searchsorted(table.codes, np.arange(len(table.classes) + 1))
    ends = np.concatenate([[0], np.cumsum(table.counts)])
    narrowed = []
    for each in sought:
        first, stop = starts[codes[each.code]], starts[codes[each.code] + 1]
        low = each.range << shift >> table.shift
        first += np.searchsorted(table.ranges[first:stop], np.uint64(low))
        place = np.searchsorted(ends, ends[first] + each.rank, side="right") - 1
        rank = int(ends[first] + each.rank - ends[place])
        narrowed.append(_Sought(each.code, int(table.ranges[place]), rank, int(table.counts[place])))
    return narrowed
