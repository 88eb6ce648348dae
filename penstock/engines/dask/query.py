"""Queries on Dask DataFrame, on the workers of the engine's cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import dask
import dask.dataframe as dd
import narwhals as nw
import pyarrow as pa
from dask.dataframe.dask_expr._expr import Expr

from penstock.core.names import PARTITION
from penstock.dataset.relations.operation import Operation
from penstock.dataset.relations.order import SortKey
from penstock.engines.dask.operations import operate
from penstock.engines.dask.query_partition import InPolars, PlaceRows, Read, cuts, sample, sort, to_partition
from penstock.engines.querying import QueryEngine, with_windows
from penstock.frames import Kind, conform
from penstock.io.sinks.part_folder import PartFolder

if TYPE_CHECKING:
    from distributed import Client

    from penstock.dataset.dataset import Dataset
    from penstock.engines.staging import Staging


class DaskQueries(QueryEngine):
    """Reads datasets in tasks of the graph, a fragment a partition, and writes a file a partition.

    Parameters
    ----------
    client : distributed.Client
    kind : {"cpu", "gpu"}
    compute : callable
        Computes a Dask object on the cluster, given it and a label, and returns the result.
    """

    hint = "Dask itself has no windows in an order, and no sort of nulls: use engine.window and order_by."

    def __init__(self, client: Client, kind: Kind, compute: Callable[[Any, str], Any]) -> None:
        self._client, self._kind, self._compute = client, kind, compute

    @contextmanager
    def settings(self, datasets: Sequence[Dataset]) -> Iterator[None]:
        """Have what Dask computes ahead computed on the cluster, and rows shuffled without loss."""
        types = [kind for dataset in datasets for kind in dataset.schema.types]
        options: dict[str, Any] = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}
        if any(pa.types.is_nested(kind) or pa.types.is_decimal(kind) for kind in types):
            options["dataframe.shuffle.method"] = "tasks"  # peer to peer, lists fail and decimals become objects
        with dask.config.set(options), self._client.as_current(), _divisions_unlocked():
            yield

    def lazy(self, dataset: Dataset, staging: Staging, label: str) -> nw.LazyFrame:
        meta = to_partition(dataset.schema.empty_table(), self._kind)
        read = Read(dataset.scan(), dataset.schema)
        return _lazy(dd.from_map(read, list(dataset.fragments), meta=meta, enforce_metadata=False))

    def arrange(self, frame: nw.LazyFrame, order: Sequence[SortKey], label: str) -> nw.LazyFrame:
        """Sort by ranges of the first column; Dask's own way fails where a partition has nothing but null in it."""
        native, first = frame.to_native(), order[0]
        if native.npartitions > 1:
            native = self._client.persist(native)  # it is looked at, and then moved: what is before is done once
            sampled = self._compute(self._in_polars(native[[first.column]], sample), f"{label}: order")
            bounds = cuts(sampled, self._kind, native.npartitions)
            place = PlaceRows(first, bounds, self._kind)
            placed = native.map_partitions(place, meta=place(native._meta))
            native = placed.set_index(PARTITION, divisions=tuple(range(len(bounds) + 3)))
        return _lazy(self._in_polars(native, partial(sort, tuple(order))))

    def operate(self, operation: Operation, inputs: Sequence[nw.LazyFrame], label: str) -> nw.LazyFrame:
        """Bring together the rows that have to meet, and leave the operation to Polars."""
        return _lazy(operate(operation, [frame.to_native() for frame in inputs], self._kind))

    def cast(self, frame: nw.LazyFrame, schema: pa.Schema) -> nw.LazyFrame:
        """Cast in Polars: pandas' integers of 32 bits cannot be made of a column with nulls."""
        return _lazy(self._in_polars(frame.to_native()[schema.names], partial(conform, schema=schema), schema))

    def write(self, frame: nw.LazyFrame, folder: PartFolder, label: str) -> None:
        self._compute(to_parquet(frame.to_native(), folder), label)

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
        return _lazy(self._in_polars(gathered, window))

    def _in_polars(
        self, native: dd.DataFrame, function: Callable[[nw.DataFrame], nw.DataFrame], schema: pa.Schema | None = None
    ) -> dd.DataFrame:
        work = InPolars(function, self._kind, schema)
        return native.map_partitions(work, meta=work(native._meta))


def _lazy(native: dd.DataFrame) -> nw.LazyFrame:
    frame: nw.LazyFrame = nw.from_native(native)
    return frame


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
