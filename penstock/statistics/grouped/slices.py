"""Statistics of the rows that share a value, for every value of a column or combination of columns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.statistics.base import State, Statistic
from penstock.statistics.grouped.base import Grouped, union

MOST = 1000
"""More slices than this nobody reads, and each costs as much as a small fragment."""


@dataclass(frozen=True)
class Sliced(Grouped):
    """Statistics of each slice, by the tuple of its values; null is a value like any other.

    Parameters
    ----------
    by : tuple of str
        Strings, booleans, integers or dates.

    Examples
    --------
    >>> from penstock.statistics import Counts
    >>> sliced = Sliced.of(["c"], [Counts(("x",))])
    >>> state = sliced.summarise(frames.from_arrow(pa.table({"c": ["a", "b", "a"], "x": [1, None, 3]})))
    >>> sliced.finish(state)[("a",)]
    ({'x': Count(rows=2, nulls=0)},)
    """

    by: tuple[str, ...]

    @classmethod
    def of(cls, by: Sequence[str], statistics: Sequence[Statistic]) -> Sliced:
        """Return the statistics of the slices by these columns."""
        return cls(union(statistics, *by), tuple(statistics), tuple(by))

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the key and the states of each slice, by first occurrence.

        Raises
        ------
        DataValueError
            There are more than 1,000 slices.
        """
        parts = [part for _, part in frame.group_by(list(self.by), drop_null_keys=False)] if len(frame) else []
        self._check(len(parts))
        keys = [frames.to_arrow(part.select(self.by).head(1)) for part in parts]
        empty = frames.to_arrow(frame.select(self.by).head(0))
        return {"keys": pa.concat_tables(keys) if keys else empty, "states": [self._summarised(part) for part in parts]}

    def merge(self, states: Sequence[State]) -> State:
        """Merge the slices of one key; raises as `summarise` does."""
        parts: dict[Hashable, list[tuple[int, int]]] = {}
        for which, state in enumerate(states):
            for place, key in enumerate(_tuples(state["keys"])):
                parts.setdefault(key, []).append((which, place))
        self._check(len(parts))
        firsts = [states[which]["keys"].slice(place, 1) for (which, place), *_ in parts.values()]
        return {
            "keys": pa.concat_tables(firsts) if firsts else states[0]["keys"],
            "states": [self._merged([states[w]["states"][place] for w, place in found]) for found in parts.values()],
        }

    def finish(self, state: State) -> Mapping[Hashable, tuple[Any, ...]]:
        """Return the results of each slice."""
        keys = _tuples(state["keys"])
        return {key: self._finished(each) for key, each in zip(keys, state["states"], strict=True)}

    def _check(self, slices: int) -> None:
        if slices > MOST:
            raise DataValueError(
                f"{' and '.join(map(repr, self.by))} have {slices} or more values together, expected at most {MOST}",
                hint="Slice by a column of few values: cut numbers into ranges, put rare categories together.",
                column=self.by[0],
            )


def _tuples(keys: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in keys.to_pylist()]
