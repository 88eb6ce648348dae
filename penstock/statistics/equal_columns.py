"""Which columns have the same values in all rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.statistics.base import State, Statistic

_HEAD = 50
"""Rows by which most columns are told apart before all rows are compared."""


@dataclass(frozen=True)
class EqualColumns(Statistic):
    """The groups of columns of one type that have the same value, or none, in every row; exactly.

    A state says of each column which is the first that equals it. Columns are equal in the rows of several partitions
    if they are in those of each.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> equal = EqualColumns(("x", "y", "z"))
    >>> table = pa.table({"x": [1, None, 3], "y": [1, None, 3], "z": [1, 3, None]})
    >>> equal.finish(equal.summarise(frames.from_arrow(table)))
    (('x', 'y'),)
    """

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Compare the columns of one partition."""
        firsts: dict[Hashable, list[int]] = {}
        equals = []
        for place, name in enumerate(self.columns):
            column = frame[name]
            alike = firsts.setdefault((column.dtype, tuple(column.head(_HEAD).to_list())), [])
            same = next((other for other in alike if _are_equal(column, frame[self.columns[other]])), place)
            if same == place:
                alike.append(place)
            equals.append(same)
        return equals

    def merge(self, states: Sequence[State]) -> State:
        """Keep together what is equal in all."""
        firsts: dict[tuple[int, ...], int] = {}
        return [firsts.setdefault(labels, place) for place, labels in enumerate(zip(*states, strict=True))]

    def finish(self, state: State) -> tuple[tuple[str, ...], ...]:
        """Return the groups of more than one column."""
        groups: dict[int, list[str]] = {}
        for name, first in zip(self.columns, state, strict=True):
            groups.setdefault(first, []).append(name)
        return tuple(tuple(names) for names in groups.values() if len(names) > 1)


def _are_equal(one: nw.Series[Any], other: nw.Series[Any]) -> bool:
    if one.null_count() != other.null_count():
        return False
    differ = (one != other) | (one.is_null() != other.is_null())
    return not bool(differ.fill_null(False).any())
