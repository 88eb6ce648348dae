"""As-of joins: to each row that of another dataset which is nearest in time, or in another order."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import polars as pl
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError, check_one_of
from penstock.core.names import column_names, hidden_name
from penstock.core.schemas import require
from penstock.dataset.relations.folding import as_dataset, no_order, relation_of
from penstock.dataset.relations.join import KeyNames, Names, common_type, key_name, take_columns
from penstock.dataset.relations.operation import Meeting, Operation, polars_types
from penstock.dataset.relations.order import Order, columns_of, sorting
from penstock.dataset.relations.relation import Operated

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

STRATEGIES = ("backward", "forward", "nearest")
_ON = hidden_name("on")


@dataclass(frozen=True, eq=False)
class AsOf(Operation):
    """Puts beside each row of the left one of the right with the same key, whose place is the nearest.

    Parameters
    ----------
    left_on, right_on : str
        The columns of the place.
    by : tuple of str
        The key, on both sides.
    kinds : tuple of pyarrow.DataType
        The types of key and place, in which they are compared.
    taken : mapping of str to str
        What comes of the right, by its name in the result.
    strategy : {"backward", "forward", "nearest"}
    tolerance : number or timedelta, optional
    order : tuple of SortKey
        That of the right, by which rows at the same place are told apart.
    """

    left_on: str
    right_on: str
    by: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]
    taken: Mapping[str, str]
    strategy: Any
    tolerance: Any
    order: Order
    takes_right_whole = True

    label = "join_asof"

    @property
    def meetings(self) -> tuple[Meeting, ...]:  # type: ignore[override]
        meeting = Meeting(self.by, self.kinds[:-1])
        return meeting, meeting

    def needs(self, wanted: frozenset[str]) -> tuple[frozenset[str], ...]:
        right = {source for name, source in self.taken.items() if name in wanted}
        left = (wanted - self.taken.keys()) | {self.left_on, *self.by}
        return left, frozenset(right) | {self.right_on, *self.by} | columns_of(self.order)

    def narrow(self, wanted: frozenset[str]) -> Self:
        return replace(self, taken={name: source for name, source in self.taken.items() if name in wanted})

    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        left, right = frames
        keys = [key_name(place) for place in range(len(self.by))]
        compared = zip([*keys, _ON], [*self.by, self.left_on], polars_types(self.kinds), strict=True)
        rows = left.with_columns(pl.col(name).cast(kind).alias(key) for key, name, kind in compared)
        placed = pl.all_horizontal(pl.col(key).is_not_null() for key in [*keys, _ON])
        found = rows.filter(placed).sort(_ON).join_asof(
            self._right(right, keys), on=_ON, by=keys or None, strategy=self.strategy, tolerance=self.tolerance,
            check_sortedness=False,
        )  # fmt: skip
        return pl.concat([found, rows.filter(~placed)], how="diagonal").drop([*keys, _ON])

    def _right(self, frame: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
        compared = zip([*keys, _ON], [*self.by, self.right_on], polars_types(self.kinds), strict=True)
        columns = [pl.col(name).cast(kind).alias(key) for key, name, kind in compared]
        taken = [pl.col(source).alias(name) for name, source in self.taken.items()]
        ordered = frame.sort(**sorting(self.order)).select(*columns, *taken).drop_nulls([*keys, _ON])
        return ordered.sort(_ON, maintain_order=True)


def joined_asof(
    dataset: Dataset, other: Dataset, names: KeyNames, by: Names, strategy: str, tolerance: Any, suffix: str
) -> Dataset:
    """Return an as-of join; see `Dataset.join_asof`."""
    check_one_of("strategy of join_asof", strategy, STRATEGIES, stage="join_asof")
    left, right = relation_of(dataset), relation_of(other)
    mine, its = _places(names)
    keys = require(left.schema, column_names(by, "by of join_asof", stage="join_asof"), stage="join_asof")
    require(left.schema, [mine], stage="join_asof")
    require(right.schema, [*keys, its], stage="join_asof")
    pairs = [*((key, key) for key in keys), (mine, its)]
    kinds = tuple(common_type(left.schema.field(a), right.schema.field(b), "join_asof") for a, b in pairs)
    _check_place(mine, kinds[-1], tolerance)
    if right.order is None:
        raise no_order("join_asof", "rows of the other dataset at the same place are told apart by it")
    taken = take_columns(left.schema, right.schema, keys, suffix, "join_asof")
    operation = AsOf(mine, its, keys, kinds, taken, strategy, tolerance, right.order)
    added = [pa.field(name, right.schema.field(source).type) for name, source in taken.items()]
    return as_dataset(
        dataset, Operated(operation, (left, right), pa.schema([*left.schema, *added]), left.order), "join_asof"
    )


def _places(names: KeyNames) -> tuple[str, str]:
    left, right = names.sides()
    twice = names.on is not None and (names.left_on or names.right_on)
    if not isinstance(left, str) or not isinstance(right, str) or twice:
        raise ConfigError(
            "join_asof is not given one column of the place on each side",
            hint='Write on="time", or left_on="time", right_on="valid_from".',
            stage="join_asof",
        )
    return left, right


def _check_place(name: str, kind: pa.DataType, tolerance: Any) -> None:
    temporal = pa.types.is_date32(kind) or pa.types.is_timestamp(kind)
    if not (temporal or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise SchemaError(
            f"column {name!r} is {kind}, which join_asof takes for no place in an order of distances",
            hint="It takes dates, timestamps and numbers.",
            column=name,
            stage="join_asof",
        )
    is_time = isinstance(tolerance, datetime.timedelta)
    is_number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if tolerance is not None and not (is_time if temporal else is_number):
        raise ConfigError(
            f"tolerance of join_asof is {tolerance!r}, and the place, {name!r}, is {kind}",
            hint="Give a datetime.timedelta for dates and timestamps, a number for numbers.",
            stage="join_asof",
        )
