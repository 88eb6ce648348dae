"""Rows of Spark in Parquet: written and read by Spark itself on a disk, and by its Python workers in a store.

Spark's own way to a store is a package of Hadoop's that is often not there, with names and credentials of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.core.locations import is_url
from penstock.engines.spark.carriers import spark_schema
from penstock.engines.spark.python_workers import map_in_arrow
from penstock.io.sinks.part_folder import PartFolder
from penstock.io.sources.files import Storage

_GROUP_BYTES = 64 * 2**20


def write_rows(frame: DataFrame, folder: PartFolder) -> None:
    """Run the query of a frame, and write a file a partition; their names are in the order of the rows."""
    if not is_url(folder.location):
        frame.write.mode("append").parquet(f"file://{folder.location}")  # the folder is there, and empty
        return
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    written = map_in_arrow(frame, WritePartition(folder, schema).batches, "part int").collect()
    if not written:
        WritePartition(folder, schema).put(0, iter(()))


def read_rows(session: SparkSession, folder: PartFolder, files: Sequence[str], schema: pa.Schema) -> DataFrame:
    """Return the rows that were staged in a folder, a file a partition where Python workers read them."""
    native = spark_schema(schema)
    if not is_url(folder.location):
        return session.read.schema(native).parquet(f"file://{folder.location}")
    read = partial(_read_files, tuple(files), folder.storage_options, to_arrow_schema(native, timezone="UTC"))
    return map_in_arrow(session.range(0, len(files), 1, len(files)), read, native)


@dataclass(frozen=True, eq=False)
class WritePartition:
    """Puts the rows of a partition into a file; another attempt at it replaces the first."""

    folder: PartFolder
    schema: pa.Schema

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write what a Python worker is given."""
        number = TaskContext.get().partitionId()
        self.put(number, batches)
        yield pa.record_batch({"part": pa.array([number], pa.int32())})

    def put(self, number: int, batches: Iterator[pa.RecordBatch]) -> None:
        """Write a file, in types that any reader knows by Parquet's own words, as Spark does."""

        def write(path: str) -> None:
            with pq.ParquetWriter(path, self.schema, compression="zstd", store_schema=False) as writer:
                for group in grouped(batches, math.inf):
                    writer.write_table(pa.Table.from_batches(group).cast(self.schema))

        self.folder.put(f"part-{number:06d}.parquet", write, rows=None, kind="parquet")


def grouped(batches: Iterable[pa.RecordBatch], rows: float = 131_072) -> Iterator[list[pa.RecordBatch]]:
    """Yield batches together until they have so many rows or 64 MiB: to plan for Spark's 10,000 costs what more do."""
    group: list[pa.RecordBatch] = []
    held = size = 0
    for batch in batches:
        group.append(batch)
        held, size = held + batch.num_rows, size + batch.nbytes
        if held >= rows or size >= _GROUP_BYTES:
            yield group
            group, held, size = [], 0, 0
    if group:
        yield group


def _read_files(
    files: tuple[str, ...], options: Mapping[str, Any], schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the files whose numbers a Python worker is given."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            with Storage(options).open(files[number]) as stream:
                for rows in pq.ParquetFile(stream).iter_batches():
                    yield from pa.Table.from_batches([rows]).cast(schema).to_batches()
