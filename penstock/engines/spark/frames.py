"""Datasets as Spark DataFrames, and steps done to the rows of Spark DataFrames: lazily, and without a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from penstock.dataset.batches import BatchTask, batch_task
from penstock.dataset.dataset import Dataset
from penstock.dataset.tasks import CollectTask
from penstock.engines.local.engine import LocalEngine
from penstock.engines.spark.carriers import arrow_schema, carried, column, spark_schema, with_arrays
from penstock.engines.spark.pandas_warning import no_pandas_warning
from penstock.engines.spark.python_workers import map_in_arrow
from penstock.engines.spark.query import check_types, set_for
from penstock.engines.spark.staging import grouped

_BATCH_ROWS = 65_536
"""Rows that go to the JVM at once: it holds a batch as a whole."""


def frame_of(dataset: Dataset, session: SparkSession) -> DataFrame:
    """Return the rows of a dataset, a fragment a partition; each is read when Spark asks for it."""
    carriers = carrier_schema(dataset.schema, "to_spark")
    fragments = partition_each(session, [cloudpickle.dumps(fragment) for fragment in dataset.fragments])
    read = partial(_read, CollectTask(dataset.scan(), dataset.schema), carriers)
    return map_in_arrow(fragments, read, spark_schema(carriers))


def _read(collect: CollectTask, carriers: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of pickled fragments, in a Python worker of Spark."""
    for batch in batches:
        for fragment in batch.column("value").to_pylist():
            table = collect(cloudpickle.loads(fragment)).cast(carriers)
            yield from table.to_batches(max_chunksize=_BATCH_ROWS)


def partition_each(session: SparkSession, values: Sequence[bytes]) -> DataFrame:
    """Return a frame of pickled `values` by `number`, in as many partitions, of which each has its own."""
    numbers = pa.array(range(len(values)), pa.int32())
    with no_pandas_warning():
        frame = session.createDataFrame(pa.table({"number": numbers, "value": pa.array(values, pa.binary())}))
    return frame.repartitionById(max(1, len(values)), "number")


def transform_frame(frame: DataFrame, transform: Callable[[Dataset], Dataset]) -> DataFrame:
    """Return a frame with what `transform` does to a dataset to be done to its rows, once they are asked for."""
    given = arrow_schema(frame := with_arrays(frame), "transform")
    task = batch_task(given, transform, LocalEngine(device="cpu"))
    carriers = carrier_schema(task.schema, "transform")
    # By place: mapInArrow does not find a column with a dot in its name.
    with set_for(frame.sparkSession, {"spark.sql.caseSensitive": "true"}):
        needed = frame.select(*(column(name).alias(str(place)) for place, name in enumerate(task.columns)))
    schema = pa.schema([given.field(name) for name in task.columns])
    return map_in_arrow(needed, partial(_transformed, task, schema, carriers), spark_schema(carriers))


def _transformed(
    task: BatchTask, given: pa.Schema, carriers: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield what comes out of batches, in their order, in a Python worker of Spark."""
    for group in grouped(batches):
        table = pa.Table.from_batches(group).rename_columns(given.names).cast(given)
        yield from task(table).cast(carriers).to_batches(max_chunksize=_BATCH_ROWS)


def carrier_schema(schema: pa.Schema, label: str) -> pa.Schema:
    """Return the types in which Spark holds columns; SchemaError, with the label, for one that it has none for."""
    check_types(schema, label)
    return carried(schema)
