"""What is gathered for each different value of a column, of which there may be very many."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.statistics import shards
from penstock.statistics.base import ColumnStatistic, State
from penstock.statistics.held import Found, Held


@dataclass(frozen=True)
class ByValue(ColumnStatistic):
    """A statistic of each different value of columns; the state grows with the number of values.

    The state of a column holds either a ``table`` with a row for each ``value`` or, when it has very many rows,
    ``shards``: such tables by the hash of the values, see :mod:`penstock.statistics.shards`. Rows are in no particular
    order. Beside them is what there is to say of the column as a whole.
    """

    @abstractmethod
    def add(self, tables: list[pa.Table], beside: State) -> pa.Table:
        """Return one table of several, `beside` being what is said of the columns together."""

    @abstractmethod
    def merge_beside(self, states: Sequence[State]) -> dict[str, Any]:
        """Return what there is to say of the columns together."""

    def merge_column(self, states: Sequence[State]) -> State:
        """Join the rows of equal values."""
        return self.drain_column(list(states))

    def drain_column(self, states: list[State]) -> State:
        """Join the rows of equal values; of very many shard by shard, each of which is let go then."""
        beside = self.merge_beside(states)
        whole = [state["table"] for state in states if "table" in state]
        if len(whole) == len(states) and _are_few(whole):
            states.clear()
            return state_of([self.add(whole, beside)], beside)
        whole.clear()
        parts = []
        while states:
            parts.append(_shards(states.pop(0)))
        return state_of(shards.add(parts, lambda tables: self.add(tables, beside)), beside)

    def cut_column(self, state: State, parts: int) -> list[State]:
        """Cut by the hash of the values, if they have one; each part has what is beside them."""
        tables = tables_of(state)
        if parts == 1 or not shards.divisible(tables[0].schema.field("value").type):
            return [state]
        beside = _beside(state)
        cut = shards.cut(tables, parts) if "shards" in state else [[each] for each in shards.split(tables[0], parts)]
        return [state_of(part, beside) for part in cut]

    def join_column(self, parts: list[State]) -> State:
        """Put parts together, which have no value in common."""
        tables = [table for part in parts for table in tables_of(part)]
        return state_of(tables if _are_few(tables) else _by_place(parts), _beside(parts[0]))

    def counted(self) -> Mapping[str, Held]:
        """Return what is held of each column."""
        return dict.fromkeys(self.columns, self.held())

    def held(self) -> Held:
        """Return what is held of each value."""
        return Held()

    def found(self, result: Any) -> Mapping[str, Found]:
        """Return how many values there were."""
        return {name: Found(result[name].distinct) for name in self.columns}


def tables_of(state: State) -> list[pa.Table]:
    """Return the tables of a state."""
    return list(state["shards"]) if "shards" in state else [state["table"]]


def state_of(tables: list[pa.Table], beside: State) -> State:
    """Return the state of tables that have no value in common: one is whole, several are shards."""
    if _are_few(tables):
        return {**beside, "table": pa.concat_tables(tables) if len(tables) > 1 else tables[0]}
    return {**beside, "shards": shards.split(tables[0]) if len(tables) == 1 else tables}


def _beside(state: State) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name not in ("table", "shards")}


def _are_few(tables: Sequence[pa.Table]) -> bool:
    rows = sum(table.num_rows for table in tables)
    return rows <= shards.LIMIT or not shards.divisible(tables[0].schema.field("value").type)


def _shards(state: State) -> list[pa.Table]:
    return list(state["shards"]) if "shards" in state else shards.split(state["table"])


def _by_place(parts: Sequence[State]) -> list[pa.Table]:
    """Return the shards of states that have no value in common."""
    return [pa.concat_tables(of_place) for of_place in zip(*map(_shards, parts), strict=True)]
