"""Joins: rows of two relations side by side, where their keys are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import polars as pl
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError, check_one_of
from penstock.core.names import column_names, hidden_name
from penstock.core.schemas import require, widen
from penstock.dataset.relations.folding import as_dataset, relation_of
from penstock.dataset.relations.operation import Meeting, Operation, polars_types
from penstock.dataset.relations.order import Order, SortKey, hide, order_name
from penstock.dataset.relations.relation import Operated

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

Names = str | Sequence[str]
HOWS = ("inner", "left", "right", "full", "semi", "anti", "cross")
PRESENT = order_name(0)
"""The hidden column that is null in the rows of a full join that are only on the right."""


def key_name(place: int) -> str:
    """Return what a key of the right is called while it is joined."""
    return hidden_name("key", place)


@dataclass(frozen=True, eq=False)
class Join(Operation):
    """Puts rows side by side; the keys have the names of the left.

    Parameters
    ----------
    how : str
    left_on, right_on : tuple of str
    kinds : tuple of pyarrow.DataType
        The types in which keys are compared, and come out.
    left_columns : tuple of str
        All that a user sees of the left.
    right_columns : mapping of str to str
        What is taken of the right, by its name in the result.
    left_hidden, right_hidden : mapping of str to str
        The same for what orders the rows.
    null_equal : bool
    marks_left : bool
        Whether rows are marked that the left has.
    in_order : bool
        Whether rows are to come in the order of the left, then of the right; with ``"right"`` of the right first.
    """

    how: str
    left_on: tuple[str, ...]
    right_on: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]
    left_columns: tuple[str, ...]
    right_columns: Mapping[str, str]
    left_hidden: Mapping[str, str]
    right_hidden: Mapping[str, str]
    null_equal: bool
    marks_left: bool
    in_order: bool = False

    label = "join"

    @property
    def meetings(self) -> tuple[Meeting, ...]:  # type: ignore[override]
        return Meeting(self.left_on, self.kinds), Meeting(self.right_on, self.kinds)

    @property
    def takes_right_whole(self) -> bool:  # type: ignore[override]
        return self.how not in ("right", "full")

    @property
    def ordering_inputs(self) -> int:  # type: ignore[override]
        return 1 if self.how in ("semi", "anti") else 2

    def keeping_order(self) -> Self | None:
        return None if self.how in ("full", "cross") else replace(self, in_order=True)

    def needs(self, wanted: frozenset[str]) -> tuple[frozenset[str], ...]:
        left = {*self._left_kept(wanted)}
        left |= {source for name, source in self.left_hidden.items() if name in wanted}
        right = {*self._right_kept(wanted).values()} | {*self.right_on}
        right |= {source for name, source in self.right_hidden.items() if name in wanted}
        return frozenset(left), frozenset(right)

    def narrow(self, wanted: frozenset[str]) -> Self:
        return replace(
            self,
            left_columns=self._left_kept(wanted),
            right_columns=self._right_kept(wanted),
            left_hidden=_within(self.left_hidden, wanted),
            right_hidden=_within(self.right_hidden, wanted),
            marks_left=self.marks_left and PRESENT in wanted,
        )

    def _left_kept(self, wanted: frozenset[str]) -> tuple[str, ...]:
        kept = tuple(name for name in self.left_columns if name in wanted or name in self.left_on)
        return kept or self.left_columns[:1]  # a cross join has no key, and frames without a column have no rows

    def _right_kept(self, wanted: frozenset[str]) -> dict[str, str]:
        kept = _within(self.right_columns, wanted)
        return kept or ({} if self.right_on else dict([*self.right_columns.items()][:1]))

    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        left, right = (self._left(frames[0]), self._right(frames[1]))
        keys = [key_name(place) for place in range(len(self.left_on))]
        maintain_order: Any = "left_right" if self.in_order else None
        if self.how == "cross":
            return left.join(right, how="cross")
        if self.how == "right":
            back = right.join(
                left, left_on=keys, right_on=self.left_on, how="left", nulls_equal=self.null_equal,
                maintain_order=maintain_order,
            )  # fmt: skip
            return back.rename(dict(zip(keys, self.left_on, strict=True)))
        coalesce = True if self.how in ("left", "full", "inner") else None
        how: object = self.how
        return left.join(
            right, left_on=self.left_on, right_on=keys, how=how, nulls_equal=self.null_equal, coalesce=coalesce,  # type: ignore[arg-type]
            maintain_order=maintain_order,
        )  # fmt: skip

    def _left(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        casts = dict(zip(self.left_on, polars_types(self.kinds), strict=True))
        columns = [pl.col(name).cast(casts[name]) if name in casts else pl.col(name) for name in self.left_columns]
        hidden = [pl.col(source).alias(name) for name, source in self.left_hidden.items()]
        marks = [pl.lit(0, pl.Int64).alias(PRESENT)] if self.marks_left else []
        return frame.select(*columns, *hidden, *marks)

    def _right(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        kinds = polars_types(self.kinds)
        keys = [
            pl.col(name).cast(kind).alias(key_name(place))
            for place, (name, kind) in enumerate(zip(self.right_on, kinds, strict=True))
        ]
        taken = {**self.right_columns, **self.right_hidden}
        return frame.select(*keys, *(pl.col(source).alias(name) for name, source in taken.items()))


def _within(names: Mapping[str, str], wanted: frozenset[str]) -> dict[str, str]:
    return {name: source for name, source in names.items() if name in wanted}


class KeyNames(NamedTuple):
    """The columns of a key as a join is given them: those of both sides, or of each."""

    on: Names | None
    left_on: Names | None
    right_on: Names | None

    def sides(self) -> tuple[Names | None, Names | None]:
        """Return those of the left, and of the right."""
        return (self.left_on, self.right_on) if self.on is None else (self.on, self.on)


def joined(
    dataset: Dataset, other: Dataset, names: KeyNames, how: str, suffix: str, *, null_equal: bool, maintain_order: bool
) -> Dataset:
    """Return a join; see `Dataset.join`."""
    check_one_of("how of join", how, HOWS, stage="join")
    left_keys, right_keys = _keys(dataset.schema, other.schema, names, how)
    kinds = tuple(
        common_type(dataset.schema.field(left), other.schema.field(right))
        for left, right in zip(left_keys, right_keys, strict=True)
    )
    left, right = relation_of(dataset), relation_of(other)
    taken = {} if how in ("semi", "anti") else take_columns(left.schema, right.schema, right_keys, suffix)
    left_hidden, right_hidden, order = _order(how, left.order, right.order) if maintain_order else ({}, {}, None)
    columns, marks = tuple(left.schema.names), how == "full" and order is not None
    operation = Join(
        how, left_keys, right_keys, kinds, columns, taken, left_hidden, right_hidden, null_equal, marks_left=marks
    )
    schema = _schema(left.schema, right.schema, dict(zip(left_keys, kinds, strict=True)), taken)
    return as_dataset(dataset, Operated(operation, (left, right), schema, order), "join")


def _keys(left: pa.Schema, right: pa.Schema, names: KeyNames, how: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    given = [name for name, value in names._asdict().items() if value is not None]
    wanted = {(), ("on",), ("left_on", "right_on")} - ({()} if how != "cross" else {("on",), ("left_on", "right_on")})
    if tuple(given) not in wanted:
        raise ConfigError(
            f"join with how={how!r} is given {' and '.join(given) or 'no key'}",
            hint='Name the columns of the key: on="id", or left_on="id", right_on="customer"; a cross join takes none.',
            stage="join",
        )
    lefts, rights = (column_names(side or (), "keys of join", stage="join") for side in names.sides())
    if len(lefts) != len(rights) or len({*lefts}) != len(lefts) or (given and not lefts):
        raise ConfigError(
            f"join has {len(lefts)} key(s) on the left, {', '.join(lefts)}, and {len(rights)} on the right,"
            f" {', '.join(rights)}",
            hint="Name as many on both sides, each once.",
            stage="join",
        )
    return require(left, lefts, stage="join"), require(right, rights, stage="join")


def common_type(left: pa.Field, right: pa.Field, verb: str = "join") -> pa.DataType:
    """Return the type in which two keys are compared."""
    kind = widen(left.type, right.type)
    if kind is None or pa.types.is_nested(kind):
        raise SchemaError(
            f"{verb} compares column {left.name!r}, {left.type}, with {right.name!r}, {right.type}",
            hint="Cast one of them before, so that both have one type that is not nested.",
            column=left.name,
            stage=verb,
        )
    return kind


def take_columns(
    left: pa.Schema, right: pa.Schema, keys: Sequence[str], suffix: str, verb: str = "join"
) -> dict[str, str]:
    """Return what the result has of the right: its columns but the keys, by their new names."""
    taken: dict[str, str] = {}
    for name in (name for name in right.names if name not in keys):
        new = f"{name}{suffix}" if name in left.names else name
        if new in left.names or new in taken:
            raise ConfigError(
                f"{verb} would make column {new!r} twice",
                hint="Choose another suffix, or rename or leave out the column of the right before.",
                column=new,
                stage=verb,
            )
        taken[new] = name
    return taken


def _order(how: str, left: Order | None, right: Order | None) -> tuple[dict[str, str], dict[str, str], Order | None]:
    """Return the hidden columns of both sides, and the order by them: that of the left, then that of the right."""
    if how in ("semi", "anti"):
        right = ()
    if left is None or right is None:
        return {}, {}, None
    marks: Order = (SortKey(PRESENT, nulls_last=True),) if how == "full" else ()
    left_hidden, left_order = hide(left, len(marks))
    right_hidden, right_order = hide(right, len(marks) + len(left))
    if how == "right":
        return left_hidden, right_hidden, (*right_order, *left_order)
    return left_hidden, right_hidden, (*marks, *left_order, *right_order)


def _schema(left: pa.Schema, right: pa.Schema, keys: Mapping[str, pa.DataType], taken: Mapping[str, str]) -> pa.Schema:
    mine = [field.with_type(keys.get(field.name, field.type)) for field in left]
    return pa.schema([*mine, *(right.field(name).with_name(new) for new, name in taken.items())])
