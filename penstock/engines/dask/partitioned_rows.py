"""Rows of a query on Dask: what is done to a partition is put together until rows move, and is one task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any
from uuid import uuid4

import dask.dataframe as dd
import narwhals as nw
import polars as pl
import pyarrow as pa
from dask.delayed import Delayed, delayed

from penstock import frames
from penstock.core.names import PARTITION
from penstock.dataset.dataset import Dataset
from penstock.dataset.task_errors import translate_errors
from penstock.dataset.tasks import CollectTask
from penstock.engines.dask.frames import from_partition
from penstock.frames import Kind
from penstock.io.fragments import Fragment

Function = Callable[..., pl.LazyFrame]


@dataclass(frozen=True, eq=False)
class Work:
    """Makes the rows of a partition.

    Parameters
    ----------
    function : callable
        Takes a lazy frame of each input, or where there is no input the arguments; returns a lazy frame.
    inputs : tuple of Work
    arity : int
        How many arguments it takes: those of its inputs, one after the other.
    """

    function: Function
    inputs: tuple[Work, ...] = ()
    arity: int = 1

    def __call__(self, *arguments: Any) -> pl.LazyFrame:
        """Return the rows, which nothing has made yet."""
        given = iter(arguments)
        made = [each(*islice(given, each.arity)) for each in self.inputs]
        return self.function(*(made or arguments))


def _frame(*tables: pa.Table) -> pl.LazyFrame:
    return pl.concat([pl.DataFrame(table) for table in tables]).lazy()


_TABLE = Work(_frame)


@dataclass(frozen=True, eq=False)
class PartitionedRows:
    """Rows in partitions.

    Parameters
    ----------
    work : Work
        Makes the rows of each partition.
    partitions : sequence of tuple
        Its arguments for each: fragments, or what Dask computes before.
    empty : polars.LazyFrame
        A frame of the same columns that has no rows.
    is_shuffled : bool
        Whether partitions may depend on a shuffle, so that some cannot be computed before the others.
    size : int, optional
        Bytes that the rows take, about, where they have been measured.
    """

    work: Work
    partitions: Sequence[tuple[Any, ...]]
    empty: pl.LazyFrame
    is_shuffled: bool = False
    size: int | None = None

    @classmethod
    def read(cls, dataset: Dataset) -> PartitionedRows:
        """Return the rows of a dataset, a fragment a partition."""
        none = dataset.schema.empty_table()
        if not dataset.fragments:
            return cls(Work(partial(_frame, none), arity=0), [()], _frame(none))
        read = Work(partial(_read, CollectTask(dataset.scan(), dataset.schema)))
        return cls(read, [(fragment,) for fragment in dataset.fragments], _frame(none))

    @classmethod
    def of_tables(cls, tables: Iterable[Any], empty: pl.LazyFrame) -> PartitionedRows:
        """Return the rows of tables, which Dask has computed or computes before."""
        return cls(_TABLE, [(table,) for table in tables], empty)

    @classmethod
    def of_partitions(cls, frame: dd.DataFrame, empty: pl.LazyFrame, kind: Kind) -> PartitionedRows:
        """Return the rows of a Dask DataFrame."""
        work = Work(partial(_frame_of_partition, kind))
        return cls(work, [(each,) for each in frame.to_delayed()], empty, is_shuffled=True)

    def then(self, function: Function) -> PartitionedRows:
        """Return what a function makes of each partition."""
        return combine(function, [self])

    def tables(self, label: str) -> list[Any]:
        """Return an Arrow table of each partition, which Dask computes or has computed."""
        if self.work is _TABLE:
            return [table for (table,) in self.partitions]
        return self.tasks(table, label)

    def tasks(self, function: Callable[..., Any], label: str) -> list[Delayed]:
        """Return what a function makes of the rows of each partition, a lazy frame, and of its number: a task each."""
        name, run = f"{label}-{uuid4().hex}", delayed(partial(_run, function, self.work), pure=False, traverse=False)
        return [run(place, *each, dask_key_name=(name, place)) for place, each in enumerate(self.partitions)]

    def whole(self, label: str) -> PartitionedRows:
        """Return the rows in one partition, in their order."""
        if len(self.partitions) == 1:
            return self
        tables = self.tables(label)
        return replace(self, work=Work(_frame, arity=len(tables)), partitions=[tuple(tables)])


def combine(function: Function, inputs: Sequence[PartitionedRows]) -> PartitionedRows:
    """Return what a function makes of the partitions of the same number; one that is alone is put to each."""
    count = max(len(each.partitions) for each in inputs)
    arguments = [[*each.partitions] * (count if len(each.partitions) == 1 else 1) for each in inputs]
    return PartitionedRows(
        Work(function, tuple(each.work for each in inputs), sum(each.work.arity for each in inputs)),
        [sum(each, ()) for each in zip(*arguments, strict=True)],
        function(*(each.empty for each in inputs)),
        any(each.is_shuffled for each in inputs),
    )


def table(frame: pl.LazyFrame, place: int) -> pa.Table:
    """Return the rows of a partition as what Dask can measure and send."""
    return arrow(collect(frame))


def collect(frame: pl.LazyFrame) -> pl.DataFrame:
    """Return the rows of a partition."""
    return frame.collect(engine="in-memory")


def arrow(rows: pl.DataFrame) -> pa.Table:
    """Return rows as Arrow, in canonical types."""
    return frames.to_arrow(nw.from_native(rows, eager_only=True))


@translate_errors
def _run(function: Callable[..., Any], work: Work, place: int, *arguments: Any) -> Any:
    return function(work(*arguments), place)


def _read(collect: CollectTask, fragment: Fragment) -> pl.LazyFrame:
    return _frame(collect(fragment))


def _frame_of_partition(kind: Kind, partition: Any) -> pl.LazyFrame:
    rows: pl.DataFrame = nw.to_native(from_partition(partition, kind))
    return rows.lazy().drop(PARTITION, strict=False)
