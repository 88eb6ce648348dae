"""Queries on Dask DataFrame, on the workers of the engine's cluster.

Verbs bring rows together that have to meet, the fewer the less it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dask
import dask.dataframe as dd
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
from dask.dataframe.dask_expr._expr import Expr

from penstock.core.names import PARTITION
from penstock.dataset.dataset import Dataset
from penstock.dataset.relations.operation import Meeting, Operation
from penstock.dataset.relations.order import Order, SortKey, sorting
from penstock.dataset.tasks import put_parts
from penstock.engines.base import Engine
from penstock.engines.dask.frames import frame_of, from_partition, in_polars, to_partition
from penstock.engines.dask.partitioned_rows import PartitionedRows, arrow, collect, combine
from penstock.engines.dask.tasks import Tasks
from penstock.engines.local.results import cast, stays_as_it_is
from penstock.engines.querying import QueryEngine, as_lazy, with_windows
from penstock.engines.staging import Staging
from penstock.frames import Kind
from penstock.io.sinks.parquet import ParquetWriter
from penstock.io.sinks.part_folder import PartFolder

TABLE_BYTES = 8 * 2**20
"""Memory that the rows of verbs take at most that come to the process of the engine; more are files."""


class DaskQueries(QueryEngine):
    """Gives functions Dask DataFrames, a fragment a partition, and verbs rows in Polars; writes a file a partition.

    Parameters
    ----------
    engine : DaskEngine
    tasks : callable
        Opens the tasks of a query, given its label.
    """

    hint = "Dask itself has no windows in an order, and no sort of nulls: use engine.window and order_by."
    _operations: Operations

    def __init__(self, engine: Engine, tasks: Callable[[str], Tasks]) -> None:
        super().__init__()
        self._engine, self._tasks = engine, tasks

    @contextmanager
    def settings(self, datasets: Sequence[Dataset], label: str) -> Iterator[None]:
        """Have what Dask computes ahead computed on the cluster, and rows shuffled without loss."""
        types = [kind for dataset in datasets for kind in dataset.schema.types]
        options: dict[str, Any] = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
        if any(pa.types.is_nested(kind) or pa.types.is_decimal(kind) for kind in types):
            options["dataframe.shuffle.method"] = "tasks"  # peer to peer, lists fail and decimals become objects
        with dask.config.set(options), self._tasks(label) as tasks, tasks.client.as_current(), _divisions_unlocked():
            self._operations = Operations(tasks, self._engine)
            yield

    def lazy(self, dataset: Dataset, staging: Staging, label: str) -> nw.LazyFrame:
        return as_lazy(frame_of(dataset))

    def read(self, dataset: Dataset, staging: Staging, label: str) -> PartitionedRows:
        return PartitionedRows.read(dataset)

    def operate(self, operation: Operation, inputs: Sequence[PartitionedRows], label: str) -> PartitionedRows:
        """Bring together the rows that have to meet, and leave the operation to Polars."""
        return self._operations.operate(operation, inputs)

    def shared(self, frame: PartitionedRows) -> PartitionedRows:
        """Have the workers hold its rows until the query has run."""
        return self._operations.held(frame)

    def arrange(self, frame: PartitionedRows | nw.LazyFrame, order: Sequence[SortKey], label: str) -> PartitionedRows:
        return self._operations.sort(self._rows(frame), tuple(order))

    def cast(self, frame: PartitionedRows | nw.LazyFrame, schema: pa.Schema) -> PartitionedRows:
        """Cast in Polars: pandas' integers of 32 bits cannot be made of a column with nulls."""
        return self._rows(frame).then(partial(cast, schema))

    def _rows(self, frame: PartitionedRows | nw.LazyFrame) -> PartitionedRows:
        """Return the rows of what a function gives; operations give them already."""
        if isinstance(frame, PartitionedRows):
            return frame
        native = frame.to_native()
        empty: pl.DataFrame = nw.to_native(from_partition(native._meta, self._engine.kind))
        return PartitionedRows.of_partitions(native, empty.lazy(), self._engine.kind)

    def run(self, frame: PartitionedRows | nw.LazyFrame, staging: Staging, label: str) -> pa.Table | None:
        """Run the query; rows that are few, in one partition, come here."""
        if isinstance(frame, PartitionedRows) and len(frame.partitions) == 1:
            (future,) = self._operations.tasks.start(
                frame.tasks(partial(_table_or_part, staging.rows, TABLE_BYTES), label)
            )
            return self._operations.tasks.result(future)
        return super().run(frame, staging, label)

    def write(self, frame: PartitionedRows | nw.LazyFrame, folder: PartFolder, label: str) -> None:
        tasks = self._operations.tasks
        if not isinstance(frame, PartitionedRows):
            tasks.complete(tasks.compute(to_parquet(frame.to_native(), folder)))
            return
        for future in tasks.start(frame.tasks(partial(_write_part, folder), label)):
            tasks.complete(future)

    def window(
        self, frame: nw.LazyFrame, columns: Mapping[str, nw.Expr], partition_by: Sequence[str], order_by: Sequence[str]
    ) -> nw.LazyFrame:
        """Bring the rows of each key together, and leave the window to Polars: Dask has none with an order."""
        native = frame.to_native()
        gathered = native.shuffle(on=list(partition_by)) if partition_by else native.repartition(npartitions=1)
        window = partial(with_windows, columns=dict(columns), partition_by=partition_by, order_by=order_by)
        work = partial(in_polars, window, self._engine.kind)
        return as_lazy(gathered.map_partitions(work, meta=work(gathered._meta)))


def _table_or_part(folder: PartFolder, most: int, frame: pl.LazyFrame, place: int) -> pa.Table | None:
    """Return rows that take no more than `most` bytes, and write others."""
    rows = collect(frame)
    if rows.estimated_size() <= most and stays_as_it_is(rows.schema):
        return arrow(rows)
    _write_part(folder, rows.lazy(), place)
    return None


def _write_part(folder: PartFolder, frame: pl.LazyFrame, place: int) -> None:
    rows = nw.from_native(collect(frame), eager_only=True)
    put_parts(ParquetWriter(None), [(f"part-{place:06d}", rows)], folder)


def to_parquet(frame: dd.DataFrame, folder: PartFolder) -> Any:
    """Return the writing of a Dask DataFrame without its index; the names of the files are in the order of the rows."""
    options = dict(folder.storage_options)
    name = "part-{:06d}.parquet".format
    return frame.to_parquet(
        folder.location, write_index=False, compute=False, name_function=name, storage_options=options
    )


@contextmanager
def _divisions_unlocked() -> Iterator[None]:
    """Let a scheduler in this process look at divisions while Dask computes some: a sort would wait for ever.

    Python 3.11 holds one lock for a cached property of all objects while it is computed; later ones have no such lock.
    """
    divisions: Any = vars(Expr)["divisions"]
    if not hasattr(divisions, "lock"):
        yield
        return
    lock, divisions.lock = divisions.lock, nullcontext()
    try:
        yield
    finally:
        divisions.lock = lock


WHOLE_BYTES = 32 * 2**20
"""Bytes of rows, by what the workers tell of their tables, that one task takes at most where it need not take them."""
_FIRST = 4
"""Of so many partitions for each task at a time the size is measured before the others are made."""
_HELD = 4
"""What is held takes at most such a part of the memory of all workers."""
_SAMPLED = 256

Places = Callable[[pl.DataFrame], np.ndarray]


@dataclass
class Operations:
    """Does operations to rows on the workers; what rows take is measured before they are moved.

    Parameters
    ----------
    tasks : Tasks
        Runs what is computed ahead.
    engine : Engine
        Whose workers they are.
    """

    tasks: Tasks
    engine: Engine

    def operate(self, operation: Operation, inputs: Sequence[PartitionedRows]) -> PartitionedRows:
        """Return what an operation makes of rows."""
        if (parts := operation.partial()) is not None:
            before, operation = parts
            inputs = [combine(before, inputs)]
        return combine(operation, self._gathered(operation, inputs))

    def sort(self, rows: PartitionedRows, order: Order) -> PartitionedRows:
        """Return the rows in an order: in one partition, or in partitions by ranges of the first column."""
        if len(rows.partitions) > 1:
            rows = self.held(rows)
            size = self.tasks.size(rows.tables(self._label))
            rows = rows.whole(self._label) if size <= WHOLE_BYTES else self._in_ranges(rows, order[0])
        return rows.then(partial(_sort, order))

    def held(self, rows: PartitionedRows) -> PartitionedRows:
        """Return the rows as tables that workers compute from now on, and hold."""
        return PartitionedRows.of_tables(self.tasks.start(rows.tables(self._label)), rows.empty)

    @property
    def _label(self) -> str:
        return self.tasks.label

    def _gathered(self, operation: Operation, inputs: Sequence[PartitionedRows]) -> list[PartitionedRows]:
        """Return the inputs with rows that have to meet in partitions of the same number."""
        meetings = operation.meetings
        if meetings is None or all(len(each.partitions) == 1 for each in inputs):
            return list(inputs)
        is_keyed = all(each.columns for each in meetings)
        first = len(inputs) - 1 if operation.takes_right_whole else 0
        measured = [self._measured(each) if is_keyed else each for each in inputs[first:]]
        if not is_keyed or all(map(_is_small, measured)):
            return [*inputs[:first], *(self._whole(each, alone=first == 0) for each in measured)]
        moved = [*inputs[:first], *measured]
        count = max(len(each.partitions) for each in moved)
        pairs = zip(moved, meetings, strict=True)
        return [self._moved(each, partial(_places_of_keys, meeting), count) for each, meeting in pairs]

    def _measured(self, rows: PartitionedRows) -> PartitionedRows:
        """Return the rows with what they take, about, by tables that workers hold.

        Those are all where the memory of all workers holds them easily, and else the first ones.
        """
        if len(rows.partitions) == 1:
            return rows
        tables = rows.tables(self._label)
        held = self.tasks.start(tables[: None if rows.is_shuffled else _FIRST * self.engine.slots])
        size = self.tasks.size(held)
        if len(held) < len(tables):
            size = size * len(tables) // len(held)
            if size * _HELD <= self.engine.slots * self.engine.task_memory:
                held += self.tasks.start(tables[len(held) :])
                size = self.tasks.size(held)
        return replace(PartitionedRows.of_tables([*held, *tables[len(held) :]], rows.empty), size=size)

    def _whole(self, rows: PartitionedRows, *, alone: bool) -> PartitionedRows:
        """Return the rows in one partition; held by the workers where it is put to each of other rows."""
        whole = rows.whole(self._label)
        return whole if alone else self.held(whole)

    def _moved(self, rows: PartitionedRows, places: Places, count: int, *, in_order: bool = False) -> PartitionedRows:
        """Return the rows in so many partitions: those of a place in one, or in that of its number."""
        place = partial(_placed, places, self.engine.kind)
        frame = dd.from_delayed(rows.tasks(place, self._label), meta=place(rows.empty, 0), verify_meta=False)
        if in_order:
            moved = frame.set_index(PARTITION, divisions=tuple(range(count + 1)))
        else:
            moved = frame.shuffle(on=PARTITION, npartitions=count)
        return PartitionedRows.of_partitions(moved, rows.empty, self.engine.kind)

    def _in_ranges(self, rows: PartitionedRows, key: SortKey) -> PartitionedRows:
        """Return the rows in partitions by ranges of a column; Dask's own way fails where a partition is all null."""
        sampled = self.tasks.start(rows.tasks(partial(_sample, key.column), self._label))
        cuts = _cuts([self.tasks.result(each) for each in sampled], len(rows.partitions))
        return self._moved(rows, partial(_places_in_order, key, cuts), len(cuts) + 3, in_order=True)


def _is_small(rows: PartitionedRows) -> bool:
    return len(rows.partitions) == 1 or (rows.size is not None and rows.size <= WHOLE_BYTES)


def _placed(places: Places, kind: Kind, frame: pl.LazyFrame, _: int) -> Any:
    """Return rows as a partition of Dask's, with the column ``__partition__`` (int64)."""
    rows = collect(frame)
    return to_partition(arrow(rows.with_columns(pl.Series(PARTITION, places(rows), pl.Int64))), kind)


def _places_of_keys(meeting: Meeting, rows: pl.DataFrame) -> np.ndarray:
    """Return a number for each row, the same for equal values of a key, null and minus zero included."""
    return rows.select(meeting.expressions()).hash_rows(seed=0).to_numpy().view(np.int64)


def _places_in_order(key: SortKey, cuts: pl.Series, rows: pl.DataFrame) -> np.ndarray:
    """Return the partition of each row when rows are sorted: that of its first column; null has one by itself."""
    values, last = rows[key.column], len(cuts)
    places = cuts.search_sorted(values, side="right").to_numpy()
    places = (last - places if key.descending else places) + 1
    return np.where(values.is_null().to_numpy(), last + 2 if key.nulls_last else 0, places).astype(np.int64)


def _sample(column: str, frame: pl.LazyFrame, _: int) -> pl.Series:
    """Return at most 256 values at even distances from each other in their order, null left out."""
    values = collect(frame.select(column).drop_nulls().sort(column)).to_series()
    return values.gather_every(max(1, -(-len(values) // _SAMPLED)))


def _cuts(samples: Sequence[pl.Series], partitions: int) -> pl.Series:
    """Return the values between which the rows of so many partitions lie, from samples of all partitions."""
    values = pl.concat(samples).sort()
    places = [len(values) * place // partitions for place in range(1, partitions)] if len(values) else []
    return values.gather(places).unique(maintain_order=True)


def _sort(order: Order, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows in an order; those that agree in all columns of it stay as they are."""
    return frame.sort(**sorting(order), maintain_order=True)
