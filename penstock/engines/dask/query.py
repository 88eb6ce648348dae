"""Queries on Dask DataFrame, on the workers of the engine's cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import dask
import dask.dataframe as dd
import narwhals as nw
import polars as pl
import pyarrow as pa
from dask.dataframe.dask_expr._expr import Expr

from penstock.dataset.dataset import Dataset
from penstock.dataset.relations.operation import Operation
from penstock.dataset.relations.order import SortKey
from penstock.dataset.tasks import put_parts
from penstock.engines.base import Engine
from penstock.engines.dask.frames import frame_of
from penstock.engines.dask.operations import Operations
from penstock.engines.dask.partitioned_rows import PartitionedRows, arrow, collect
from penstock.engines.dask.query_partition import InPolars, from_partition
from penstock.engines.dask.tasks import Tasks
from penstock.engines.local.results import cast, stays_as_it_is
from penstock.engines.querying import QueryEngine, as_lazy, with_windows
from penstock.engines.staging import Staging
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
            table: pa.Table | None = self._operations.tasks.result(future)
            return table
        return super().run(frame, staging, label)

    def write(self, frame: PartitionedRows | nw.LazyFrame, folder: PartFolder, label: str) -> None:
        tasks = self._operations.tasks
        if not isinstance(frame, PartitionedRows):
            tasks.complete(tasks.compute(to_parquet(frame.to_native(), folder)))
            return
        for future in tasks.start(frame.tasks(partial(_write_part, folder), label)):
            tasks.complete(future)

    def window(
        self,
        frame: nw.LazyFrame,
        columns: Mapping[str, nw.Expr],
        partition_by: Sequence[str],
        order_by: Sequence[str],
    ) -> nw.LazyFrame:
        """Bring the rows of each key together, and leave the window to Polars: Dask has none with an order."""
        native = frame.to_native()
        gathered = native.shuffle(on=list(partition_by)) if partition_by else native.repartition(npartitions=1)
        window = partial(with_windows, columns=dict(columns), partition_by=partition_by, order_by=order_by)
        work = InPolars(window, self._engine.kind)
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
    return frame.to_parquet(
        folder.location, write_index=False, compute=False, name_function=_part, storage_options=options
    )


def _part(index: int) -> str:
    return f"part-{index:06d}.parquet"


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
