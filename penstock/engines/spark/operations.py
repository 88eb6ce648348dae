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
from pyspark.sql.pandas.types import from_arrow_schema

from penstock import frames
from penstock.core.names import PARTITION
from penstock.dataset.relations.grouping import Aggregating
from penstock.dataset.relations.join import PRESENT, Join, key_name
from penstock.dataset.relations.operation import Meeting, Operation, Project, Where
from penstock.dataset.relations.order import Order
from penstock.dataset.relations.sorting import Limit, Same
from penstock.dataset.relations.unique import UniqueRows
from penstock.dataset.task_errors import translate_errors
from penstock.engines.spark.carriers import (
    arrow_field,
    as_declared,
    carried,
    column,
    held,
    numbered,
    restored,
    spark_schema,
    spark_types,
)
from penstock.engines.spark.expressions import is_native
from penstock.engines.spark.pandas_warning import no_pandas_warning
from penstock.engines.spark.python_workers import lend_imports, map_in_arrow
from penstock.expressions.trees import columns_in, is_column
from penstock.frames import ROW

NUMBER = ROW


@dataclass(frozen=True, eq=False)
class SparkRows:
    """Rows of a query: a Spark DataFrame, and its columns in the types that other engines have them in.

    Spark has no unsigned integers, half floats or null type, one unit of time, and one time zone.
    """

    frame: DataFrame
    schema: pa.Schema


def operate(operation: Operation, *inputs: SparkRows) -> SparkRows:
    """Return what an operation makes of rows: in Spark where it does what Polars does, else in Polars."""
    made = _made(operation, inputs)
    native = _natively.dispatch(type(operation))
    types = dict(zip(inputs[0].schema.names, inputs[0].schema.types, strict=True))
    if native is _natively.dispatch(object) or not all(is_native(each, types) for each in _expressions(operation)):
        return SparkRows(_in_polars(operation, made, inputs), made)
    frame = native(operation, *(each.frame for each in inputs))
    known = [made.field(name) if name in made.names else arrow_field(frame.schema[name]) for name in frame.columns]
    return SparkRows(as_declared(frame, pa.schema(known)), pa.schema(known))


def _made(operation: Operation, inputs: Sequence[SparkRows]) -> pa.Schema:
    """Return the columns that an operation makes, in Polars' types; aggregates in those that they have everywhere."""
    empty = [pl.DataFrame(each.schema.empty_table()).lazy() for each in inputs]
    made = frames.to_arrow(nw.from_native(operation(*empty).collect(), eager_only=True)).schema
    kinds = {each.output: each.kind for each in operation.aggregates} if isinstance(operation, Aggregating) else {}
    return held(pa.schema([pa.field(each.name, kinds.get(each.name, each.type)) for each in made]))


def _expressions(operation: Operation) -> list[nw.Expr]:
    if isinstance(operation, Project):
        return list(operation.columns.values())
    return [operation.predicate] if isinstance(operation, Where) else []


@singledispatch
def _natively(operation: Operation, *inputs: DataFrame) -> DataFrame:
    """Return what Spark SQL makes of frames; for an operation that it has."""
    raise NotImplementedError(operation.label)


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


@_natively.register
def _(operation: Same, *inputs: DataFrame) -> DataFrame:
    return inputs[0]


@_natively.register
def _(operation: Limit, *inputs: DataFrame) -> DataFrame:
    ordered = inputs[0].orderBy(*sort_columns(operation.order)) if operation.order else inputs[0]
    return ordered.offset(operation.offset).limit(operation.rows)


@_natively.register
def _(operation: Project, *inputs: DataFrame) -> DataFrame:
    (frame,) = inputs
    computed = {name: each for name, each in operation.columns.items() if not is_column(each)}
    hidden = {name: f"__made_{place}__" for place, name in enumerate(computed)}
    if computed:
        frame = (
            nw.from_native(frame).with_columns(**{hidden[name]: each for name, each in computed.items()}).to_native()
        )
    # Columns as they are go round Narwhals, which has no quotes for their names.
    names = {name: hidden.get(name) or columns_in(each)[0] for name, each in operation.columns.items()}
    return frame.select(*(column(source).alias(name) for name, source in names.items()))


@_natively.register
def _(operation: Where, *inputs: DataFrame) -> DataFrame:
    return nw.from_native(inputs[0]).filter(operation.predicate).to_native()


@_natively.register
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
    types = spark_types(operation.kinds)
    kinds = dict(zip(operation.left_on, types, strict=True))
    columns = [
        column(name).cast(kinds[name]).alias(name) if name in kinds else column(name) for name in operation.left_columns
    ]
    columns += [column(source).alias(name) for name, source in operation.left_hidden.items()]
    return [*columns, sf.lit(0).cast("bigint").alias(PRESENT)] if operation.marks_left else columns


def _right(operation: Join) -> list[Column]:
    taken = {**operation.right_columns, **operation.right_hidden}
    keys = zip(operation.right_on, spark_types(operation.kinds), strict=True)
    columns = [column(name).cast(kind).alias(key_name(place)) for place, (name, kind) in enumerate(keys)]
    return [*columns, *(column(source).alias(name) for name, source in taken.items())]


@_natively.register
def _(operation: UniqueRows, *inputs: DataFrame) -> DataFrame:
    (frame,) = inputs
    if not operation.is_ordered_in(frame.columns):
        return frame.dropDuplicates(list(operation.columns))
    order = reverse(operation.order) if operation.last else operation.order
    rows = _with_numbers(frame, [column(name) for name in operation.columns], order)
    return rows.filter(column(NUMBER) == 1).drop(NUMBER)


def _with_numbers(frame: DataFrame, keys: Sequence[Column], order: Order) -> DataFrame:
    """Return the rows with the number of each among those of its key, in an order."""
    return frame.withColumn(NUMBER, sf.row_number().over(Window.partitionBy(*keys).orderBy(*sort_columns(order))))


def reverse(order: Order) -> Order:
    """Return an order the other way round."""
    return tuple(type(key)(key.column, not key.descending, not key.nulls_last) for key in order)


@_natively.register
def _(operation: Aggregating, *inputs: DataFrame) -> DataFrame:
    (frame,) = inputs
    keys = [column(name) for name in operation.keys]
    if any(each.is_ordered for each in operation.aggregates):
        frame = _with_numbers(frame, keys, operation.order or ())
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
    if each.long:
        beyond = sf.raise_error(sf.lit(f"the sum of {each.long} is beyond the values of int64")).cast(kind)
        made = sf.try_sum(values)
        return sf.when(made.isNull() & (sf.count(values) > 0), beyond).otherwise(
            sf.coalesce(made, sf.lit(0).cast(kind))
        )
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


def _in_polars(operation: Operation, made: pa.Schema, inputs: Sequence[SparkRows]) -> DataFrame:
    """Run an operation in Polars on Python workers; rows are shuffled by key if needed."""
    work = PolarsBatches(operation, tuple(each.schema for each in inputs), carried(made))
    schema = spark_schema(made)
    if operation.meetings is None:
        return map_in_arrow(numbered(inputs[0].frame), work.batches, schema)
    keys = [_keys(each, meeting) for each, meeting in zip(inputs, operation.meetings, strict=True)]
    given = [numbered(each.frame) for each in inputs]
    if len(given) == 1:
        gathered = given[0].repartition(*keys[0]) if keys[0] else given[0].repartition(1)
        return map_in_arrow(gathered, work.partition, schema)
    count = int(str(given[0].sparkSession.conf.get("spark.sql.shuffle.partitions")))
    left, right = (each.groupBy(_place(columns, count)) for each, columns in zip(given, keys, strict=True))

    def both(left: pa.Table, right: pa.Table) -> pa.Table:  # a function: Spark takes self for an argument
        return work.done(left, right)

    lend_imports()
    with no_pandas_warning():
        return left.cogroup(right).applyInArrow(both, schema)


def _keys(rows: SparkRows, meeting: Meeting) -> list[Column]:
    """Return the columns of a key, of numbered ones, in the types in which they are compared."""
    kinds = zip(meeting.columns, spark_types(meeting.kinds), strict=True)
    return [column(str(rows.schema.names.index(name))).cast(kind) for name, kind in kinds]


def _place(keys: Sequence[Column], count: int) -> Column:
    """Return the number of the group of rows that are done together: few, as each has a cost of its own."""
    return (sf.pmod(sf.hash(*keys), sf.lit(count)) if keys else sf.lit(0)).alias(PARTITION)


@dataclass(frozen=True, eq=False)
class PolarsBatches:
    """Does an operation in Polars to what a Python worker of Spark is given."""

    operation: Operation
    given: tuple[pa.Schema, ...]
    carriers: pa.Schema

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do it to each batch by itself."""
        for batch in batches:
            yield from self.done(pa.Table.from_batches([batch])).to_batches()

    def partition(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do it to all rows of a partition."""
        rows = list(batches)
        if rows:
            yield from self.done(pa.Table.from_batches(rows)).to_batches()

    @translate_errors
    def done(self, *tables: pa.Table) -> pa.Table:
        """Apply the operation to one frame, or to two joined by key."""
        given = [restored(table, schema) for table, schema in zip(tables, self.given, strict=True)]
        rows = self.operation(*(nw.to_native(each).lazy() for each in given)).collect(engine="in-memory")
        return frames.to_arrow(nw.from_native(rows, eager_only=True)).cast(self.carriers)
