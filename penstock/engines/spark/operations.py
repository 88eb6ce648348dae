"""Operations of relational verbs on Spark: joins, aggregates and distinct rows by Spark SQL, all else by Polars.

What is left to Polars is done in Spark's Python workers, to the rows of a key together. Columns are quoted, so that any
name will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce, singledispatch
from typing import Any

import narwhals as nw
import polars as pl
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema, to_arrow_type
from pyspark.sql.types import StructType

from penstock import frames
from penstock.core.names import PARTITION
from penstock.dataset.relations.grouping import Aggregating
from penstock.dataset.relations.join import PRESENT, Join, key_name
from penstock.dataset.relations.operation import Operation, Project, Where
from penstock.dataset.relations.order import Order
from penstock.dataset.relations.sorting import Limit, Same
from penstock.dataset.relations.unique import UniqueRows
from penstock.dataset.task_errors import translate_errors
from penstock.engines.spark.expressions import is_native
from penstock.engines.spark.pandas_warning import no_pandas_warning
from penstock.frames import ROW

NUMBER = ROW


@singledispatch
def operate(operation: Operation, *inputs: DataFrame) -> DataFrame:
    """Return what an operation makes of frames."""
    return in_polars(operation, *inputs)


def column(name: str) -> Column:
    """Return a column by its name, whatever is in it."""
    return sf.col(f"`{name.replace('`', '``')}`")


def sort_columns(order: Order) -> list[Column]:
    """Return an order as Spark has it."""
    made = []
    for key in order:
        name = column(key.column)
        if key.descending:
            made.append(name.desc_nulls_last() if key.nulls_last else name.desc_nulls_first())
        else:
            made.append(name.asc_nulls_last() if key.nulls_last else name.asc_nulls_first())
    return made


@operate.register
def _(operation: Same, *inputs: DataFrame) -> DataFrame:
    return inputs[0]


@operate.register
def _(operation: Limit, *inputs: DataFrame) -> DataFrame:
    ordered = inputs[0].orderBy(*sort_columns(operation.order)) if operation.order else inputs[0]
    return ordered.offset(operation.offset).limit(operation.rows)


@operate.register
def _(operation: Project, *inputs: DataFrame) -> DataFrame:
    (frame,) = inputs
    types = _types(frame)
    native = {name: made for name, made in operation.columns.items() if is_native(made, types)}
    if len(native) < len(operation.columns):
        return in_polars(operation, frame)
    made = nw.from_native(frame).select(*(each.alias(name) for name, each in native.items()))
    return made.to_native()


@operate.register
def _(operation: Where, *inputs: DataFrame) -> DataFrame:
    (frame,) = inputs
    if not is_native(operation.predicate, _types(frame)):
        return in_polars(operation, frame)
    return nw.from_native(frame).filter(operation.predicate).to_native()


def _types(frame: DataFrame) -> dict[str, pa.DataType]:
    return {each.name: to_arrow_type(each.dataType) for each in frame.schema}


@operate.register
def _(operation: Join, *inputs: DataFrame) -> DataFrame:
    left, right = inputs[0].select(*_left(operation)), inputs[1].select(*_right(operation))
    if operation.how == "cross":
        return left.crossJoin(right)
    keys = [(column(name), column(key_name(place))) for place, name in enumerate(operation.left_on)]
    equal = [mine.eqNullSafe(its) if operation.null_equal else mine == its for mine, its in keys]
    how = {"semi": "left_semi", "anti": "left_anti"}.get(operation.how, operation.how)
    made = left.join(right, reduce(lambda one, other: one & other, equal), how)
    if operation.how in ("semi", "anti"):
        return made
    pairs = {
        name: (its if operation.how == "right" else sf.coalesce(mine, its))
        for name, (mine, its) in zip(operation.left_on, keys, strict=True)
    }
    pairs = pairs if operation.how in ("right", "full") else {}
    internal = {key_name(place) for place in range(len(keys))}
    names = [name for name in made.columns if name not in internal]
    return made.select(*(pairs[name].alias(name) if name in pairs else column(name) for name in names))


def _left(operation: Join) -> list[Column]:
    types = _spark_types(operation)
    kinds = dict(zip(operation.left_on, types, strict=True))
    columns = [
        column(name).cast(kinds[name]).alias(name) if name in kinds else column(name) for name in operation.left_columns
    ]
    columns += [column(source).alias(name) for name, source in operation.left_hidden.items()]
    return [*columns, sf.lit(0).cast("bigint").alias(PRESENT)] if operation.marks_left else columns


def _right(operation: Join) -> list[Column]:
    taken = {**operation.right_columns, **operation.right_hidden}
    keys = zip(operation.right_on, _spark_types(operation), strict=True)
    columns = [column(name).cast(kind).alias(key_name(place)) for place, (name, kind) in enumerate(keys)]
    return [*columns, *(column(source).alias(name) for name, source in taken.items())]


def _spark_types(operation: Join) -> list[Any]:
    kinds = pa.schema([(str(place), kind) for place, kind in enumerate(operation.kinds)])
    return [each.dataType for each in spark_schema(kinds)]


_WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0)}


def carried(schema: pa.Schema) -> pa.Schema:
    """Return columns in the types in which Spark holds their values: it has no unsigned integers."""
    return pa.schema([pa.field(each.name, _WIDER.get(each.type, each.type)) for each in schema])


def spark_schema(schema: pa.Schema) -> StructType:
    """Return columns as Spark declares them."""
    return from_arrow_schema(carried(schema), prefer_timestamp_ntz=True)


@operate.register
def _(operation: UniqueRows, *inputs: DataFrame) -> DataFrame:
    (frame,) = inputs
    if not operation.is_ordered_in(frame.columns):
        return frame.dropDuplicates(list(operation.columns))
    keys = [column(name) for name in operation.columns]
    return _one_of_each(frame, keys, operation.order, last=operation.last)


def _one_of_each(frame: DataFrame, keys: Sequence[Column], order: Order, *, last: bool) -> DataFrame:
    ordered = sort_columns(reverse(order) if last else order)
    number = sf.row_number().over(Window.partitionBy(*keys).orderBy(*ordered))
    return frame.withColumn(NUMBER, number).filter(column(NUMBER) == 1).drop(NUMBER)


def reverse(order: Order) -> Order:
    """Return an order the other way round."""
    return tuple(type(key)(key.column, not key.descending, not key.nulls_last) for key in order)


@operate.register
def _(operation: Aggregating, *inputs: DataFrame) -> DataFrame:
    (frame,) = inputs
    keys = [column(name) for name in operation.keys]
    if any(each.is_ordered for each in operation.aggregates):
        window = Window.partitionBy(*keys).orderBy(*sort_columns(operation.order or ()))
        frame = frame.withColumn(NUMBER, sf.row_number().over(window))
    values = [_aggregate(each).alias(each.output) for each in operation.aggregates]
    if not keys:
        return frame.agg(*(values or [sf.count(sf.lit(1)).alias("len")]))
    return frame.groupBy(*keys).agg(*values) if values else frame.select(*keys).distinct()


def _aggregate(each: Any) -> Column:
    if each.column is None:
        return sf.count(sf.lit(1))
    return _FUNCTIONS[each.function](column(each.column), each)


def _or(made: Column, nothing: Any) -> Column:
    """Return a value in place of null, which Spark has for nothing at all."""
    return sf.coalesce(made, sf.lit(nothing))


def _sum(values: Column, each: Any) -> Column:
    kind = from_arrow_schema(pa.schema([("sum", each.kind)]))["sum"].dataType
    return sf.coalesce(sf.sum(values).cast(kind), sf.lit(0).cast(kind))


_FUNCTIONS: dict[str, Callable[[Column, Any], Column]] = {
    "sum": _sum,
    "mean": lambda values, _: sf.avg(values),
    "min": lambda values, _: sf.min(values),
    "max": lambda values, _: sf.max(values),
    "count": lambda values, _: sf.count(values),
    "n_unique": lambda values, _: sf.count_distinct(values) + sf.max(values.isNull().cast("int")).cast("bigint"),
    "std": lambda values, each: sf.stddev_samp(values) if each.parameter == 1 else sf.sqrt(_variance(values, each)),
    "var": lambda values, each: sf.var_samp(values) if each.parameter == 1 else _variance(values, each),
    "median": lambda values, _: sf.median(values),
    "quantile": lambda values, each: sf.percentile(values, each.parameter),
    "any": lambda values, _: _or(sf.bool_or(values), False),
    "all": lambda values, _: _or(sf.bool_and(values), True),
    "first": lambda values, _: sf.min_by(sf.struct(values.alias("v")), column(NUMBER))["v"],
    "last": lambda values, _: sf.max_by(sf.struct(values.alias("v")), column(NUMBER))["v"],
}


def _variance(values: Column, each: Any) -> Column:
    count = sf.count(values)
    return sf.when(count > each.parameter, sf.var_pop(values) * count / (count - each.parameter))


def in_polars(operation: Operation, *inputs: DataFrame) -> DataFrame:
    """Have Python workers do an operation in Polars, to the rows of a key together."""
    with no_pandas_warning():
        return _mapped(operation, *inputs)


def _mapped(operation: Operation, *inputs: DataFrame) -> DataFrame:
    given = [to_arrow_schema(each.schema) for each in inputs]
    empty = [pl.DataFrame(schema.empty_table()).lazy() for schema in given]
    made = frames.to_arrow(nw.from_native(operation(*empty).collect(), eager_only=True)).schema
    return _moved(operation, PolarsBatches(operation, carried(made)), spark_schema(made), inputs)


def _moved(operation: Operation, work: PolarsBatches, schema: Any, inputs: Sequence[DataFrame]) -> DataFrame:
    """Return what Python workers make of frames, whose rows are moved where some have to meet."""
    if operation.meetings is None:
        return inputs[0].mapInArrow(work.batches, schema)
    if len(inputs) == 1:
        keys = [column(name) for name in operation.meetings[0].columns]
        gathered = inputs[0].repartition(*keys) if keys else inputs[0].repartition(1)
        return gathered.mapInArrow(work.partition, schema)
    count = inputs[0].sparkSession.conf.get("spark.sql.shuffle.partitions")
    left, right = (
        each.groupBy(_place(meeting.columns, int(str(count))))
        for each, meeting in zip(inputs, operation.meetings, strict=True)
    )

    def both(left: pa.Table, right: pa.Table) -> pa.Table:  # a function: Spark takes self for an argument
        return work.both(left, right)

    return left.cogroup(right).applyInArrow(both, schema)


def _place(columns: Sequence[str], count: int) -> Column:
    """Return the number of the group of rows that are done together: few, as each has a cost of its own."""
    if not columns:
        return sf.lit(0)
    return sf.pmod(sf.hash(*(column(name) for name in columns)), sf.lit(count)).alias(PARTITION)


@dataclass(frozen=True, eq=False)
class PolarsBatches:
    """Does an operation in Polars to what a Python worker of Spark is given."""

    operation: Operation
    schema: pa.Schema

    def both(self, left: pa.Table, right: pa.Table) -> pa.Table:
        """Do it to the rows of two frames that have to meet."""
        return self._done(left, right)

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do it to each batch by itself."""
        for batch in batches:
            yield from self._done(pa.Table.from_batches([batch])).to_batches()

    def partition(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do it to all rows of a partition."""
        rows = list(batches)
        if rows:
            yield from self._done(pa.Table.from_batches(rows)).to_batches()

    @translate_errors
    def _done(self, *tables: pa.Table) -> pa.Table:
        given = [nw.to_native(frames.from_arrow(table)).lazy() for table in tables]
        rows = self.operation(*given).collect(engine="in-memory")
        return frames.to_arrow(nw.from_native(rows, eager_only=True)).cast(self.schema)
