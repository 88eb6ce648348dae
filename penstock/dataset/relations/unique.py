"""One row of those that agree in some columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from penstock.core.errors import check_one_of
from penstock.core.selectors import resolve
from penstock.dataset.relations.folding import as_dataset, no_order, refuse_nested, relation_of
from penstock.dataset.relations.operation import Meeting, Operation
from penstock.dataset.relations.order import Order, columns_of, sorting
from penstock.dataset.relations.relation import Operated

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True, eq=False)
class UniqueRows(Operation):
    """Keeps the first or the last row, in an order, of those that agree in columns; null agrees with null.

    Parameters
    ----------
    columns : tuple of str
    kinds : tuple of pyarrow.DataType
    last : bool
    order : tuple of SortKey
    alike : bool
        Whether the columns are all there are, so that any row is as good where no order is wanted.
    """

    columns: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]
    last: bool
    order: Order
    alike: bool

    label = "unique"

    @property
    def meetings(self) -> tuple[Meeting, ...]:  # type: ignore[override]
        return (Meeting(self.columns, self.kinds),)

    def needs(self, wanted: frozenset[str]) -> tuple[frozenset[str], ...]:
        ordered = columns_of(self.order)
        free = self.alike and not (wanted - {*self.columns})
        return (wanted | {*self.columns} | (frozenset() if free else ordered),)

    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        (frame,) = frames
        if not self.is_ordered_in(frame.collect_schema().names()):
            return frame.unique(list(self.columns))
        ordered = frame.sort(**sorting(self.order))
        return ordered.unique(list(self.columns), keep="last" if self.last else "first", maintain_order=True)

    def is_ordered_in(self, names: Sequence[str]) -> bool:
        """Return whether the order is to be seen to: its columns are there, unless any row will do."""
        return bool(self.order) and columns_of(self.order) <= {*names}


def unique(dataset: Dataset, subset: str | Sequence[str] | None, keep: str, *, maintain_order: bool) -> Dataset:
    """Return one row of those that agree; see `Dataset.unique`."""
    check_one_of("keep of unique", keep, ("any", "first", "last"), stage="unique")
    rows = relation_of(dataset)
    columns = tuple(rows.schema.names) if subset is None else resolve(subset, rows.schema, "unique")
    refuse_nested(rows.schema, columns, "unique", "Name other columns as the subset.")
    alike = set(columns) == set(rows.schema.names)
    if rows.order is None and not alike:
        raise no_order("unique", "the row that is kept goes by it")
    kinds = tuple(rows.schema.field(name).type for name in columns)
    operation = UniqueRows(columns, kinds, keep == "last", rows.order or (), alike)
    order = rows.order if maintain_order else None
    return as_dataset(dataset, Operated(operation, (rows,), rows.schema, order), "unique")
