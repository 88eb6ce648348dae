"""Group-bys: one row for each key, of aggregates over the rows that have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import polars as pl
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.names import check_names
from penstock.dataset.relations.folding import as_dataset, finish, no_order, relation_of, select_beside
from penstock.dataset.relations.operation import KeyedOperation, Operation
from penstock.dataset.relations.order import Order, SortKey, columns_of, sorting
from penstock.dataset.relations.relation import Operated
from penstock.expressions.aggregates import Aggregate, take_apart

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True, eq=False)
class Aggregating(KeyedOperation):
    """Makes one row of all rows of a key; of all rows where there is no key.

    Parameters
    ----------
    aggregates : tuple of Aggregate
    order : tuple of SortKey
        The order of the rows that ``first`` and ``last`` go by.
    """

    aggregates: tuple[Aggregate, ...]
    order: Order | None = ()

    label = "group_by"

    def needs(self, wanted: frozenset[str]) -> tuple[frozenset[str], ...]:
        narrow = self.narrow(wanted)
        columns = {each.column for each in narrow.aggregates if each.column is not None}
        ordered = columns_of(self.order or ()) if any(each.is_ordered for each in narrow.aggregates) else frozenset()
        return (frozenset((*self.keys, *columns)) | ordered,)

    def narrow(self, wanted: frozenset[str]) -> Self:
        return replace(self, aggregates=tuple(each for each in self.aggregates if each.output in wanted))

    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        (frame,) = frames
        values = [self._value(each).alias(each.output) for each in self.aggregates]
        made = frame.group_by(list(self.keys)).agg(values) if self.keys else frame.select(values or pl.len())
        return checked(made, self.aggregates)

    def _value(self, each: Aggregate) -> pl.Expr:
        if each.column is None:
            return pl.len().cast(pl.Int64)
        column = pl.col(each.column)
        if each.is_ordered:
            return getattr(column.sort_by(**sorting(self.order or ())), each.function)()
        return _AGGREGATES[each.function](column, each.long or each.parameter)

    def partial(self) -> tuple[Operation, Operation] | None:
        if any(each.function not in _MERGED for each in self.aggregates):
            return None
        before, after = [], []
        for each in self.aggregates:
            pieces = _partials(each)
            before += pieces
            after.append((each, tuple(piece.output for piece in pieces)))
        return replace(self, aggregates=tuple(before)), Merging(self.keys, self.kinds, tuple(after))


_AGGREGATES: dict[str, Callable[[pl.Expr, Any], pl.Expr]] = {
    "sum": lambda column, long: column.cast(pl.Int128).sum() if long else column.sum(),
    "mean": lambda column, _: column.mean(),
    "min": lambda column, _: column.min(),
    "max": lambda column, _: column.max(),
    "count": lambda column, _: column.count().cast(pl.Int64),
    "n_unique": lambda column, _: column.n_unique().cast(pl.Int64),
    "std": lambda column, ddof: column.std(ddof=ddof),
    "var": lambda column, ddof: column.var(ddof=ddof),
    "median": lambda column, _: column.median(),
    "quantile": lambda column, fraction: column.quantile(fraction, interpolation="linear"),
    "any": lambda column, _: column.any(ignore_nulls=True),
    "all": lambda column, _: column.all(ignore_nulls=True),
}


def checked(frame: pl.LazyFrame, aggregates: Sequence[Aggregate]) -> pl.LazyFrame:
    """Return sums that were made in 128 bits in 64, which hold them or it is an error."""
    long = [each.output for each in aggregates if each.long]
    return frame.with_columns(pl.col(long).cast(pl.Int64)) if long else frame


_MERGED = {each: each for each in ("sum", "min", "max", "any", "all")} | {"count": "sum", "len": "sum", "mean": ""}
"""By what aggregates of partitions are aggregated, where they can be."""


def _partials(each: Aggregate) -> list[Aggregate]:
    """Return the aggregates of a partition that make up one of all."""
    if each.function != "mean":
        return [each]
    return [
        Aggregate(f"{each.output}sum", "sum", each.column, pa.float64()),
        Aggregate(f"{each.output}count", "count", each.column, pa.int64()),
    ]


@dataclass(frozen=True, eq=False)
class Merging(KeyedOperation):
    """Makes one row of the rows of a key that the partitions have made."""

    parts: tuple[tuple[Aggregate, tuple[str, ...]], ...]

    label = "group_by"

    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        (frame,) = frames
        values = [self._merged(each, columns).alias(each.output) for each, columns in self.parts]
        made = frame.group_by(list(self.keys)).agg(values) if self.keys else frame.select(values or pl.len())
        return checked(made, [each for each, _ in self.parts])

    def _merged(self, each: Aggregate, columns: tuple[str, ...]) -> pl.Expr:
        if each.function == "mean":
            total, count = (pl.col(name).sum() for name in columns)
            return pl.when(count > 0).then(total / count)
        return _AGGREGATES[_MERGED[each.function]](pl.col(columns[0]), each.long)


@dataclass(frozen=True)
class GroupedDataset:
    """The rows of a dataset by a key, to be aggregated; see `Dataset.group_by`."""

    dataset: Dataset
    keys: tuple[str, ...]
    maintain_order: bool = True

    def agg(self, **aggregates: Any) -> Dataset:
        """Return one row for each key: its columns, and the aggregates by their names.

        Parameters
        ----------
        **aggregates : narwhals.Expr or str
            By the name of the column that each makes: an expression, ``nw.col("x").sum()``, or the name of a function,
            of the column that is called as the result. Functions are ``sum``, ``mean``, ``min``, ``max``, ``count``
            (of what is not null), ``len`` (of rows), ``n_unique`` (null is a value), ``std``, ``var``, ``median``,
            ``quantile`` (linear), ``first``, ``last`` (in the order of the rows), ``any`` and ``all``. What is inside
            one may be any expression on a row, and so what is around: ``(nw.col("a") * nw.col("b")).sum() / nw.len()``.

        Raises
        ------
        ConfigError
            What is given is no expression, or has a function that is not among these; there is none.
        SchemaError
            A column is not there, or not of a type that its function takes; a result is called as a key.

        Notes
        -----
        Types are the same on every engine: counts are int64; sums int64 of integers and booleans, float64 of floats,
        decimals of 38 digits of decimals; mean, median, quantile, std and var float64; min, max, first and last have
        the type of the values. Null is left out; a sum of nothing is 0, and other aggregates of nothing are null. A sum
        of integers beyond 64 bits is a DataValueError that names it.
        Sums of floats may differ between engines, and from run to run, in the last bits.
        """
        if not aggregates:
            raise ConfigError(
                "agg is given no aggregate",
                hint='Name what comes out: agg(total=nw.col("x").sum()). For distinct keys there is unique.',
                stage="group_by",
            )
        check_names(aggregates, "agg", stage="group_by")
        twice = next((name for name in aggregates if name in self.keys), None)
        if twice is not None:
            raise SchemaError(
                f"agg would make column {twice!r}, which is a key", hint="Choose another name.", column=twice,
                stage="group_by",
            )  # fmt: skip
        return as_dataset(self.dataset, self._relation(aggregates), "group_by")

    def _relation(self, aggregates: dict[str, Any]) -> Operated:
        rows = relation_of(self.dataset)
        parts = take_apart(aggregates, rows.schema, "group_by")
        if rows.order is None and any(each.is_ordered for each in parts.aggregates):
            raise no_order("group_by", "first and last go by it")
        narrow = select_beside(rows, self.keys, parts.inputs, parts.kinds, parts.reads, "group_by")
        fields = [rows.schema.field(name) for name in self.keys]
        kinds = tuple(field.type for field in fields)
        operation = Aggregating(self.keys, kinds, tuple(parts.aggregates), narrow.order)
        fields += [pa.field(each.output, each.kind) for each in parts.aggregates]
        order = tuple(SortKey(name) for name in self.keys) if self.maintain_order else None
        made = Operated(operation, (narrow,), pa.schema(fields), order)
        return finish(made, self.keys, parts, "group_by")
