"""Vectors of pyspark.ml and pyspark.mllib in a DataFrame as arrays of doubles, which Arrow has a type for, and back."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, UserDefinedType

from penstock.engines.spark.carriers import column
from penstock.engines.spark.pandas_warning import no_pandas_warning

_PACKAGES = ("pyspark.ml", "pyspark.mllib")


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
            name: functions.transform(column(name), lambda vector: vector_to_array(vector))
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

    nan, array = functions.lit(float("nan")), column(name).cast("array<double>")
    elements = functions.transform(array, lambda element: functions.coalesce(element, nan))
    return functions.when(column(name).isNotNull(), array_to_vector(elements)).alias(name)


def _has_vectors(kind: DataType) -> bool:
    return _is_vector(kind.elementType if isinstance(kind, ArrayType) else kind)


def _is_vector(kind: DataType) -> bool:
    is_ours = isinstance(kind, UserDefinedType) and type(kind).__module__.startswith(_PACKAGES)
    return is_ours and type(kind).__name__ == "VectorUDT"
