"""Spark types for Arrow types, vectors included, and columns restored from them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import narwhals as nw
import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, StructField, StructType, UserDefinedType

from penstock import frames
from penstock.core.errors import SchemaError
from penstock.core.schemas import canonical, check_unique
from penstock.engines.spark.pandas_warning import no_pandas_warning

_WIDER = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(), pa.null(): pa.bool_(), pa.date64(): pa.timestamp("us"),
}  # fmt: skip


def carried(schema: pa.Schema) -> pa.Schema:
    """Return columns in the types in which Spark holds their values, also of those nested in them."""
    return pa.schema([pa.field(each.name, _carrier(each.type)) for each in schema])


def _carrier(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _carrier(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_carrier(kind.key_type), _carrier(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_carrier(kind.value_type))
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    if pa.types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale)
    return pa.binary() if pa.types.is_fixed_size_binary(kind) else _WIDER.get(kind, kind)


def spark_schema(schema: pa.Schema) -> StructType:
    """Return columns as Spark declares them."""
    return from_arrow_schema(carried(schema), prefer_timestamp_ntz=True)


def is_held(kind: pa.DataType) -> bool:
    """Return whether Spark has a type of Arrow itself."""
    return bool(_carrier(kind) == kind)


def spark_types(kinds: Sequence[pa.DataType]) -> list[Any]:
    """Return Spark's types for those of Arrow."""
    return [each.dataType for each in spark_schema(pa.schema([(str(place), kind) for place, kind in enumerate(kinds)]))]


def held(schema: pa.Schema) -> pa.Schema:
    """Return columns in the types in which Polars holds them: maps as lists, seconds as milliseconds."""
    return frames.to_arrow(frames.from_arrow(schema.empty_table())).schema


def arrow_field(field: StructField) -> pa.Field:
    """Return a column of Spark as Arrow has it."""
    return pa.field(field.name, to_arrow_type(field.dataType, timezone="UTC"))


def arrow_schema(frame: DataFrame, label: str) -> pa.Schema:
    """Return the columns of a frame as Arrow has them, whose names and types are checked.

    Raises
    ------
    SchemaError, SchemaDriftError
        A column is of a type that Arrow lacks or files do not hold; or a name stands twice.
    """
    check_unique(frame.columns, f"the frame of {label}")
    return canonical(pa.schema([_taken(field, label) for field in frame.schema]))


def _taken(field: StructField, label: str) -> pa.Field:
    shown = field.dataType.simpleString()
    if "interval" not in shown and "variant" not in shown and "array<void>" not in shown:
        with suppress(PySparkTypeError):
            return arrow_field(field)
    raise SchemaError(
        f"column {field.name!r} of the frame of {label} is {shown}, which Arrow and Parquet have no type for",
        hint="Cast it in Spark, an interval to a number of seconds or months, say; or leave it out with select.",
        column=field.name,
        stage=label,
    )


def as_declared(frame: DataFrame, schema: pa.Schema) -> DataFrame:
    """Return a frame with the columns of `schema` alone, in the types that hold theirs."""
    wanted = spark_schema(schema)
    if _shown(wanted) == _shown(frame.schema):
        return frame
    return frame.select(*(column(each.name).cast(each.dataType).alias(each.name) for each in wanted))


def _shown(columns: StructType) -> list[tuple[str, str]]:
    return [(each.name, each.dataType.simpleString()) for each in columns]


def column(name: str) -> Column:
    """Return a column by its name, whatever is in it."""
    return sf.col(f"`{name.replace('`', '``')}`")


def numbered(frame: DataFrame) -> DataFrame:
    """Return columns under their numbers: functions of Python are given none that has a dot in its name."""
    return frame.select(*(column(name).alias(str(place)) for place, name in enumerate(frame.columns)))


def restored(table: pa.Table, schema: pa.Schema) -> nw.DataFrame:
    """Return numbered columns, as Spark hands them to a Python worker, in their names and types."""
    numbers = [str(place) for place in range(len(schema.names))]
    return frames.conform(frames.from_arrow(table.select(numbers).rename_columns(schema.names)), schema)


_OF_VECTORS = ("pyspark.ml", "pyspark.mllib")
"""The packages that have vectors."""


def with_arrays(frame: DataFrame) -> DataFrame:
    """Return a frame with an array of doubles in the place of each vector, null for null; a sparse one is filled up.

    Arrays of vectors become arrays of arrays.
    """
    kinds = {field.name: field.dataType for field in frame.schema if _has_vectors(field.dataType)}
    if not kinds:
        return frame
    with no_pandas_warning():
        from pyspark.ml.functions import vector_to_array

        arrays = {
            name: sf.transform(column(name), lambda vector: vector_to_array(vector))
            if isinstance(kind, ArrayType)
            else vector_to_array(column(name))
            for name, kind in kinds.items()
        }
    return frame.select(*(arrays[name].alias(name) if name in arrays else column(name) for name in frame.columns))


def with_vectors(frame: DataFrame) -> DataFrame:
    """Return a frame with a vector of pyspark.ml in the place of each array of floating numbers.

    Null stays null; of elements, which a vector has none of, null becomes NaN.
    """
    arrays = [field for field in frame.schema if isinstance(field.dataType, ArrayType)]
    names = {field.name for field in arrays if isinstance(field.dataType.elementType, DoubleType | FloatType)}
    return frame.select(*(_vector(name) if name in names else column(name) for name in frame.columns))


def _vector(name: str) -> Column:
    with no_pandas_warning():
        from pyspark.ml.functions import array_to_vector

    nan, array = sf.lit(float("nan")), column(name).cast("array<double>")
    elements = sf.transform(array, lambda element: sf.coalesce(element, nan))
    return sf.when(column(name).isNotNull(), array_to_vector(elements)).alias(name)


def _has_vectors(kind: DataType) -> bool:
    return _is_vector(kind.elementType if isinstance(kind, ArrayType) else kind)


def _is_vector(kind: DataType) -> bool:
    is_ours = isinstance(kind, UserDefinedType) and type(kind).__module__.startswith(_OF_VECTORS)
    return is_ours and type(kind).__name__ == "VectorUDT"
