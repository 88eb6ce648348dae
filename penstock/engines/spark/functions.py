"""Steps as a function of Spark's columns, for `withColumn` and for SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type

from penstock.core.errors import ConfigError
from penstock.core.schemas import canonical
from penstock.dataset.batches import BatchTask, batch_task
from penstock.engines.local.engine import LocalEngine
from penstock.engines.spark.frames import carrier_schema

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

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
    return arrow_udf(_score_arrays(schema.names, transform, carriers), from_arrow_type(made, prefer_timestamp_ntz=True))


def _score_arrays(names: list[str], transform: Transform, carriers: pa.Schema) -> Callable[..., pa.Array]:
    tasks: dict[pa.Schema, BatchTask] = {}

    def score(*arrays: pa.Array) -> pa.Array:
        if len(arrays) != len(names):
            raise ConfigError(f"the function is given {len(arrays)} column(s), expected {len(names)}: {names}")
        table = pa.table(list(arrays), names=names)
        given = canonical(table.schema)
        if given not in tasks:  # of the types of this frame, which may be narrower or wider than those fitted on
            tasks[given] = batch_task(given, transform, LocalEngine(device="cpu"))
        return _as_column(tasks[given](table.cast(given)).cast(carriers))

    return score


def _as_column(table: pa.Table) -> pa.Array:
    column = table.column(0) if table.num_columns == 1 else table.to_struct_array()
    return column.combine_chunks()
