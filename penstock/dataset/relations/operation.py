"""What is done to relations, as Polars does it: to all rows, or to those of a partition that have to meet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import Self

import narwhals as nw
import polars as pl
import pyarrow as pa

from penstock.expressions.trees import columns_in, is_column


@dataclass(frozen=True)
class Meeting:
    """The columns of an input, in the types in which they are compared, whose equal values have to meet."""

    columns: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]

    def expressions(self) -> list[pl.Expr]:
        """Return the columns in their types, with one zero."""
        kinds = zip(self.columns, polars_types(self.kinds), strict=True)
        columns = [(pl.col(name).cast(kind), kind) for name, kind in kinds]
        return [column + 0.0 if kind.is_float() else column for column, kind in columns]


class Operation(ABC):
    """One operation on frames; it travels to workers, and takes what columns of its own it is given.

    Attributes
    ----------
    meetings : tuple of Meeting, optional
        For each input. None where it is done row by row; of no column where all rows have to meet.
    takes_right_whole : bool
        Whether it can be done to each partition of the first input with all rows of the other.
    ordering_inputs : int
        Of how many inputs, from the first, the order of the rows comes.
    """

    meetings: tuple[Meeting, ...] | None = None
    takes_right_whole: bool = False
    ordering_inputs: int = 1

    @property
    @abstractmethod
    def label(self) -> str:
        """What errors and plans call it."""

    def needs(self, wanted: frozenset[str]) -> tuple[frozenset[str], ...]:
        """Return the columns of each input that it takes to make `wanted`: these, unless it reads others."""
        return (wanted,)

    def narrow(self, wanted: frozenset[str]) -> Self:
        """Return the operation that makes no more than `wanted`, where that is less work."""
        return self

    @abstractmethod
    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        """Return what comes out, with all columns that are wanted, and perhaps more."""

    def keeping_order(self) -> Self | None:
        """Return the operation that leaves rows in the order of its relation, where those of its inputs are in theirs.

        None where that takes a sort. It is asked for where all rows are in one frame.
        """
        return None

    def partial(self) -> tuple[Operation, Operation] | None:
        """Return what can be done to each partition before, and to what that gives once rows meet; None if nothing."""
        return None


@dataclass(frozen=True, eq=False)
class KeyedOperation(Operation):
    """An operation on the rows of each key, which have to meet.

    Parameters
    ----------
    keys : tuple of str
    kinds : tuple of pyarrow.DataType
        Of the keys.
    """

    keys: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]

    @property
    def meetings(self) -> tuple[Meeting, ...]:  # type: ignore[override]
        return (Meeting(self.keys, self.kinds),)


@dataclass(frozen=True, eq=False)
class Project(Operation):
    """Makes the columns that are named, each by an expression on a row, and reads no others."""

    columns: Mapping[str, nw.Expr]
    reads: Mapping[str, frozenset[str]]
    label: str = "select"

    def needs(self, wanted: frozenset[str]) -> tuple[frozenset[str], ...]:
        return (reduce(frozenset.union, (self.reads[name] for name in self._kept(wanted)), frozenset()),)

    def narrow(self, wanted: frozenset[str]) -> Self:
        return replace(self, columns={name: self.columns[name] for name in self._kept(wanted)})

    def _kept(self, wanted: frozenset[str]) -> list[str]:
        """Return the columns to make, of which one reads another where that can be: constants alone are one row."""
        names = [name for name in self.columns if name in wanted]
        if any(self.reads.get(name) for name in names):
            return names
        return [*names, *[name for name in self.columns if self.reads.get(name) and name not in names][:1]]

    def keeping_order(self) -> Self:
        return self

    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        (frame,) = frames
        made = {name: each for name, each in self.columns.items() if not is_column(each)}
        hidden = {name: f"__made_{place}__" for place, name in enumerate(made)}
        if made:
            frame = (
                nw.from_native(frame).with_columns(**{hidden[name]: each for name, each in made.items()}).to_native()
            )
        # Columns as they are stay out of Narwhals, which takes longer to look at them than Polars to plan the query.
        names = {name: hidden.get(name) or columns_in(each)[0] for name, each in self.columns.items()}
        return frame.select(pl.col(source).alias(name) for name, source in names.items())


@dataclass(frozen=True, eq=False)
class Where(Operation):
    """Keeps rows for which an expression on a row is true."""

    predicate: nw.Expr
    reads: frozenset[str]

    label = "filter"

    def needs(self, wanted: frozenset[str]) -> tuple[frozenset[str], ...]:
        return (wanted | self.reads,)

    def keeping_order(self) -> Self:
        return self

    def __call__(self, *frames: pl.LazyFrame) -> pl.LazyFrame:
        (frame,) = frames
        return nw.from_native(frame).filter(self.predicate).to_native()


def polars_types(kinds: Sequence[pa.DataType]) -> list[pl.DataType]:
    """Return Polars' types for those of Arrow."""
    return [_polars_type(kind) for kind in kinds]


@cache
def _polars_type(kind: pa.DataType) -> pl.DataType:
    return pl.DataFrame(pa.schema([("_", kind)]).empty_table()).schema["_"]
