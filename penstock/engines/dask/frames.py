"""Datasets as Dask DataFrames, and steps done to the rows of Dask DataFrames: lazily, and without a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

from penstock import devices
from penstock.core.schemas import canonical
from penstock.dataset.batches import BatchTask, batch_task
from penstock.dataset.dataset import Dataset
from penstock.engines.dask.query_partition import Read, to_partition
from penstock.engines.local.engine import LocalEngine


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
    """Return what comes out of a partition, under the labels of its rows where all of them come out."""
    made = to_partition(task(pa.Table.from_pandas(partition[given.names], schema=given, preserve_index=False)), "cpu")
    if task.keeps_rows:
        made.index = partition.index
    return made
