"""Sorts, which leave rows what they are and put them in another order, and the first rows of an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from penstock.core.errors import ConfigError, check_one_of
from penstock.core.selectors import resolve
from penstock.dataset.relations.folding import as_dataset, no_order, refuse_nested, relation_of
from penstock.dataset.relations.operation import Meeting, Operation
from penstock.dataset.relations.order import Order, SortKey, columns_of, sorting
from penstock.dataset.relations.relation import Operated

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class Same(Operation):
    """Leaves rows as they are: an order is that of the relation, and is seen to when its rows are written."""

    label = "sort"

    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        return frames[0]


@dataclass(frozen=True)
class Limit(Operation):
    """Keeps so many rows, in order, after an offset."""

    rows: int
    offset: int
    order: Order
    meetings = (Meeting((), ()),)

    label = "limit"

    def needs(self, wanted: frozenset[str]) -> tuple[frozenset[str], ...]:
        return (wanted | columns_of(self.order),)

    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        ordered = frames[0].sort(**sorting(self.order)) if self.order else frames[0]
        return ordered.slice(self.offset, self.rows)

    def partial(self) -> tuple[Operation, Operation] | None:
        return replace(self, rows=self.rows + self.offset, offset=0), self


def sort(dataset: Dataset, by: Sequence[str], descending: bool | Sequence[bool], nulls: str) -> Dataset:
    """Return the rows in another order; see `Dataset.sort`."""
    check_one_of("nulls of sort", nulls, ("first", "last"), stage="sort")
    rows = relation_of(dataset)
    names = by[0] if len(by) == 1 else by
    columns = resolve(names, rows.schema, "sort")
    refuse_nested(rows.schema, columns, "sort")
    keys = zip(columns, _directions(descending, columns), strict=True)
    order = tuple(SortKey(name, down, nulls_last=nulls == "last") for name, down in keys)
    rest = tuple(key for key in rows.order or () if key.column not in columns)
    return as_dataset(dataset, Operated(Same(), (rows,), rows.schema, (*order, *rest)), "sort")


def _directions(descending: bool | Sequence[bool], columns: Sequence[str]) -> list[bool]:
    down = list(descending) if isinstance(descending, Sequence) else [descending] * len(columns)
    if len(down) != len(columns) or any(not isinstance(each, bool) for each in down):
        raise ConfigError(
            f"descending of sort is {descending!r}, expected True or False, or one of them for each of {len(columns)}"
            " column(s)",
            stage="sort",
        )
    return down


def limit(dataset: Dataset, rows: int, offset: int) -> Dataset:
    """Return the first rows; see `Dataset.limit`."""
    for name, value in (("rows", rows), ("offset", offset)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ConfigError(f"{name} of limit is {value!r}, expected a whole number from 0 on", stage="limit")
    relation = relation_of(dataset)
    if relation.order is None:
        raise no_order("limit", "the first rows are those that come first in it")
    operation = Limit(rows, offset, relation.order)
    return as_dataset(dataset, Operated(operation, (relation,), relation.schema, relation.order), "limit")
