"""What is gathered for each different value of a column, of which there may be very many."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from penstock.statistics.base import ColumnStatistic, State, merge_fields
from penstock.statistics.distinct import shards
from penstock.statistics.distinct.footprint import Found, Held
from penstock.statistics.distinct.partitionable import Partitionable
from penstock.statistics.distinct.top_k import TopK


@dataclass(frozen=True)
class ByValue(ColumnStatistic, Partitionable):
    """A statistic of each different value of columns; the state grows with the number of values.

    The state of a column holds either a ``table`` with a row for each ``value`` or, when it has very many rows,
    ``shards``: such tables by the hash of the values, see :mod:`penstock.statistics.distinct.shards`. Rows are in no
    particular order. Beside them is what there is to say of the column as a whole: `beside` has its names, and how it
    is merged.
    """

    beside: ClassVar[Mapping[str, Callable[[list[Any]], Any]]]

    @abstractmethod
    def add(self, tables: list[pa.Table], beside: State) -> pa.Table:
        """Return one table of several, `beside` being what is said of the columns together."""

    def merge_column(self, states: Sequence[State]) -> State:
        """Join the rows of equal values."""
        return self.merge_column_consuming(list(states))

    def merge_consuming(self, states: list[State]) -> State:
        """Merge column by column; a part of a state has not all of them."""
        by_column = {name: [state[name] for state in states] for name in self.columns if name in states[0]}
        states.clear()
        return {name: self.merge_column_consuming(of_column) for name, of_column in by_column.items()}

    def merge_column_consuming(self, states: list[State]) -> State:
        """Join the rows of equal values; of very many shard by shard, each of which is let go then."""
        beside = merge_fields(states, **self.beside)
        whole = [state["table"] for state in states if "table" in state]
        if len(whole) == len(states) and _are_few(whole):
            states.clear()
            return state_of([self.add(whole, beside)], beside)
        whole.clear()
        parts = []
        while states:
            parts.append(_shards(states.pop(0)))
        return state_of(shards.add(parts, lambda tables: self.add(tables, beside)), beside)

    def partition(self, state: State, parts: Mapping[str, int]) -> list[State]:
        """Partition column by column; a column of few parts is in the first ones."""
        partitioned: list[State] = [{} for _ in range(max([1, *parts.values()]))]
        for name in self.columns:
            for whole, part in zip(partitioned, self.partition_column(state[name], parts.get(name, 1)), strict=False):
                whole[name] = part
        return partitioned

    def partition_column(self, state: State, parts: int) -> list[State]:
        """Partition by the hash of the values, if they have one; each part has what is beside them."""
        tables = tables_of(state)
        if parts == 1 or not shards.divisible(tables[0].schema.field("value").type):
            return [state]
        beside = _beside(state)
        if "shards" in state:
            return [state_of(part, beside) for part in shards.partition(tables, parts)]
        return [state_of([part], beside) for part in shards.split(tables[0], parts)]

    def prune(self, state: State, retention: Mapping[str, TopK]) -> State:
        """Prune column by column."""
        return {
            name: self.prune_column(of_column, retention[name]) if name in retention else of_column
            for name, of_column in state.items()
        }

    def prune_column(self, state: State, keep: TopK) -> State:
        """Return the state of one column without what is not to be kept; all of it unless the statistic has a way."""
        return state

    def concat(self, parts: Sequence[State]) -> State:
        """Put parts together column by column."""
        by_column = {name: [part[name] for part in parts if name in part] for name in self.columns}
        return {name: of[0] if len(of) == 1 else self.concat_column(of) for name, of in by_column.items()}

    def concat_column(self, parts: list[State]) -> State:
        """Put parts together, which have no value in common."""
        tables = [table for part in parts for table in tables_of(part)]
        return state_of(tables if _are_few(tables) else _by_place(parts), _beside(parts[0]))

    def footprints(self) -> Mapping[str, Held]:
        """Return what a state has for each value, the same for every column."""
        return dict.fromkeys(self.columns, self.footprint())

    def footprint(self) -> Held:
        """Return what a state has for each value."""
        return Held()

    def cardinalities(self, result: Any) -> Mapping[str, Found]:
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
