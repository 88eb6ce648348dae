"""Datasets as Dask DataFrames, and steps done to the rows of Dask DataFrames: lazily, and without a file.

A partition is pandas with Arrow's types on a CPU, cuDF on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dask.dataframe as dd
import narwhals as nw
import pandas as pd
import pyarrow as pa

from penstock import devices, frames
from penstock.core.schemas import canonical
from penstock.dataset.batches import BatchTask, batch_task
from penstock.dataset.dataset import Dataset
from penstock.dataset.task_errors import translate_errors
from penstock.dataset.tasks import CollectTask, ReadTask
from penstock.engines.local.engine import LocalEngine
from penstock.frames import Kind, cudf
from penstock.io.fragments import Fragment

_LABELS = 2**40


def to_partition(table: pa.Table, kind: Kind) -> Any:
    """Return a table as a partition; on a CPU integers with nulls stay integers, and every type of Arrow has its like.

    Examples
    --------
    >>> to_partition(pa.table({"n": [1, None], "s": ["a", None]}), "cpu").dtypes.astype(str).tolist()
    ['int64[pyarrow]', 'string']
    """
    return cudf.from_arrow(table) if kind == "gpu" else table.to_pandas(types_mapper=_dtype)


def _dtype(kind: pa.DataType) -> Any:
    # For strings pandas' own type: with Arrow's, a shuffle makes Python objects of them, and two kinds of null.
    return pd.StringDtype("pyarrow") if pa.types.is_string(kind) else pd.ArrowDtype(kind)


def from_partition(partition: Any, kind: Kind) -> nw.DataFrame:
    """Return a partition as a Polars frame, without its index."""
    if kind == "gpu":
        return frames.from_arrow(cudf.to_arrow(partition))
    return frames.from_arrow(pa.Table.from_pandas(partition, preserve_index=False))


@dataclass(frozen=True)
class Read:
    """Reads a fragment, in all columns or in those that the query needs."""

    scan: ReadTask
    schema: pa.Schema

    @translate_errors
    def __call__(self, fragment: Fragment, columns: Sequence[str] | None = None) -> Any:
        """Return the rows; their labels are used nowhere else in the frame, as pandas aligns by them."""
        wanted = self.schema.names if columns is None else list(columns)
        scan = replace(self.scan, columns=tuple(wanted))
        table = CollectTask(scan, pa.schema([self.schema.field(name) for name in wanted]))(fragment)
        partition = to_partition(table, self.scan.kind)
        first = fragment.index * _LABELS
        partition.index = range(first, first + table.num_rows)
        return partition


@translate_errors
def in_polars(function: Callable[[nw.DataFrame], nw.DataFrame], kind: Kind, partition: Any) -> Any:
    """Apply a function of Polars frames to a partition."""
    return to_partition(frames.to_arrow(function(from_partition(partition, kind))), kind)


def frame_of(dataset: Dataset) -> dd.DataFrame:
    """Return the rows of a dataset, a fragment a partition; each is read when Dask asks for it.

    Raises
    ------
    ConfigError
        The workers have GPUs and the client has none: its cuDF says what the columns are.
    """
    if dataset.engine.kind == "gpu":
        devices.choose("gpu")
    meta = to_partition(dataset.schema.empty_table(), dataset.engine.kind)
    read = Read(dataset.scan(), dataset.schema)
    return dd.from_map(read, list(dataset.fragments), meta=meta, enforce_metadata=False)


def transform_frame(frame: dd.DataFrame, transform: Callable[[Dataset], Dataset]) -> dd.DataFrame:
    """Return a frame with what `transform` does to a dataset to be done to its rows; nothing runs."""
    given = canonical(pa.Schema.from_pandas(frame._meta_nonempty, preserve_index=False).remove_metadata())
    task = batch_task(given, transform, LocalEngine(device="cpu"))
    work = partial(_transformed, task, pa.schema([given.field(name) for name in task.columns]))
    return frame.map_partitions(work, meta=work(frame._meta), enforce_metadata=False)


def _transformed(task: BatchTask, given: pa.Schema, partition: pd.DataFrame) -> Any:
    """Return a transformed partition, with its index where all rows stay."""
    made = to_partition(task(pa.Table.from_pandas(partition[given.names], schema=given, preserve_index=False)), "cpu")
    if task.keeps_rows:
        made.index = partition.index
    return made
