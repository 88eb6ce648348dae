"""Vectors of pyspark.ml and pyspark.mllib in a DataFrame, which Arrow has no type for, as arrays of doubles."""

from __future__ import annotations

from pyspark.sql import DataFrame, functions
from pyspark.sql.types import StructField, UserDefinedType

from penstock.engines.spark.pandas_warning import no_pandas_warning

_PACKAGES = ("pyspark.ml", "pyspark.mllib")


def with_arrays(frame: DataFrame) -> DataFrame:
    """Return a frame with an array of doubles in the place of each vector, null for null; a sparse one is filled up."""
    vectors = {field.name for field in frame.schema if _is_vector(field)}
    if not vectors:
        return frame
    with no_pandas_warning():
        from pyspark.ml.functions import vector_to_array

        columns = {name: functions.col(f"`{name.replace('`', '``')}`") for name in frame.columns}
        arrays = {name: vector_to_array(columns[name]).alias(name) for name in vectors}
    return frame.select(*(arrays.get(name, column) for name, column in columns.items()))


def _is_vector(field: StructField) -> bool:
    kind = field.dataType
    is_ours = isinstance(kind, UserDefinedType) and type(kind).__module__.startswith(_PACKAGES)
    return is_ours and type(kind).__name__ == "VectorUDT"
