"""Rolling windows: aggregates of the rows before each row, under its key, by number or by time."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import polars as pl
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.names import check_names, column_names
from penstock.core.selectors import resolve
from penstock.dataset.relations.folding import as_dataset, finish, no_order, relation_of, select_beside
from penstock.dataset.relations.grouping import checked
from penstock.dataset.relations.operation import KeyedOperation, polars_types
from penstock.dataset.relations.order import Order, columns_of, sorting
from penstock.dataset.relations.relation import Operated, Relation
from penstock.expressions.aggregates import Aggregate, Parts, take_apart

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

ROLLING = ("sum", "mean", "min", "max", "std", "var", "median", "count", "len")
Window = int | datetime.timedelta


@dataclass(frozen=True, eq=False)
class Rolling(KeyedOperation):
    """Adds aggregates of the rows that a window has, the row itself last.

    Parameters
    ----------
    window : int or timedelta
    order_by : tuple of str
        What rows of a key are in order by.
    aggregates : tuple of Aggregate
    order : tuple of SortKey
        That of the rows, by which those that agree in `order_by` go.
    """

    window: Window
    order_by: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    order: Order

    label = "rolling"

    def needs(self, wanted: frozenset[str]) -> tuple[frozenset[str], ...]:
        narrow = self.narrow(wanted)
        made = {each.output for each in self.aggregates}
        inputs = {each.column for each in narrow.aggregates if each.column is not None}
        return ((wanted - made) | inputs | {*self.keys, *self.order_by} | columns_of(self.order),)

    def narrow(self, wanted: frozenset[str]) -> Self:
        return replace(self, aggregates=tuple(each for each in self.aggregates if each.output in wanted))

    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        (frame,) = frames
        placed = pl.all_horizontal(pl.col(name).is_not_null() for name in (*self.keys, *self.order_by))
        keys = sorting(self.order)
        keys["by"] = [*map(pl.col, self.order_by), *keys["by"]]
        for name in ("descending", "nulls_last"):
            keys[name] = [False] * len(self.order_by) + keys[name]
        made = frame.filter(placed).sort(**keys).with_columns(self._value(each) for each in self.aggregates)
        types = polars_types([each.kind for each in self.aggregates])
        made = checked(made, self.aggregates)
        nothing = [pl.lit(None, kind).alias(each.output) for each, kind in zip(self.aggregates, types, strict=True)]
        return pl.concat([made, frame.filter(~placed).with_columns(nothing)], how="diagonal")

    def _value(self, each: Aggregate) -> pl.Expr:
        column = pl.col(self.order_by[0] if each.column is None else each.column)
        if each.column is None or each.function == "count":
            column = column.is_not_null().cast(pl.Int64)
        if each.long:
            column = column.cast(pl.Int128)
        function = "sum" if each.function in ("count", "len") else each.function
        options = {"ddof": each.parameter} if function in ("std", "var") else {}
        made = self._rolled(column, function)(min_samples=1, **options)
        made = made.over([*self.keys]) if self.keys else made
        (kind,) = polars_types([each.kind])
        return (made if each.long else made.cast(kind)).alias(each.output)

    def _rolled(self, column: pl.Expr, function: str) -> Callable[..., pl.Expr]:
        if isinstance(self.window, datetime.timedelta):
            return partial(getattr(column, f"rolling_{function}_by"), self.order_by[0], window_size=self.window)
        return partial(getattr(column, f"rolling_{function}"), window_size=self.window)


@dataclass(frozen=True)
class RollingDataset:
    """The rows of a dataset with the windows before them; see `Dataset.rolling`."""

    dataset: Dataset
    window: Window
    by: tuple[str, ...]
    order_by: tuple[str, ...]

    def agg(self, **aggregates: Any) -> Dataset:
        """Return all rows, with a column for each aggregate over the window of the row.

        Parameters
        ----------
        **aggregates : narwhals.Expr or str
            As those of `group_by`, of the functions ``sum``, ``mean``, ``min``, ``max``, ``std``, ``var``, ``median``,
            ``count`` (of what is not null) and ``len`` (of rows). Types are the same; a window with nothing but null
            has null, its ``sum`` too.

        Raises
        ------
        ConfigError, SchemaError
            As those of `group_by`; a column is there already.
        """
        rows = relation_of(self.dataset)
        check_names(aggregates, "rolling", stage="rolling")
        twice = next((name for name in aggregates if name in rows.schema.names), None)
        if twice is not None or not aggregates:
            raise ConfigError(
                f"rolling would make column {twice!r}, which is there already" if twice else "rolling has no aggregate",
                hint='Name new columns: agg(week=nw.col("x").mean()).',
                stage="rolling",
            )
        parts = take_apart(aggregates, rows.schema, "rolling")
        for each in parts.aggregates:
            if each.function not in ROLLING:
                raise ConfigError(
                    f"rolling is given {each.function}(), which has no window on all engines",
                    hint=f"Functions are: {', '.join(ROLLING)}.",
                    stage="rolling",
                )
        return as_dataset(self.dataset, self._relation(rows, parts), "rolling")

    def _relation(self, rows: Relation, parts: Parts) -> Operated:
        if rows.order is None:
            raise no_order("rolling", f"rows that agree in {', '.join(self.order_by)} are told apart by it")
        own = rows.schema.names
        made = select_beside(rows, own, parts.inputs, parts.kinds, parts.reads, "rolling")
        kinds = tuple(rows.schema.field(name).type for name in self.by)
        operation = Rolling(self.by, kinds, self.window, self.order_by, tuple(parts.aggregates), made.order or ())
        rolled = pa.schema([*rows.schema, *((each.output, each.kind) for each in parts.aggregates)])
        return finish(Operated(operation, (made,), rolled, made.order), own, parts, "rolling")


def rolling(dataset: Dataset, window: Window, by: Any, order_by: Any) -> RollingDataset:
    """Return the rows with the windows before them; see `Dataset.rolling`."""
    keys = column_names(by, "by of rolling", stage="rolling")
    by = resolve(keys, dataset.schema, "rolling") if keys else ()
    order_by = resolve(column_names(order_by, "order_by of rolling", stage="rolling"), dataset.schema, "rolling")
    if isinstance(window, datetime.timedelta):
        _check_time(dataset.schema, window, order_by)
    elif not isinstance(window, int) or isinstance(window, bool) or window < 1:
        raise ConfigError(
            f"window of rolling is {window!r}, expected a positive number of rows or a datetime.timedelta",
            stage="rolling",
        )
    for name in (*by, *order_by):
        if pa.types.is_nested(dataset.schema.field(name).type):
            raise SchemaError(
                f"column {name!r} is nested, and no key or order of rolling", column=name, stage="rolling"
            )
    return RollingDataset(dataset, window, by, order_by)


def _check_time(schema: pa.Schema, window: datetime.timedelta, order_by: tuple[str, ...]) -> None:
    kinds = [schema.field(name).type for name in order_by]
    if len(kinds) != 1 or not (pa.types.is_date32(kinds[0]) or pa.types.is_timestamp(kinds[0])):
        raise SchemaError(
            f"a window of time is over {', '.join(order_by)}, expected one column of dates or timestamps",
            hint="Cast it before, or give a number of rows.",
            column=order_by[0],
            stage="rolling",
        )
    if window <= datetime.timedelta(0):
        raise ConfigError(f"window of rolling is {window}, expected more than nothing", stage="rolling")
