"""Frames of Spark and Dask, wherever they are from: transformed as they are, by the library that they are of."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa

from penstock.core.extras import importing
from penstock.dataset.dataset import Dataset

_TRANSFORMED_BY = {"pyspark": "penstock.engines.spark.frames", "dask": "penstock.engines.dask.frames"}


def is_foreign_frame(value: Any) -> bool:
    """Return whether a value is a lazy DataFrame of Spark or Dask."""
    kind = type(value)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] in _TRANSFORMED_BY


def transform_frame(frame: Any, transform: Callable[[Dataset], Dataset]) -> Any:
    """Return a frame of the same library with what `transform` does to a dataset to be done to its rows."""
    module = import_module(_TRANSFORMED_BY[type(frame).__module__.partition(".")[0]])
    return module.transform_frame(frame, transform)


def spark_function(schema: pa.Schema, transform: Callable[[Dataset], Dataset], label: str) -> Any:
    """Return what `transform` does to rows as a function of Spark's columns, those of `schema` in their order."""
    with importing("pyspark", "spark"):
        module = import_module("penstock.engines.spark.functions")
    return module.column_function(schema, transform, label)
