"""Python functions on Spark's workers, with the import path of this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.engines.spark.pandas_warning import no_pandas_warning
from penstock.engines.spark.session import is_local


def map_in_arrow(frame: DataFrame, function: Callable[..., Any], schema: StructType | str) -> DataFrame:
    """Return what a function makes of the batches of each partition."""
    lend_imports()
    with no_pandas_warning():
        return frame.mapInArrow(function, schema)


def lend_imports() -> None:
    """Have the functions of a session on this machine, from now on, run on this Python, with this import path.

    Spark takes the ``python3`` that is first on PATH, which may have no packages. Where ``PYSPARK_PYTHON`` says which,
    that one is taken.
    """
    context: Any = SparkContext._active_spark_context
    if context is None or not is_local(context.master):
        return
    if "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    context.environment["PYTHONPATH"] = import_path()


def import_path() -> str:
    """Return where this process imports from, as a variable."""
    return os.pathsep.join(each or os.getcwd() for each in sys.path)
