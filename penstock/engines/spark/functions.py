"""Steps as a function of Spark's columns, for `withColumn` and for SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type

from penstock.core.errors import ConfigError
from penstock.core.schemas import canonical
from penstock.dataset.batches import BatchTask, batch_task
from penstock.dataset.dataset import Dataset
from penstock.engines.local.engine import LocalEngine
from penstock.engines.spark.frames import carrier_schema
from penstock.engines.spark.python_workers import lend_imports
from penstock.engines.spark.staging import grouped

Transform = Callable[["Dataset"], "Dataset"]


def column_function(schema: pa.Schema, transform: Transform, label: str) -> Any:
    """Return what `transform` does to rows as a function of columns, those of `schema` in their order.

    Raises
    ------
    ConfigError
        A step leaves rows out, or goes by their numbers.
    SchemaError
        Spark has no such type.
    """
    task = batch_task(schema, transform, LocalEngine(device="cpu"))
    if not task.keeps_rows:
        dropping = next(step for step in task.steps if not step.keeps_rows)
        raise ConfigError(
            f"{label}: {dropping.label} leaves rows out, and a function has a value for every row",
            hint="Transform the whole frame: model.transform(frame).",
            stage=dropping.label,
        )
    carriers = carrier_schema(task.schema, label)
    made = carriers.field(0).type if len(carriers) == 1 else pa.struct(list(carriers))
    work = _score_batches(schema.names, transform, carriers)
    lend_imports()
    return arrow_udf(work, from_arrow_type(made, prefer_timestamp_ntz=True))


def _score_batches(names: list[str], transform: Transform, carriers: pa.Schema) -> Callable[[Any], Iterator[pa.Array]]:
    """Return a function of the batches of a partition: of as many rows as come in, in other batches."""
    tasks: dict[pa.Schema, BatchTask] = {}

    def score(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:  # by these types Spark calls it
        for group in grouped(_named(arrays, names) for arrays in batches):
            table = pa.Table.from_batches(group)
            given = canonical(table.schema)
            if given not in tasks:  # of the types of this frame, which may be narrower or wider than those fitted on
                tasks[given] = batch_task(given, transform, LocalEngine(device="cpu"))
            yield _as_column(tasks[given](table.cast(given)).cast(carriers))

    return score


def _named(arrays: pa.Array | tuple[pa.Array, ...], names: list[str]) -> pa.RecordBatch:
    """Return the values of columns with their names; Spark gives one column as it is, and several as a tuple."""
    columns = list(arrays) if isinstance(arrays, tuple) else [arrays]
    if len(columns) != len(names):
        raise ConfigError(f"the function is given {len(columns)} column(s), expected {len(names)}: {names}")
    return pa.record_batch(columns, names=names)


def _as_column(table: pa.Table) -> pa.Array:
    column = table.column(0) if table.num_columns == 1 else table.to_struct_array()
    return column.combine_chunks()
